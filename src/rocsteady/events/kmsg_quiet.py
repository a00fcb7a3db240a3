"""Lines with an error word that healthy nodes print too. They are no evidence; here they only leave ``unexplained``.

Each was seen on a machine whose GPUs worked (source), or is a plain notice in the code that prints it.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_AMD = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/"
_LINUX = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"


def _noise(name: str, needle: str | tuple[str, ...], pattern: str, sample: str, source: str) -> Kind:
    needles = (needle,) if isinstance(needle, str) else needle
    return Kind(name=name, needles=needles, pattern=pattern, sample=sample, source=source, level="noise")


KINDS = (
    _noise(
        "quiet-smu-if-version",
        ("SMU driver if version not matched", "smu driver if version"),
        r"SMU driver if version not matched|smu driver if version = ",
        "[    8.232902] amdgpu 0000:0b:00.0: amdgpu: SMU driver if version not matched",
        "https://github.com/hamadmarri/TT-CPU-Scheduler/issues/23",
    ),
    _noise(
        "quiet-optional-firmware",
        ("Optional firmware", "ucode is not available", "firmware is not available"),
        r"Optional firmware \"[^\"]+\" was not found|: optional \w+ ta (?:ucode|firmware) is not available",
        '[    4.042962] amdgpu 0000:63:00.0: amdgpu: [drm] Optional firmware "amdgpu/isp_4_1_0.bin" was not found',
        _AMD + "amdgpu/amdgpu_ucode.c",
    ),
    _noise(
        "quiet-apple-gmux",
        "apple_gmux_detect",
        r"legacy kernel without apple_gmux_detect",
        "[   16.324216] amdgpu: legacy kernel without apple_gmux_detect()",
        "https://github.com/ROCm/legacy-rocm-build/issues/3712",
    ),
    _noise(
        "quiet-user-pages",
        "Failed to get user pages: -1",
        r"init_user_pages: Failed to get user pages: -1\b",
        "[  911.100231] amdgpu: init_user_pages: Failed to get user pages: -1",
        _AMD + "amdgpu/amdgpu_amdkfd_gpuvm.c",
    ),
    _noise(
        "quiet-product-name",
        "product_name",
        r"product_name(?:\"|:)?.{0,80}no such file",
        '{"level":"error","msg":"/sys/class/drm/card0/device/product_name","error":"open /sys/class/drm/card0/device/product_name: no such file or directory"}',
        "https://github.com/ROCm/gpu-operator/issues/266",
    ),
    _noise(
        "quiet-rom-alignment",
        "bogus alignment",
        r"ROM \[.*\]: can't assign; bogus alignment",
        "[   15.142700] amdgpu 0000:1b:00.0: ROM [??? 0x00000000 flags 0x20000000]: can't assign; bogus alignment",
        "https://github.com/ROCm/legacy-rocm-build/issues/4021",
    ),
    _noise(
        "quiet-peerdirect",
        "PeerDirect support",
        r"PeerDirect support was initialized successfully",
        "[   16.323366] amdgpu: PeerDirect support was initialized successfully",
        "https://github.com/ROCm/legacy-rocm-build/issues/3712",
    ),
    _noise(
        "quiet-crat",
        ("Ignoring ACPI CRAT", "SRAT table not found"),
        r"Ignoring ACPI CRAT|SRAT table not found",
        "[    9.602871] amdgpu: Ignoring ACPI CRAT on non-APU system",
        "https://github.com/ROCm/legacy-rocm-build/issues/1357",
    ),
    _noise(
        "quiet-tmz",
        "Trusted Memory Zone (TMZ)",
        r"Trusted Memory Zone \(TMZ\) feature (?:not supported|disabled)",
        "[    9.605889] amdgpu 0000:23:00.0: Trusted Memory Zone (TMZ) feature not supported",
        "https://github.com/ROCm/legacy-rocm-build/issues/1357",
    ),
    _noise(
        "quiet-compute-queues",
        "set kernel compute queue number",
        r"set kernel compute queue number to \d+ due to invalid parameter",
        "[    9.605890] amdgpu 0000:23:00.0: set kernel compute queue number to 8 due to invalid parameter provided by user",
        "https://github.com/ROCm/legacy-rocm-build/issues/1357",
    ),
    _noise(
        "quiet-kcl-stub",
        ("replace it with kcl stub", "acpi_put_table is not supported"),
        r"fail to get symbol \S+, replace it with kcl stub|acpi_put_table is not supported",
        "[    6.556702] amdkcl: Warning: fail to get symbol __cancel_work, replace it with kcl stub",
        "https://github.com/ROCm/legacy-rocm-build/issues/2927",
    ),
    _noise(
        "quiet-io-window",
        ("failed to assign [io", "no space for [io", "[io  size 0x", "[io size 0x"),
        r"(?:no space for|failed to assign) \[io |\[io .*\]: (?:can't assign|failed to assign)",
        "[    1.204411] pci 0000:c0:01.1: BAR 13: failed to assign [io  size 0x1000]",
        _LINUX + "drivers/pci/setup-res.c",
    ),
    _noise(
        "quiet-acpi-bios",
        ("ACPI BIOS Error", "ACPI Error:", "ACPI Exception:", "ACPI Warning:"),
        r"ACPI (?:BIOS )?(?:Error|Warning|Exception)",
        "[    0.512233] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PCI0.GPP0], AE_NOT_FOUND (20230628/psargs-330)",
        _LINUX + "drivers/acpi/acpica/psargs.c",
    ),
    _noise(
        "quiet-subnqn",
        "SUBNQN field",
        r"missing or invalid SUBNQN field",
        "[    1.912201] nvme nvme0: missing or invalid SUBNQN field.",
        _LINUX + "drivers/nvme/host/core.c",
    ),
    _noise(
        "quiet-out-of-tree",
        "loading out-of-tree module taints kernel",
        r"loading out-of-tree module taints kernel",
        "[    6.476797] amdkcl: loading out-of-tree module taints kernel.",
        "https://github.com/ROCm/legacy-rocm-build/issues/2927",
    ),
    _noise(
        "quiet-amdgpu-iommu-counter",
        "perf/amd_iommu",
        r"perf/amd_iommu: Detected AMD IOMMU",
        "[    0.572509] perf/amd_iommu: Detected AMD IOMMU #0 (2 banks, 4 counters/bank).",
        "https://github.com/ROCm/legacy-rocm-build/issues/2927",
    ),
    _noise(
        "quiet-kernel-exception-tables",
        ("exception table", "RAS: Correctable Errors collector"),
        r"x86/mm: .* exception|RAS: Correctable Errors collector initialized|extable",
        "[    0.900231] RAS: Correctable Errors collector initialized.",
        _LINUX + "drivers/ras/cec.c",
    ),
    _noise(
        "quiet-boot-error-words",
        (
            "MCE: In-kernel MCE decoding",
            "ERST: Error Record Serialization",
            "HEST: Enabling Firmware First",
            "GHES: APEI firmware first",
            "BERT: Error records",
        ),
        r"In-kernel MCE decoding enabled|ERST: Error Record Serialization Table|HEST: Enabling Firmware First|GHES: APEI firmware first mode",
        "[    0.800412] ERST: Error Record Serialization Table (ERST) support is initialized.",
        _LINUX + "drivers/acpi/apei/erst.c",
    ),
    _noise(
        "quiet-initramfs-firmware",
        "Possible missing firmware",
        r"Possible missing firmware",
        "W: Possible missing firmware /lib/firmware/amdgpu/yellow_carp_gpu_info.bin for module amdgpu",
        "https://github.com/damentz/liquorix-package/issues/69",
    ),
    _noise(
        "quiet-user-name",
        "Failed to get user name to check",
        r"Failed to get user name to check for video group membership",
        "Failed to get user name to check for video group membership",
        "https://github.com/ROCm/legacy-rocm-build/issues/1798",
    ),
    Kind(
        name="host-boot-remark",
        needles=(
            "DMI not present or invalid",
            "no PMU driver",
            "CPU model not supported",
            "Command line: ",
            "PANIC_ON_OOPS",
        ),
        pattern=r"DMI not present or invalid|no PMU driver|intel_pstate: CPU model not supported|(?:Kernel c|C)ommand line: ",
        sample="[    0.000000] DMI not present or invalid.",
        source="https://github.com/torvalds/linux/blob/master/drivers/firmware/dmi_scan.c",
        level="noise",
        about="node",
    ),
)
