"""Kernel ring buffer: firmware files, and the processors that load them (PSP, SMU, MES).

Formats: the firmware loader (drivers/base/firmware_loader), Debian's variant of it, amdgpu_ucode.c, amdgpu_psp.c,
amdgpu_mes.c. A missing file is a cause only where the driver then gives up: many files are optional.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_AMD = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/amdgpu/"
_LOADER = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/base/firmware_loader/main.c"

KINDS = (
    Kind(
        name="firmware-file-missing",
        needles=("firmware load for amdgpu/", "failed to load amdgpu/", "Failed to load firmware amdgpu/"),
        pattern=r"(?:Direct firmware load for|failed to load(?: firmware)?) \"?(?P<path>amdgpu/(?P<file>[\w.-]+))\"?"
        r"(?: failed with error -2\b| \(-2\))",
        sample=(
            "[    9.605986] amdgpu 0000:23:00.0: Direct firmware load for amdgpu/arcturus_gpu_info.bin failed with error -2",
            "[    4.201231] amdgpu 0000:83:00.0: firmware: failed to load amdgpu/gc_9_4_3_rlc.bin (-2)",
        ),
        source=_LOADER,
    ),
    Kind(
        name="firmware-file-unreadable",
        needles=("firmware load for amdgpu/", "failed to load amdgpu/"),
        pattern=r"(?:Direct firmware load for|failed to load(?: firmware)?) \"?(?P<path>amdgpu/(?P<file>[\w.-]+))\"?"
        r"(?: failed with error (?P<error>-(?!2\b)\d+)| \((?P<errno>-(?!2\b)\d+)\))",
        sample="[    9.605986] amdgpu 0000:23:00.0: Direct firmware load for amdgpu/psp_13_0_6_sos.bin failed with error -22",
        source=_LOADER,
    ),
    Kind(
        name="firmware-load-gave-up",
        needles=(
            "gpu_info firmware",
            "gfx firmware",
            "psp firmware",
            "mc firmware",
            "sdma firmware",
            "smc firmware",
            "mes fw",
            "toc microcode",
            "sos microcode",
            "asd microcode",
            "Failed to load firmware",
            "requires firmware installed",
            "mes kiq fw",
            "init/load firmware",
            "firmware at disk",
            "Failed to init microcode",
        ),
        pattern=r"Failed to load (?P<what>gpu_info|gfx|psp|mc|sdma|smc|vcn|uvd|rlc|mec|smu) firmware"
        r"|fail(?:ed)? to (?:request/validate|initialize) (?P<part>\w+) microcode"
        r"|failed to load MES (?:kiq )?fw|Failed to init(?:/load)? (?:firmware|microcode)"
        r"|amdgpu requires firmware installed|Failed to load firmware \"?(?P<file>amdgpu/[\w.-]+)",
        sample=(
            '[    9.605988] amdgpu 0000:23:00.0: Failed to load gpu_info firmware "amdgpu/arcturus_gpu_info.bin"',
            "[    3.586367] amdgpu 0000:04:00.0: amdgpu: fail to request/validate toc microcode",
            "[    3.593924] [drm:psp_sw_init] *ERROR* Failed to load psp firmware!",
        ),
        source="https://github.com/kernelci/kernelci-core/pull/2238",
    ),
    Kind(
        name="firmware-sos-count",
        needles=("packed SOS count",),
        pattern=r"packed SOS count exceeds maximum limit",
        sample="[   15.144163] amdgpu 0000:1b:00.0: amdgpu: packed SOS count exceeds maximum limit",
        source=_AMD + "amdgpu_psp.c",
    ),
    Kind(
        name="firmware-header-unknown",
        needles=("psp sos ucode header", "psp ta ucode header", "unsupported psp", "ucode header", "Unknown smu"),
        pattern=r"unsupported (?:psp|PSP) (?P<what>\w+) (?:ucode|firmware) header|[Uu]nknown \w+ ucode (?:header )?version",
        sample="[    5.120022] amdgpu 0000:c1:00.0: amdgpu: unsupported psp sos firmware header version 3.0, psp sos ucode header",
        source=_AMD + "amdgpu_psp.c",
    ),
    Kind(
        name="psp-load-failed",
        needles=("PSP firmware loading failed", "PSP load ", "PSP create ring failed", "PSP load kdb failed"),
        pattern=r"PSP firmware loading failed|PSP create ring failed|PSP load (?P<what>\w+) failed",
        sample=(
            "[    1.492690] [drm:psp_hw_init [amdgpu]] *ERROR* PSP firmware loading failed",
            "[  900.100231] [drm:psp_hw_start [amdgpu]] *ERROR* PSP create ring failed!",
        ),
        source=_AMD + "amdgpu_psp.c",
    ),
    Kind(
        name="psp-refused-firmware",
        needles=("psp gfx command", "failed to load ucode"),
        pattern=r"failed to load ucode (?P<ucode>[\w ]+?)\((?P<id>0x[0-9a-f]+)\)"
        r"|psp gfx command (?P<command>LOAD_IP_FW|LOAD_TOC|SETUP_TMR)\(0x[0-9a-f]+\) failed and response status is \((?P<status>0x[0-9a-f]+)\)",
        sample=(
            "[    6.100231] amdgpu 0000:c1:00.0: amdgpu: failed to load ucode RLC_G(0x12)",
            "[    6.100232] amdgpu 0000:c1:00.0: amdgpu: psp gfx command LOAD_IP_FW(0x6) failed and response status is (0xFFFF0008)",
        ),
        source=_AMD + "amdgpu_psp.c",
    ),
    Kind(
        name="psp-ta-failed",
        needles=("Failed to initialize XGMI session", "RAS: Failed to initialize RAS"),
        pattern=r"(?P<ta>XGMI|RAS): Failed to initialize",
        sample="[    6.100232] amdgpu 0000:c1:00.0: amdgpu: XGMI: Failed to initialize XGMI session",
        source=_AMD + "amdgpu_psp.c",
    ),
    Kind(
        name="psp-register-timeout",
        needles=("psp reg (",),
        pattern=r"psp reg \((?P<register>0x[0-9a-f]+)\) wait timed out",
        sample="[    9.812001] amdgpu 0000:c1:00.0: amdgpu: psp reg (0x16080) wait timed out, mask: 80000000, read: 00000000 exp: 80000000",
        source=_AMD + "amdgpu_psp.c",
    ),
    Kind(
        name="firmware-version",
        needles=("firmware version: 0x",),
        pattern=r"(?P<block>\w[\w ]*?)(?: feature version: \d+,)? firmware version: (?P<version>0x[0-9a-f]+)",
        sample=(
            "MES feature version: 1, firmware version: 0x00000083",
            "amdgpu_firmware_info: MES firmware version: 0x00000083",
        ),
        source=_AMD + "amdgpu_kms.c",
        level="info",
        about="node",
    ),
    Kind(
        name="mes-firmware-0x83",
        needles=("firmware version: 0x00000083", "firmware version: 0x83", "MES firmware"),
        pattern=r"\bMES(?: feature version: \d+,)? (?:firmware version:|firmware(?: is| =|:)?) *0x0*83\b",
        sample=(
            "MES feature version: 1, firmware version: 0x00000083",
            "amdgpu_firmware_info: MES firmware version: 0x00000083",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/5724",
        level="notice",
        about="node",
    ),
)
