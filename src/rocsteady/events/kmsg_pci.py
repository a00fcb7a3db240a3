"""Kernel ring buffer: PCI resources, link errors (AER, GHES, DPC), and devices that no longer answer.

Formats: drivers/pci/{setup-res,setup-bus,pci,probe}.c, drivers/pci/pcie/{aer,dpc}.c, drivers/pci/hotplug/pciehp,
drivers/firmware/efi/cper.c, drivers/vfio. Resources changed their wording with Linux 6.9: ``BAR 0: no space for
[mem size N]`` became ``BAR 0 [mem size N]: can't assign; no space``. AER renamed Corrected to Correctable with 6.10.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_LINUX = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"
_PCI = _LINUX + "drivers/pci/"
_AMD = _LINUX + "drivers/gpu/drm/amd/amdgpu/"

KINDS = (
    # --- address space ----------------------------------------------------------------------------
    Kind(
        name="pci-bar-unassigned",
        needles=(
            "no space for [mem",
            "failed to assign [mem",
            "can't assign; no space",
            "]: failed to assign",
            "can't assign mem",
        ),
        pattern=r"(?:(?P<driver>amdgpu) [0-9a-f:.]+: )?(?<!VF )BAR (?P<bar>\d+)(?:: (?:no space for|failed to assign|can't assign) \[?mem"
        r"| \[mem [^\]]*\]: (?:can't assign; no space|failed to assign))",
        sample=(
            "[    2.749531] amdgpu 0000:0d:00.0: BAR 0: failed to assign [mem size 0x400000000 64bit pref]",
            "[    0.941021] pci 0000:25:00.0: BAR 0: no space for [mem size 0x00100000 64bit]",
            "[    0.941021] pci 0000:97:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space",
            "[    0.941021] pci 0000:97:00.0: BAR 0 [mem size 0x400000000 64bit pref]: failed to assign",
            "[    0.741021] pci 0000:03:00.0: BAR 0: can't assign mem pref (size 0x10000000)",
        ),
        source=_PCI + "setup-res.c",
        level="notice",
    ),
    Kind(
        name="pci-bar-assigned",
        needles=(": assigned [mem", "]: assigned"),
        pattern=r"(?<!VF )BAR (?P<bar>\d+)(?:: assigned \[mem| \[mem [^\]]*\]: assigned)",
        sample=(
            "[   12.253297] amdgpu 0000:07:00.0: BAR 0: assigned [mem 0xc0000000-0xcfffffff 64bit pref]",
            "[   10.021193] pci 0006:03:00.0: BAR 0 [mem 0x6300c0000000-0x6300c1ffffff 64bit pref]: assigned",
        ),
        source=_PCI + "setup-res.c",
        level="info",
    ),
    Kind(
        name="pci-window-unassigned",
        needles=("bridge window [mem size",),
        pattern=r"bridge window \[mem size (?P<size>0x[0-9a-f]+)[^\]]*\]: (?:can't assign; no space|failed to assign)",
        sample="[    5.733815] pci 0000:00:00.0: bridge window [mem size 0x3018000000 64bit pref]: can't assign; no space",
        source=_PCI + "setup-res.c",
        level="notice",
    ),
    Kind(
        name="pci-vf-bar-unassigned",
        needles=("VF BAR",),
        pattern=r"VF BAR (?P<bar>\d+) \[mem size (?P<size>0x[0-9a-f]+)[^\]]*\]: (?:can't assign; no space|failed to assign)",
        sample="[   10.055285] pci 0006:03:00.0: VF BAR 0 [mem size 0x02000000 64bit pref]: can't assign; no space",
        source=_PCI + "setup-res.c",
        level="notice",
    ),
    Kind(
        name="pci-bar-unclaimed",
        needles=("no compatible bridge window", "can't claim; no address assigned", "can't claim BAR"),
        pattern=r"(?:can't claim )?BAR (?P<bar>\d+) \[mem[^\]]*\]: (?:can't claim; |no compatible bridge window)",
        sample="[    0.611021] pci 0000:c3:00.0: can't claim BAR 0 [mem 0x00000000-0x7ffffffff 64bit pref]: no compatible bridge window",
        source=_PCI + "setup-res.c",
        level="notice",
    ),
    Kind(
        name="gpu-bar-small",
        needles=("address space for a large BAR",),
        pattern=r"Not enough PCI address space for a large BAR",
        sample="[   12.253295] [drm] Not enough PCI address space for a large BAR.",
        source=_AMD + "amdgpu_device.c",
        level="notice",
    ),
    Kind(
        name="gpu-bar-resize-failed",
        needles=("Problem resizing BAR0",),
        pattern=r"Problem resizing BAR0 \((?P<error>-?\d+)\)",
        sample="[   12.253295] [drm:amdgpu_device_resize_fb_bar [amdgpu]] *ERROR* Problem resizing BAR0 (-16).",
        source=_AMD + "amdgpu_device.c",
    ),
    Kind(
        name="gpu-without-atomics",
        needles=("PCIE atomic ops is not supported",),
        pattern=r"PCIE atomic ops is not supported",
        sample="[    4.115241] amdgpu 0000:01:00.0: amdgpu: PCIE atomic ops is not supported",
        source=_AMD + "amdgpu_device.c",
        level="notice",
    ),
    Kind(
        name="pcie-bandwidth-limited",
        needles=("available PCIe bandwidth, limited by",),
        pattern=r"(?P<have>\d+\.\d+) Gb/s available PCIe bandwidth, limited by (?P<speed>[\d.]+) GT/s(?: PCIe)? x(?P<width>\d+) link "
        r"at (?P<at>[0-9a-f:.]+) \(capable of (?P<capable>\d+\.\d+) Gb/s with (?P<capable_speed>[\d.]+) GT/s(?: PCIe)? x(?P<capable_width>\d+)",
        sample="[    0.841022] pci 0000:03:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 0000:00:1c.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
        source=_PCI + "pci.c",
        level="notice",
    ),
    Kind(
        name="lspci-gpu",
        needles=("[AMD/ATI]", "Advanced Micro Devices, Inc. [AMD]"),
        pattern=r"^(?P<bdf>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?:VGA compatible controller|Display controller|3D controller|Processing accelerators)\b.*\[AMD",
        more=r"^\s+(?:Kernel driver in use: (?P<driver>\S+)|\S)",
        more_limit=80,
        sample="44:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] Vega 20 [1002:66a1] (rev 02)",
        source="https://github.com/ROCm/amdgpu/issues/157",
        level="info",
    ),
    # --- link errors ------------------------------------------------------------------------------
    Kind(
        name="aer-corrected",
        needles=(
            "severity=Correct",
            "AER: Correct",
            "AER: Multiple Correct",
            "aer_layer=Data Link",
            "aer_layer=Physical",
        ),
        pattern=r"severity=Correct(?:ed|able)(?:, type=(?P<layer>[\w ]+?)(?: Layer)?\b)?"
        r"|AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received"
        r"|aer_layer=(?P<aer_layer>Data Link Layer|Physical Layer)",
        sample=(
            "[  100.486780] pcieport 0000:00:01.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)",
            "[  100.486779] pcieport 0000:00:01.1: AER: Correctable error message received from 0000:01:00.0",
            "[ 2478.486780] pcieport 0000:00:01.1: AER: aer_layer=Data Link Layer, aer_agent=Receiver ID",
        ),
        source=_PCI + "pcie/aer.c",
        level="notice",
        about="link",
    ),
    Kind(
        name="aer-nonfatal",
        needles=("(Non-Fatal)",),
        pattern=r"(?:severity=|AER: (?:Multiple )?)Uncorrect(?:ed|able) \(Non-Fatal\)",
        sample="[  100.486780] amdgpu 0000:c1:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        source=_PCI + "pcie/aer.c",
        about="link",
    ),
    Kind(
        name="aer-fatal",
        needles=("Uncorrected (Fatal)", "Uncorrectable (Fatal)"),
        pattern=r"(?:severity=|AER: (?:Multiple )?)Uncorrect(?:ed|able) \(Fatal\)",
        sample="[  100.486780] pcieport 0000:c0:01.1: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
        source=_PCI + "pcie/aer.c",
        about="link",
    ),
    Kind(
        name="aer-completer-abort",
        needles=("Completer Abort", "CmpltAbrt"),
        pattern=r"Completer Abort|CmpltAbrt",
        sample=("[  340.707957] Completer Abort", "[  340.707957] amdgpu 0000:83:00.0:    [15] CmpltAbrt             "),
        source="https://github.com/ROCm/legacy-rocm-build/issues/1493",
        about="node",
    ),
    Kind(
        name="aer-malformed-tlp",
        needles=("Malformed TLP", "MalfTLP"),
        pattern=r"\[ *18\] (?:Malformed TLP|MalfTLP)",
        sample="[  942.180392] pcieport 0000:00:1c.4:    [18] Malformed TLP          (First)",
        source="https://github.com/ROCm/legacy-rocm-build/issues/32",
        about="node",
    ),
    Kind(
        name="aer-tlp-atomic",
        needles=("TLP Header:",),
        pattern=r"TLP Header: (?P<tlp>[46][cde][0-9a-f]{6}) ",
        sample="[  942.180444] pcieport 0000:00:1c.4:   TLP Header: 6c000002 06000000 0000000f b76e6008",
        source="https://github.com/ROCm/legacy-rocm-build/issues/32",
        level="notice",
        about="node",
    ),
    Kind(
        name="aer-unsupported-request",
        needles=("UnsupReq", "Unsupported Request"),
        pattern=r"\[ *20\] UnsupReq|Unsupported Request$",
        sample="[  340.707957] amdgpu 0000:83:00.0:    [20] UnsupReq               (First)",
        source=_PCI + "pcie/aer.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="aer-acs-violation",
        needles=("ACSViol", "ACS Violation"),
        pattern=r"\[ *21\] ACSViol|ACS Violation",
        sample="[  340.707957] pcieport 0000:80:01.1:    [21] ACSViol                (First)",
        source=_PCI + "pcie/aer.c",
        about="node",
    ),
    Kind(
        name="aer-completion-timeout",
        needles=("CmpltTO", "Completion Timeout"),
        pattern=r"\[ *14\] CmpltTO|Completion Timeout$",
        sample="[  340.707957] pcieport 0000:80:01.1:    [14] CmpltTO                (First)",
        source=_PCI + "pcie/aer.c",
        about="node",
    ),
    Kind(
        name="ghes-report",
        needles=("Hardware error from APEI Generic Hardware Error Source", "aer_uncor_status"),
        pattern=r"(?:\{(?P<number>\d+)\}\[Hardware Error\]: *)?Hardware error from APEI Generic Hardware Error Source: (?P<source>\d+)",
        more=r"\[Hardware Error\]:(?: *(?:event severity: (?P<severity>\w+)|.*section_type: (?P<section>[\w ]+)"
        r"|.*port_type: \d+, (?P<port>[\w ]+)|.*vendor_id: (?P<vendor>0x[0-9a-f]+), device_id: (?P<device_id>0x[0-9a-f]+)"
        r"|.*device_id: (?P<at>[0-9a-f:.]+)|.*aer_uncor_status: (?P<status>0x[0-9a-f]+)|.*physical_address: (?P<address>0x[0-9a-f]+)))?",
        more_limit=40,
        sample=(
            "[  340.596150] {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 8\n"
            "[  340.605427] {1}[Hardware Error]: event severity: fatal\n"
            "[  340.617592] {1}[Hardware Error]:   section_type: PCIe error"
        ),
        source=_LINUX + "drivers/firmware/efi/cper.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="pci-error-callback",
        needles=("PCI error: detected callback",),
        pattern=r"PCI error: detected callback,? state\((?P<state>\d)\)",
        sample="[  340.735726] [drm] PCI error: detected callback, state(2)!!",
        source=_AMD + "amdgpu_device.c",
    ),
    Kind(
        name="aer-recovery-failed",
        needles=("device recovery failed", "PCIe error recovery failed"),
        pattern=r"AER: device recovery failed|PCIe error recovery failed, err:(?P<error>-?\d+)",
        sample="[  341.735726] pcieport 0000:80:01.1: AER: device recovery failed",
        source=_PCI + "pcie/err.c",
        about="link",
    ),
    Kind(
        name="dpc-containment",
        needles=("DPC: containment event",),
        pattern=r"DPC: containment event, status:(?P<status>0x[0-9a-f]+)",
        sample="[  990.100231] pcieport 0000:c0:01.1: DPC: containment event, status:0x1f01 source:0x0000",
        source=_PCI + "pcie/dpc.c",
        about="link",
    ),
    Kind(
        name="pciehp-link-down",
        needles=("pciehp: Slot(",),
        pattern=r"pciehp: Slot\((?P<slot>[\w-]+)\): (?P<what>Link Down|Card not present)",
        sample="[  990.100231] pcieport 0000:c0:01.1: pciehp: Slot(12): Link Down",
        source=_PCI + "hotplug/pciehp_ctrl.c",
        about="link",
    ),
    # --- devices that are gone ----------------------------------------------------------------------
)
