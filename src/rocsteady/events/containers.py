"""Container engines: docker, podman, containerd, Apptainer, and what a container is refused inside."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_DOCKER = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html"

KINDS = (
    Kind(
        name="container-group-unknown",
        needles=("unable to find group",),
        pattern=r"unable to find group (?P<group>[\w-]+)(?:: no matching entries in group file)?",
        sample="docker: Error response from daemon: Unable to find group render: no matching entries in group file.",
        source="https://github.com/docker/cli/issues/4714",
        about="node",
    ),
    Kind(
        name="container-device-absent-on-host",
        needles=("error gathering device information while adding custom device", "Error: stat /dev/", "getting device info"),
        pattern=r"while adding custom device \\?\"(?P<device>[^\"\\]+)\\?\": (?P<why>no such file or directory|not a device node)"
        r"|Error: (?:stat|getting device info.*?) (?P<device2>/dev/(?:kfd|dri)\S*?)(?:: (?P<why2>no such file or directory))",
        sample=(
            'docker: Error response from daemon: error gathering device information while adding custom device "/dev/kfd": no such '
            "file or directory.",
            "Error: stat /dev/kfd: no such file or directory",
        ),
        source=_DOCKER,
        about="node",
    ),
    Kind(
        name="kfd-node-absent",
        needles=("/dev/kfd",),
        pattern=r"/dev/kfd\b(?:(?:'|\"|”)?(?: read-write)?:? (?:.{0,40}: )?no such file or directory|.{0,60}= -1 ENOENT"
        r"|.{0,20}(?:does not exist|not found))",
        sample=(
            "Unable to open /dev/kfd read-write: No such file or directory",
            "ls: cannot access '/dev/kfd': No such file or directory",
            'openat(AT_FDCWD, "/dev/kfd", O_RDWR|O_CLOEXEC) = -1 ENOENT (No such file or directory)',
        ),
        source="https://github.com/ROCm/rocminfo/blob/master/rocminfo.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="kfd-node-not-permitted",
        needles=("/dev/kfd",),
        pattern=r"/dev/kfd\b(?:(?:'|\")?(?: read-write)?:? operation not permitted|.{0,60}= -1 EPERM)",
        sample=(
            "Unable to open /dev/kfd read-write: Operation not permitted",
            'openat(AT_FDCWD, "/dev/kfd", O_RDWR|O_CLOEXEC) = -1 EPERM (Operation not permitted)',
        ),
        source="https://github.com/ROCm/rocminfo/blob/master/rocminfo.cc",
        about="node",
    ),
    Kind(
        name="rock-module-loaded",
        needles=("ROCk module",),
        pattern=r"ROCk module (?:version \S+ )?is loaded",
        sample=("ROCk module is loaded", "ROCk module version 6.10.5 is loaded"),
        source="https://github.com/ROCm/rocminfo/blob/master/rocminfo.cc",
        level="info",
        about="node",
    ),
    Kind(
        name="docker-gpus-flag",
        needles=("could not select device driver",),
        pattern=r"could not select device driver \\?\"(?P<driver>[^\"\\]*)\\?\" with capabilities: \[\[?(?P<capabilities>[\w ,]*)",
        sample='docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        source=_DOCKER,
        about="node",
    ),
    Kind(
        name="container-runtime-unknown",
        needles=("unknown or invalid runtime name", "Unknown runtime specified"),
        pattern=r"(?:unknown or invalid runtime name|Unknown runtime specified):? (?P<runtime>[\w-]+)",
        sample="docker: Error response from daemon: unknown or invalid runtime name: amd",
        source="https://instinct.docs.amd.com/projects/container-toolkit/en/latest/container-runtime/overview.html",
        about="node",
    ),
    Kind(
        name="nvidia-runtime-failed",
        needles=("nvidia-container-cli:", "nvidia-container-runtime"),
        pattern=r"nvidia-container-cli: (?P<why>.+)",
        sample="nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file",
        source="https://github.com/NVIDIA/nvidia-container-toolkit",
        about="node",
    ),
    Kind(
        name="container-cdi-unresolved",
        needles=("unresolvable CDI devices", "CDI device injection failed"),
        pattern=r"unresolvable CDI devices (?P<device>[\w./=,-]+)",
        sample="docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices amd.com/gpu=all",
        source="https://instinct.docs.amd.com/projects/container-toolkit/en/latest/container-runtime/overview.html",
        about="node",
    ),
    Kind(
        name="selinux-denied-gpu",
        needles=("avc:  denied", "avc: denied"),
        pattern=r"avc: +denied +\{ (?P<permission>[^}]+) \}.*?(?:path|name)=\"?(?P<path>(?:/dev/)?(?:kfd|dri|renderD\d+|card\d+)\S*?)\"?"
        r"(?= |$).*?tcontext=(?P<tcontext>\S+)",
        sample='type=AVC msg=audit(1700000000.1:42): avc:  denied  { read write } for  pid=4242 comm="python3" name="kfd" '
        'dev="devtmpfs" ino=512 scontext=system_u:system_r:container_t:s0:c1,c2 tcontext=system_u:object_r:hsa_device_t:s0 '
        "tclass=chr_file permissive=0",
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/security/selinux/avc.c",
        about="node",
    ),
    Kind(
        name="apparmor-denied-gpu",
        needles=('apparmor="DENIED"',),
        pattern=r"apparmor=\"DENIED\".*?profile=\"(?P<profile>[^\"]+)\".*?name=\"(?P<path>/dev/(?:kfd|dri)[^\"]*)\"",
        sample='audit: type=1400 audit(1700000000.1:42): apparmor="DENIED" operation="open" class="file" '
        'profile="snap.docker.dockerd" name="/dev/kfd" pid=4242 comm="rocminfo" requested_mask="rw" denied_mask="rw" fsuid=0 ouid=0',
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/security/apparmor/audit.c",
        about="node",
    ),
    Kind(
        name="numa-call-refused",
        needles=("set_mempolicy: Operation not permitted", "mbind: Operation not permitted", "get_mempolicy: Operation not permitted",
                 "move_pages: Operation not permitted"),
        pattern=r"(?P<call>set_mempolicy|get_mempolicy|mbind|move_pages): Operation not permitted",
        sample=("set_mempolicy: Operation not permitted", "get_mempolicy: Operation not permitted"),
        source="https://docs.docker.com/engine/security/seccomp/",
        about="node",
    ),
    Kind(
        name="apptainer-no-rocm",
        needles=("rocm files on this host", "rocm libraries on this host", "rocmliblist.conf"),
        pattern=r"Could not find any rocm (?:files|libraries) on this host|Unable to (?:find|capture) rocm",
        sample="WARNING: Could not find any rocm files on this host!",
        source="https://apptainer.org/docs/user/latest/gpu.html",
        level="notice",
        about="node",
    ),
    Kind(
        name="user-namespace-refused",
        needles=("create user namespace", "max_user_namespaces", "apparmor_restrict_unprivileged_userns", "cannot clone: Operation not"),
        pattern=r"(?:[Ff]ailed to create user namespace|cannot clone): (?P<why>.+)|(?P<sysctl>max_user_namespaces|"
        r"apparmor_restrict_unprivileged_userns)",
        sample="ERROR  : Failed to create user namespace: maximum number of user namespaces exceeded, check "
        "/proc/sys/user/max_user_namespaces",
        source="https://apptainer.org/docs/admin/main/user_namespace.html",
        about="node",
    ),
    Kind(
        name="container-rlimit-refused",
        needles=("setrlimit `RLIMIT", "error setting rlimit", "setting rlimit"),
        pattern=r"(?:setrlimit `?|error setting rlimit(?: type)? |setting rlimits? ?)(?P<limit>RLIMIT_\w+|\d+)?.*?(?i:operation not permitted)",
        sample="Error: crun: setrlimit `RLIMIT_MEMLOCK`: Operation not permitted: OCI permission denied",
        source="https://docs.podman.io/en/latest/markdown/podman-run.1.html",
        about="node",
    ),
    Kind(
        name="container-unhealthy",
        needles=("(unhealthy)", '"Status": "unhealthy"'),
        pattern=r"\(unhealthy\)|\"Status\": \"unhealthy\"",
        sample=("a1b2c3  rocm/vllm  \"vllm serve\"  2 hours ago  Up 2 hours (unhealthy)  8000/tcp  vllm",),
        source="https://docs.docker.com/reference/dockerfile/#healthcheck",
        level="notice",
        about="node",
    ),
)  # fmt: skip
