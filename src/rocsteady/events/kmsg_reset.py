"""Kernel ring buffer: GPU resets and how they end, power transitions, and a device that left the bus.

An all-ones answer (0xFFFFFFFF, partition mode 15, response 0xFFFFFFFF) is no value: nobody answers any more.
Texts: amdgpu_device.c, amdgpu_reset.c, amdgpu_psp.c, drm_drv.c, PCI core, vfio-pci, QEMU.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/"
_DEVICE = _TREE + "gpu/drm/amd/amdgpu/amdgpu_device.c"
_PCI = _TREE + "pci/pci.c"

KINDS = (
    Kind(
        name="gpu-reset-begin",
        needles=("GPU reset begin", "GPU jobs stop begin"),
        pattern=r"GPU (?:reset|jobs stop) begin!(?:\. ?Source: *(?P<reset_source>\d+))?",
        sample=("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", "amdgpu 0000:28:00.0: GPU reset begin!. Source:  1"),
        source=_DEVICE,
        level="notice",
        mark="crash",
    ),
    Kind(
        name="gpu-reset-method",
        needles=("MODE1 reset", "MODE2 reset", "BACO reset", "MODE0 reset", "GPU PCI CONFIG reset", "PCI reset"),
        pattern=r"\b(?P<method>(?:MODE[012]|BACO|PCI CONFIG|PCI) reset)(?! fail)",
        sample="amdgpu 0000:c1:00.0: amdgpu: MODE2 reset",
        source=_DEVICE,
        level="info",
    ),
    Kind(
        name="gpu-reset-succeeded",
        needles=("GPU reset(",),
        pattern=r"GPU reset\((?P<resets>\d+)\) succeeded",
        sample="amdgpu 0000:08:00.0: amdgpu: GPU reset(2) succeeded!",
        source=_DEVICE,
        level="notice",
    ),
    Kind(
        name="gpu-reset-failed",
        needles=(
            "GPU reset(",
            "GPU reset end with ret",
            "GPU Recovery Failed",
            "ASIC reset failed",
            "mode1 reset failed",
            "mode2 reset failed",
            "asic reset failed",
            "BACO reset failed",
        ),
        pattern=r"GPU reset\((?P<resets>\d+)\) failed|GPU reset end with ret = (?P<code>-\d+)|GPU Recovery Failed: ?(?P<error>-?\d+)"
        r"|ASIC reset failed with error, (?P<asic_error>-?\d+)|(?:MODE[12]|BACO) reset failed|pre asic reset failed",
        sample=(
            "amdgpu 0000:e3:00.0: amdgpu: GPU reset(1) failed",
            "amdgpu 0000:e3:00.0: amdgpu: GPU reset end with ret = -62",
            "amdgpu 0000:08:00.0: amdgpu: ASIC reset failed with error, -22 for drm dev, 0000:08:00.0",
        ),
        source=_DEVICE,
    ),
    Kind(
        name="vram-lost",
        needles=("VRAM is lost due to GPU reset",),
        pattern=r"VRAM is lost due to GPU reset",
        sample="amdgpu 0000:28:00.0: VRAM is lost due to GPU reset!",
        source=_DEVICE,
        level="notice",
    ),
    Kind(
        name="gpu-recovery-disabled",
        needles=("GPU recovery disabled",),
        pattern=r"GPU recovery disabled",
        sample="amdgpu 0000:03:00.0: amdgpu: GPU recovery disabled.",
        source=_DEVICE,
    ),
    Kind(
        name="gpu-reset-false-alarm",
        needles=("Guilty job already signaled",),
        pattern=r"Guilty job already signaled, skipping HW reset",
        sample="amdgpu 0000:03:00.0: amdgpu: Guilty job already signaled, skipping HW reset",
        source=_DEVICE,
        level="notice",
    ),
    Kind(
        name="device-lost",
        needles=("device lost from bus",),
        pattern=r"device lost from bus",
        sample="amdgpu 0000:83:00.0: amdgpu: device lost from bus!",
        source=_DEVICE,
    ),
    Kind(
        name="device-wedged",
        needles=("device wedged, needs recovery",),
        pattern=r"device wedged, needs recovery",
        sample="amdgpu 0000:0c:00.0: [drm] device wedged, needs recovery",
        source=_TREE + "gpu/drm/drm_drv.c",
    ),
    Kind(
        name="device-wedged-recovered",
        needles=("device wedged, but recovered",),
        pattern=r"device wedged, but recovered through reset",
        sample="amdgpu 0000:0c:00.0: [drm] device wedged, but recovered through reset",
        source=_TREE + "gpu/drm/drm_drv.c",
        level="notice",
    ),
    Kind(
        name="ip-resume-failed",
        needles=("resume of IP block", "amdgpu_device_ip_resume failed"),
        pattern=r"resume of IP block <(?P<block>\w+)> failed (?P<code>-?\d+)|amdgpu_device_ip_resume failed \((?P<resume_code>-?\d+)\)",
        sample="amdgpu 0000:03:00.0: amdgpu: resume of IP block <smu> failed -5",
        source=_DEVICE,
    ),
    Kind(
        name="ip-suspend-failed",
        needles=("suspend of IP block",),
        pattern=r"suspend of IP block <(?P<block>\w+)> failed (?P<code>-?\d+)",
        sample="[drm:amdgpu_device_ip_suspend_phase2 [amdgpu]] *ERROR* suspend of IP block <powerplay> failed -5",
        source=_DEVICE,
    ),
    Kind(
        name="psp-resume-failed",
        needles=("PSP resume failed", "PSP create ring failed"),
        pattern=r"PSP resume failed|PSP create ring failed",
        sample="[drm:psp_resume [amdgpu]] *ERROR* PSP resume failed",
        source=_TREE + "gpu/drm/amd/amdgpu/amdgpu_psp.c",
    ),
    Kind(
        name="psp-all-ones",
        needles=("response status is (0xFFFFFFFF)",),
        pattern=r"psp gfx command .*response status is \(0xFFFFFFFF\)",
        sample="[drm] psp gfx command UNKNOWN CMD(0xFFFFFFFF) failed and response status is (0xFFFFFFFF)",
        source=_TREE + "gpu/drm/amd/amdgpu/amdgpu_psp.c",
    ),
    Kind(
        name="perfmon-command-failed",
        needles=("CONFIG_SQ_PERFMON",),
        pattern=r"psp gfx command CONFIG_SQ_PERFMON\((?P<command>0x[0-9a-f]+)\) failed and response status is \((?P<status>0x[0-9a-f]+)\)",
        sample="amdgpu 0000:c1:00.0: amdgpu: psp gfx command CONFIG_SQ_PERFMON(0x46) failed and response status is (0x100)",
        source=_TREE + "gpu/drm/amd/amdgpu/amdgpu_psp.c",
    ),
    Kind(
        name="partition-mode-all-ones",
        needles=("not matching with device mode",),
        pattern=r"Cached partition mode (?P<cached>\d+) not matching with device mode 15\b",
        sample="amdgpu 0000:c1:00.0: Cached partition mode 0 not matching with device mode 15",
        source=_TREE + "gpu/drm/amd/amdgpu/amdgpu_xcp.c",
    ),
    Kind(
        name="partition-mode-differs",
        needles=("not matching with device mode",),
        pattern=r"Cached partition mode (?P<cached>\d+) not matching with device mode (?P<mode>(?!15\b)\d+)",
        sample="amdgpu 0000:c1:00.0: Cached partition mode 0 not matching with device mode 4",
        source=_TREE + "gpu/drm/amd/amdgpu/amdgpu_xcp.c",
        level="notice",
    ),
    Kind(
        name="pci-not-ready-after-reset",
        needles=(
            "ms after bus reset",
            "ms after FLR",
            "ms after resume",
            "ms after DPC",
            "ms after secondary bus reset",
            "ms after AF FLR",
        ),
        pattern=r"not ready (?P<waited>\d+)ms after (?P<reset>bus reset|(?:AF )?FLR|resume|DPC|secondary bus reset); (?P<outcome>giving up|waiting)",
        sample="vfio-pci 0000:84:00.0: not ready 65535ms after bus reset; giving up",
        source=_PCI,
    ),
    Kind(
        name="vfio-stuck-in-d3",
        needles=("stuck in D3",),
        pattern=r"vfio: Unable to power on device, stuck in D3",
        sample="host1 QEMU[69339]: kvm: vfio: Unable to power on device, stuck in D3",
        source="https://github.com/ROCm/legacy-rocm-build/issues/3414",
    ),
    Kind(
        name="vendor-reset-failed",
        needles=("failed to reset device", "could not get enabled SMU features", "psp mode1 reset failed"),
        pattern=r"vfio-pci [0-9a-f:.]+: AMD_\w+: (?:failed to reset device|could not get enabled SMU features|psp mode1 reset failed)",
        sample="vfio-pci 0000:0d:00.0: AMD_VEGA10: failed to reset device",
        source="https://github.com/gnif/vendor-reset/pull/109",
    ),
    Kind(
        name="power-state-change-failed",
        needles=("change power state", "config space inaccessible"),
        pattern=r"(?:Unable to|can't|Refused to) change power state,? (?:from (?P<from_state>\w+) to (?P<to_state>\w+)|currently in (?P<state>\w+))",
        sample=(
            "amdgpu 0000:03:00.0: Unable to change power state from D3cold to D0, device inaccessible",
            "amdgpu 0000:03:00.0: can't change power state from D3cold to D0 (config space inaccessible)",
        ),
        source=_PCI,
    ),
    Kind(
        name="pci-header-all-ones",
        needles=("unknown header type 7f", "header type 127"),
        pattern=r"unknown header type 7f|unknown PCI header type '?127",
        sample="pci 0000:84:00.0: [1002:744c] unknown header type 7f, ignoring device",
        source=_TREE + "pci/probe.c",
    ),
    Kind(
        name="system-resume-failed",
        needles=("pci_pm_resume", "failed to resume async", "failed to resume: error", "pci_pm_restore", "pci_pm_thaw"),
        pattern=r"amdgpu.*(?:pci_pm_(?:resume|restore|thaw)\S* returns (?P<code>-\d+)|failed to resume(?: async)?: error (?P<error>-\d+))",
        sample="amdgpu 0000:0b:00.0: PM: dpm_run_callback(): pci_pm_resume returns -62",
        source=_TREE + "base/power/main.c",
    ),
    Kind(
        name="suspend-eviction-failed",
        needles=("evicting device resources failed", "not prepared for power transition", "pci_pm_prepare"),
        pattern=r"evicting device resources failed|amdgpu.*(?:not prepared for power transition: code (?P<code>-\d+)|pci_pm_prepare\S* returns -\d+)",
        sample=(
            "amdgpu 0000:01:00.0: PM: not prepared for power transition: code -12",
            "amdgpu 0000:01:00.0: amdgpu: evicting device resources failed",
        ),
        source="https://github.com/ROCm/amdgpu/issues/174",
    ),
    Kind(
        name="kexec-boot",
        needles=("kexec_core: Starting new kernel", "Reboot via kexec", "systemd-kexec.service"),
        pattern=r"kexec_core: Starting new kernel|Reboot via kexec|systemd-kexec\.service",
        sample="[ 8123.100231] kexec_core: Starting new kernel",
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/kernel/kexec_core.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="suspend-entry",
        needles=("suspend entry",),
        pattern=r"PM: suspend entry \((?P<state>\w+)\)",
        sample="PM: suspend entry (deep)",
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/kernel/power/suspend.c",
        level="notice",
        about="node",
    ),
)
