"""Opening /dev/kfd and the render nodes: what rocminfo, the HSA runtime, strace and torch print when it fails.

The errno decides the cause: ENOENT no node, EACCES/EPERM no right, ENOMEM no GPU that KFD took, EINVAL and EBUSY a
KFD that is not usable. Each errno is a kind of its own, whatever program prints it.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_KFD = (
    "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/amdkfd/kfd_chardev.c"
)


def _errno(name: str, code: str, text: str, source: str) -> Kind:
    return Kind(
        name=f"kfd-open-{name}",
        needles=("/dev/kfd",),
        pattern=rf"open /dev/kfd(?: read-write)?: {text}|\"/dev/kfd\".*= -1 {code}\b|(?<!cat: )/dev/kfd'?\"?: {text}|{text}:? '?\"?/dev/kfd",
        sample=(
            f"Unable to open /dev/kfd read-write: {text}",
            f'openat(AT_FDCWD, "/dev/kfd", O_RDWR|O_CLOEXEC) = -1 {code} ({text})',
        ),
        source=source,
        about="node",
    )


KINDS = (
    _errno("eacces", "EACCES", "Permission denied", _KFD),
    _errno("enomem", "ENOMEM", "Cannot allocate memory", "https://github.com/ROCm/legacy-rocm-build/issues/1663"),
    _errno("einval", "EINVAL", "Invalid argument", _KFD),
    _errno("efault", "EFAULT", "Bad address", "https://github.com/ROCm/legacy-rocm-build/issues/1400"),
    _errno("ebusy", "EBUSY", "Device or resource busy", _KFD),
    _errno("enxio", "ENXIO", "No such device or address", _KFD),
    Kind(
        name="render-node-denied",
        needles=("/dev/dri/renderD", "/dev/dri/card"),
        pattern=r"(?P<node>/dev/dri/(?:renderD\d+|card\d+))'?\"?:? ?(?:Permission denied|.*= -1 EACCES)|Permission denied:? '?(?P<node2>/dev/dri/(?:renderD|card)\d+)"
        r"|(?:open|access) (?P<node3>/dev/dri/(?:renderD|card)\d+).{0,20}Permission denied",
        sample=(
            "Failed to open /dev/dri/renderD128: Permission denied",
            "PermissionError: [Errno 13] Permission denied: '/dev/dri/renderD129'",
        ),
        source="https://github.com/ROCm/rocminfo/issues/41",
        about="node",
    ),
    Kind(
        name="user-not-in-render-group",
        needles=("is not member of", "is not a member of"),
        pattern=r"(?P<user>\S+) is not (?:a )?member of \"?(?P<group>render|video)\"? group",
        sample='alice is not member of "render" group, the default DRM access group. Users must be a member of the "render" group or another DRM access group in order for ROCm applications to run successfully.',
        source="https://github.com/ROCm/rocminfo/blob/master/rocminfo.cc",
        about="node",
    ),
    Kind(
        name="user-group-known",
        needles=("is member of video group", "is member of render group"),
        pattern=r"(?P<user>\S+) is member of (?P<group>video|render) group",
        sample="user is member of video group",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1064",
        level="info",
        about="node",
    ),
    Kind(
        name="hsa-init-failed",
        needles=("hsa api call failure", "Call returned 4104", "HSA_STATUS_ERROR_OUT_OF_RESOURCES", "hsa_init Failed"),
        pattern=r"hsa api call failure|Call returned (?:4104|HSA_STATUS_ERROR_OUT_OF_RESOURCES)|hsa_init Failed",
        sample=(
            "hsa api call failure at: /src/rocminfo/rocminfo.cc:1142",
            "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/1064",
        about="node",
    ),
    Kind(
        name="sudo-gpu-tool",
        needles=("sudo /opt/rocm", "sudo rocminfo", "sudo clinfo", "sudo rocm-smi", "sudo amd-smi"),
        pattern=r"[$#>] ?sudo (?:-\w+ )*(?:/opt/rocm\S*/)?(?P<tool>rocminfo|clinfo|rocm-smi|amd-smi)",
        sample="$ sudo /opt/rocm/bin/rocminfo",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1064",
        level="info",
        about="node",
    ),
    Kind(
        name="hsa-works",
        needles=("HSA System Attributes",),
        pattern=r"^HSA System Attributes",
        sample="HSA System Attributes    ",
        source="https://github.com/ROCm/aiter/issues/179",
        level="info",
        alive=True,
        about="node",
    ),
    Kind(
        name="no-hip-device",
        needles=("No HIP GPUs are available", "no ROCm-capable device is detected", "hipErrorNoDevice"),
        pattern=r"No HIP GPUs are available|no ROCm-capable device is detected|hipErrorNoDevice",
        sample=("RuntimeError: No HIP GPUs are available", "hipErrorNoDevice: no ROCm-capable device is detected"),
        source="https://github.com/ROCm/clr/blob/amd-staging/hipamd/src/hip_error.cpp",
        about="node",
    ),
    Kind(
        name="kfd-node-root-only",
        needles=("crw-------", "crw-r--r--", "cr--------"),
        pattern=r"^c(?P<mode>rw-------|rw-r--r--|r--------)[.+]? +\d+ +root +root +\d+, *\d+ .{6,30}\bkfd$",
        sample="crw-------   1 root    root    234,   0 May 21 05:13 kfd",
        source="https://github.com/ROCm/ROCT-Thunk-Interface/issues/36",
        level="notice",
        about="node",
    ),
    Kind(
        name="kfd-node-in-render",
        needles=("crw-rw----",),
        pattern=r"^crw-rw----[.+]? +\d+ +root +(?P<group>render|video) +\d+, *\d+ .{6,30}\bkfd$",
        sample="crw-rw---- 1 root render 235, 0 Apr  8 16:46 /dev/kfd",
        source="https://github.com/ROCm/rocminfo/issues/41",
        level="info",
        about="node",
    ),
)
