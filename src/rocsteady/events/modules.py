"""Loading the amdgpu module: what kernel, modprobe, dkms and package managers say when it does not load or build.

Formats: kernel/module/main.c, kernel/module/signing.c, kmod's modprobe, dkms, make logs of gcc and clang, ROCm's own
rocminfo and rocm-smi.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_LINUX = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"
_DKMS = "https://github.com/dkms-project/dkms/blob/main/dkms.in"
_OURS = r"(?:amdgpu|amdkcl|amdttm|amd_sched|amddrm\w*|amdxcp|amdkfd|amd-sched)"
_PATH = r"(?:amd/(?:amdgpu|amdkfd|display|amdkcl|pm|backport|dkms|amdxcp|include|scheduler|ttm)|/(?:ttm|scheduler|kcl)/|include/kcl|amd\.\w+/)"

KINDS = (
    # --- refused by the kernel --------------------------------------------------------------------
    Kind(
        name="module-signature-refused",
        needles=(
            "Key was rejected by service",
            "Required key not available",
            "Loading of unsigned module",
            "unsigned module loading is restricted",
            "Loading of module with unavailable key",
        ),
        pattern=rf"could not insert '?(?P<module>{_OURS})'?: (?:Key was rejected by service|Required key not available)"
        rf"|(?:Failed to insert module|insmod: .*) '?(?P<module2>{_OURS})\S*'?: (?:Key was rejected|Required key not)"
        r"|Loading of (?:unsigned module|module with unavailable key) is rejected|Lockdown: \S+: unsigned module loading is restricted",
        sample=(
            "modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service",
            "[    6.120033] Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
            "[    6.120033] Loading of module with unavailable key is rejected",
        ),
        source=_LINUX + "kernel/module/signing.c",
        about="node",
    ),
    Kind(
        name="module-unsigned",
        needles=("module verification failed: signature",),
        pattern=rf"(?P<module>{_OURS}): module verification failed: signature and/or required key missing",
        sample="[    6.476835] amdkcl: module verification failed: signature and/or required key missing - tainting kernel",
        source="https://github.com/ROCm/legacy-rocm-build/issues/2927",
        level="notice",
        about="node",
    ),
    Kind(
        name="module-symbol-missing",
        needles=("Unknown symbol", "disagrees about version of symbol", "needs unknown symbol"),
        pattern=rf"(?P<module>{_OURS}): Unknown symbol (?P<symbol>\w+)|(?P<module2>{_OURS}): disagrees about version of symbol (?P<symbol2>\w+)"
        rf"|could not insert '?(?P<module3>{_OURS})'?: Unknown symbol|(?P<module4>{_OURS})\.ko\S* needs unknown symbol (?P<symbol4>\w+)",
        sample=(
            "[    2.700394] amdgpu: Unknown symbol acpi_video_register_backlight (err -2)",
            "[    2.700394] amdgpu: disagrees about version of symbol module_layout",
            "depmod: WARNING: /lib/modules/3.10.0-957.10.1.el7.x86_64/weak-updates/amdttm.ko needs unknown symbol dma_alloc_attrs",
        ),
        source="https://github.com/ROCm/amdgpu/issues/155",
        about="node",
    ),
    Kind(
        name="module-symbol-devcgroup",
        needles=("Unknown symbol __devcgroup_check_permission", "Unknown symbol devcgroup_check_permission"),
        pattern=rf"(?P<module>{_OURS}): Unknown symbol (?P<symbol>(?:__)?devcgroup_check_permission)",
        sample="[    2.700394] amdkfd: Unknown symbol __devcgroup_check_permission (err 0)",
        source="https://github.com/ROCm/amdgpu/issues/68",
        about="node",
    ),
    Kind(
        name="module-symbol-iommu-v2",
        needles=("Unknown symbol amd_iommu_",),
        pattern=rf"(?P<module>{_OURS}): Unknown symbol (?P<symbol>amd_iommu_\w+)",
        sample="[    2.700394] amdgpu: Unknown symbol amd_iommu_bind_pasid (err 0)",
        source="https://github.com/ROCm/legacy-rocm-build/issues/738",
        about="node",
    ),
    Kind(
        name="module-kcl-symbol",
        needles=("fail to get symbol",),
        pattern=r"Error: fail to get symbol (?P<symbol>\w+)",
        sample="[    1.760839] Error: fail to get symbol reservation_ww_class",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1304",
        about="node",
    ),
    Kind(
        name="module-vermagic",
        needles=("version magic '", "Invalid module format", "Exec format error"),
        pattern=rf"(?P<module>{_OURS}): version magic '(?P<built>\S+)[^']*' should be '(?P<running>\S+)"
        rf"|could not insert '?(?P<module2>{_OURS})'?: (?:Exec format error|Invalid module format)",
        sample=(
            "[    5.120033] amdgpu: version magic '5.15.0-91-generic SMP mod_unload modversions ' should be '5.15.0-101-generic SMP mod_unload modversions '",
            "modprobe: ERROR: could not insert 'amdgpu': Exec format error",
        ),
        source=_LINUX + "kernel/module/main.c",
        about="node",
    ),
    Kind(
        name="module-absent",
        needles=("Module amdgpu not found",),
        pattern=r"Module amdgpu not found in directory /lib/modules/(?P<kernel>\S+)",
        sample="modprobe: FATAL: Module amdgpu not found in directory /lib/modules/6.8.0-49-generic",
        source="https://github.com/kmod-project/kmod/blob/master/tools/modprobe.c",
        about="node",
    ),
    Kind(
        name="module-no-such-device",
        needles=("could not insert 'amdgpu': No such device", "could not insert 'amdgpu': Invalid argument"),
        pattern=r"could not insert 'amdgpu': (?P<why>No such device|Invalid argument)",
        sample="modprobe: ERROR: could not insert 'amdgpu': No such device",
        source="https://github.com/kmod-project/kmod/blob/master/tools/modprobe.c",
        about="node",
    ),
    Kind(
        name="module-parameter-unknown",
        needles=("unknown parameter '",),
        pattern=rf"(?P<module>{_OURS}|ttm|gpu_sched): unknown parameter '(?P<parameter>\w+)' ignored",
        sample="[    3.636913] amdgpu: unknown parameter 'gtt_size' ignored",
        source="https://github.com/ROCm/legacy-rocm-build/issues/5595",
        level="notice",
        about="node",
    ),
    Kind(
        name="gttsize-deprecated",
        needles=("Configuring gttsize via module parameter",),
        pattern=r"Configuring gttsize via module parameter is deprecated",
        sample="[    3.646006] amdgpu 0000:c6:00.0: amdgpu: [drm] Configuring gttsize via module parameter is deprecated, please use ttm.pages_limit",
        source="https://github.com/ROCm/legacy-rocm-build/issues/5595",
        level="notice",
        about="node",
    ),
    Kind(
        name="modesetting-disabled",
        needles=("disables amdgpu kernel modesetting", "You have booted with nomodeset"),
        pattern=r"VGACON disables? amdgpu kernel modesetting|You have booted with nomodeset",
        sample=(
            "[    0.110033] You have booted with nomodeset. This means your GPU drivers are DISABLED",
            "[    2.110033] [drm] VGACON disables amdgpu kernel modesetting.",
        ),
        source=_LINUX + "drivers/video/nomodeset.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="blacklist-line",
        needles=("blacklist amdgpu",),
        pattern=r"^(?:\S+:)?\s*blacklist amdgpu\s*$",
        sample="/etc/modprobe.d/blacklist-amdgpu.conf:blacklist amdgpu",
        source="https://github.com/ROCm/legacy-rocm-build/pull/4426",
        level="notice",
        about="node",
    ),
    # --- user space finds no driver ---------------------------------------------------------------
    Kind(
        name="driver-not-loaded",
        needles=("ROCk module is NOT loaded", "amdgpu not found in modules", "Driver not initialized"),
        pattern=r"ROCk module is NOT loaded|Driver not initialized \(amdgpu not found in modules\)",
        sample=(
            "ROCk module is NOT loaded, possibly no GPU devices",
            "ERROR:root:Driver not initialized (amdgpu not found in modules)",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/4098",
        about="node",
    ),
    # --- DKMS -------------------------------------------------------------------------------------
    Kind(
        name="dkms-build-failed",
        needles=(
            "Bad return status for module build",
            "amdgpu dkms failed for running kernel",
            "amdgpu kernel module failed to build",
        ),
        pattern=r"Bad return status for module build on kernel: (?P<kernel>\S+)|amdgpu dkms failed for running kernel"
        r"|amdgpu kernel module failed to build",
        sample=(
            "Error! Bad return status for module build on kernel: 6.11.0-8-generic (x86_64)",
            "WARNING: amdgpu dkms failed for running kernel",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/3870",
        about="node",
    ),
    Kind(
        name="dkms-amdgpu",
        needles=("amdgpu-dkms", "rock-dkms", "Loading new amdgpu", "make.log for amdgpu", "/var/lib/dkms/amdgpu"),
        pattern=r"(?:Setting up|Unpacking|Processing) (?:amdgpu|rock)-dkms \((?:\d+:)?(?P<version>\d+\.\d+[\w.]*)"
        r"|Loading new amdgpu[-/](?P<version2>\d[\w.]*)|make\.log for amdgpu-(?P<version3>\d[\w.]*)"
        r"|/var/lib/dkms/amdgpu/(?P<version4>\d[\w.]*)",
        sample=(
            "Setting up amdgpu-dkms (1:6.8.5.60202-2041575.24.04) ...",
            "DKMS make.log for amdgpu-5.18.13-1538762.el8 for kernel 4.18.0-490.el8.x86_64 (x86_64)",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/3870",
        level="info",
        about="node",
    ),
    Kind(
        name="dkms-compile-error",
        needles=(
            "error: implicit declaration of function",
            "has no member named",
            "too few arguments to function",
            "error: call to undeclared",
            "too many arguments to function",
            "incompatible pointer type",
            "error: passing argument",
            "error: initialization of",
            "error: unknown type name",
            "error: conflicting types",
            "undeclared (first use",
            "error: redefinition of",
            "error: no member named",
            "incomplete type",
            "too few arguments to function call",
            "error: static declaration of",
            "dma_resv->seq is missing",
        ),
        pattern=rf"{_PATH}\S*:\d+:\d+: error: (?P<error>.{{4,120}})|(?P<error2>dma_resv->seq is missing)",
        sample=(
            " amd/amdgpu/amdgpu_drv.c:2416:25: error: implicit declaration of function ‘drm_fbdev_ttm_setup’ [-Wimplicit-function-declaration]",
            "/tmp/amd.3JmYtJx8/amd/amdgpu/amdgpu_device.c:1752:13: error: too few arguments to function ‘pci_resize_resource’",
            "/var/lib/dkms/amdgpu/5.18.13-1538762.el8/build/Makefile:16: *** dma_resv->seq is missing., exit.... Stop.",
        ),
        source="https://github.com/ROCm/amdgpu/issues/187",
        about="node",
    ),
    Kind(
        name="dkms-headers-missing",
        needles=(
            "kernel headers for kernel",
            "kernel headers for this kernel",
            "kernel source for this kernel does not",
            "Unable to find the kernel source",
        ),
        pattern=r"[Yy]our kernel headers for kernel (?P<kernel>\S+) cannot be found"
        r"|Module build for (?:the currently running )?kernel (?P<kernel2>\S+)? ?was skipped since the\s?$"
        r"|kernel (?:headers|source) for this kernel (?:does|do) not seem to be installed",
        sample=(
            "Error! Your kernel headers for kernel 6.8.0-49-generic cannot be found at /lib/modules/6.8.0-49-generic/build or /lib/modules/6.8.0-49-generic/source.",
            "kernel headers for this kernel do not seem to be installed.",
        ),
        source=_DKMS,
        about="node",
    ),
    Kind(
        name="dkms-compiler-mismatch",
        needles=(
            "unrecognized command-line option",
            "unrecognized command line option",
            "differs from the one used to build the kernel",
            "gcc: not found",
            "gcc-12: not found",
            "gcc-13: not found",
            "gcc-14: not found",
            "gcc-15: not found",
            "clang: not found",
            "Compiler version check failed",
            "gcc: No such file",
        ),
        pattern=r"(?P<compiler>gcc\S*|cc1|clang|cc): error: unrecognized command[- ]line option (?P<option>\S+)"
        r"|(?P<missing>(?:gcc|clang)(?:-\d+)?): (?:command )?not found|make: (?P<missing2>(?:gcc|clang)\S*): No such file"
        r"|Compiler version check failed",
        sample=(
            "gcc: error: unrecognized command-line option ‘-ftrivial-auto-var-init=zero’",
            "/bin/sh: 1: gcc-12: not found",
        ),
        source="https://github.com/Plippo/asus-wmi-screenpad/issues/41",
        about="node",
    ),
    Kind(
        name="dkms-compiler-crash",
        needles=("internal compiler error", "terminated program cc1", "out of memory allocating"),
        pattern=r"internal compiler error: (?P<why>Killed|[\w ]+)|fatal error: (?P<why2>Killed) signal terminated program (?P<program>cc1\w*)"
        r"|(?P<program2>cc1): out of memory allocating",
        sample=(
            "uvd_v6_0.c:1058:1: internal compiler error: Segmentation fault",
            "cc: fatal error: Killed signal terminated program cc1",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/781",
        about="node",
    ),
    Kind(
        name="dkms-tree-broken",
        needles=("dkms.conf does not exist", "Could not locate dkms.conf"),
        pattern=r"/var/lib/dkms/amdgpu/(?P<version>[^/]+)/source/dkms\.conf does not exist",
        sample="File: /var/lib/dkms/amdgpu/6.7.0-1787201.22.04/source/dkms.conf does not exist.",
        source="https://github.com/ROCm/legacy-rocm-build/issues/3701",
        about="node",
    ),
    Kind(
        name="dkms-not-newer",
        needles=("is not newer than what is already found in kernel",),
        pattern=r"is not newer than what is already found in kernel (?P<kernel>\S+)",
        sample="is not newer than what is already found in kernel 4.13.0-36-generic (D3580B8CE287C145D0DC895).",
        source="https://github.com/ROCm/legacy-rocm-build/issues/344",
        about="node",
    ),
    Kind(
        name="dkms-excluded",
        needles=("BUILD_EXCLUSIVE",),
        pattern=r"dkms\.conf for module amdgpu includes a BUILD_EXCLUSIVE directive",
        sample="Error! The /var/lib/dkms/amdgpu/6.12.12/6.17.0-5-generic/x86_64/dkms.conf for module amdgpu includes a BUILD_EXCLUSIVE directive which does not match this kernel/arch/config.",
        source=_DKMS,
        about="node",
    ),
    Kind(
        name="dkms-status-not-installed",
        needles=("amdgpu/", "amdgpu, "),
        pattern=r"^\s*amdgpu[/,] ?(?P<version>\d[\w.-]*)(?:, (?P<kernel>\d[^,]+))?(?:, x86_64)?: (?P<state>added|built)\b",
        sample=("amdgpu/6.12.12-2164967.24.04: added", "amdgpu, 5.11.32-1350682, 5.4.0-97-generic, x86_64: built"),
        source="https://github.com/ROCm/amdgpu/issues/115",
        level="notice",
        about="node",
    ),
    Kind(
        name="dkms-status-installed",
        needles=(", x86_64: installed",),
        pattern=r"^\s*amdgpu[/,] ?(?P<version>\d[\w.-]*), (?P<kernel>\d[^,]+), x86_64: installed",
        sample="amdgpu/6.10.5-2119913.24.04, 6.8.0-55-generic, x86_64: installed",
        source="https://github.com/ROCm/legacy-rocm-build/issues/4533",
        level="info",
        about="node",
    ),
)
