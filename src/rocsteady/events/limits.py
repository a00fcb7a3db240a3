"""Limits of processes, users and the kernel that a server runs into."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

KINDS = (
    Kind(
        name="open-files-exhausted",
        needles=("Too many open files",),
        pattern=r"^(?!.*(?:inotify|fsnotify|directory watch|file watcher))(?P<what>.*?)too many open files(?! in system)"
        r"(?:: '(?P<path>[^']+)')?",
        sample=(
            "[BuildOcl] Fatal error: cannot open file, Too many open files",
            "OSError: [Errno 24] Too many open files: '/dev/shm/sem.x'",
            "accept4: Too many open files",
        ),
        source="https://man7.org/linux/man-pages/man2/getrlimit.2.html",
        about="node",
    ),
    Kind(
        name="open-files-system",
        needles=("open files in system", "file-max limit"),
        pattern=r"Too many open files in system|VFS: file-max limit (?P<limit>\d+) reached",
        sample=("VFS: file-max limit 1620000 reached", "OSError: [Errno 23] Too many open files in system"),
        source="https://docs.kernel.org/admin-guide/sysctl/fs.html",
        about="node",
    ),
    Kind(
        name="miopen-temporary-hsaco",
        needles=("miopen-interim-hsaco",),
        pattern=r"miopen-interim-hsaco-\S+ \(deleted\)",
        sample="/tmp/miopen-interim-hsaco-4276-c9ab-a276-246d/file (deleted)",
        source="https://github.com/ROCm/MIOpen/issues/2911",
        level="notice",
        about="node",
    ),
    Kind(
        name="inotify-exhausted",
        needles=("inotify", "fsnotify", "directory watch"),
        pattern=r"(?:inotify|fsnotify|directory watch|file watcher).{0,80}(?:too many open files|no space left on device|limit (?:of \w+ )?reached)"
        r"|user limit (?:of inotify \w+|on the total number of inotify watches)",
        sample=(
            "failed to create fsnotify watcher: too many open files",
            "Failed to allocate directory watch: Too many open files",
            "OSError: [Errno 28] inotify watch limit reached",
        ),
        source="https://docs.kernel.org/admin-guide/sysctl/fs.html",
        about="node",
    ),
    Kind(
        name="threads-exhausted",
        needles=(
            "can't start new thread",
            "pthread_create failed",
            "Resource temporarily unavailable",
            "unable to create new native thread",
        ),
        pattern=r"can't start new thread|pthread_create failed|fork: (?:retry: )?(?:Resource temporarily unavailable)"
        r"|BlockingIOError: \[Errno 11\] Resource temporarily unavailable|thread.{0,40}Resource temporarily unavailable"
        r"|RLIMIT_NPROC (?P<nproc>\d+) current|clone(?:3)?\(?.{0,20}EAGAIN",
        more=r"RLIMIT_NPROC (?P<nproc>\d+) current",
        more_limit=2,
        sample=(
            "RuntimeError: can't start new thread",
            "OpenBLAS blas_thread_init: pthread_create failed for thread 12 of 64: Resource temporarily unavailable",
            "bash: fork: retry: Resource temporarily unavailable",
        ),
        source="https://man7.org/linux/man-pages/man3/pthread_create.3.html",
        about="node",
    ),
    Kind(
        name="pids-cgroup-full",
        needles=("rejected by pids controller",),
        pattern=r"fork rejected by pids controller in (?P<cgroup>\S+)",
        sample="[99.1] cgroup: fork rejected by pids controller in /system.slice/docker-0a1b2c.scope",
        source="https://docs.kernel.org/admin-guide/cgroup-v2.html",
        about="node",
    ),
    Kind(
        name="mlock-refused",
        needles=("RLIMIT_MEMLOCK", "failed to mlock", "memlock", "max locked memory", "ulimit -l"),
        pattern=r"failed to mlock (?P<bytes>\d+)-byte buffer.*|Try increasing RLIMIT_MEMLOCK"
        r"|(?:cannot|failed|unable|error).{0,80}(?:max locked memory|ulimit -l).{0,40}unlimited|(?:max locked memory|memlock).{0,60}(?:too (?:low|small)|exceed)",
        more=r"Try increasing RLIMIT_MEMLOCK",
        more_limit=2,
        sample="warning: failed to mlock 4370432-byte buffer (after previously locking 0 bytes): Cannot allocate memory",
        source="https://github.com/utilityai/llama-cpp-rs/issues/663",
        about="node",
    ),
    Kind(
        name="map-count-exhausted",
        needles=("max_map_count", "map areas vm.max_map"),
        pattern=r"max_map_count.{0,60}(?:too low|exceed|increase|reached|at least)|(?:exceed\w*|increase|reached).{0,40}max_map_count",
        sample="mmap failed: Cannot allocate memory; the process has 65530 mappings, increase vm.max_map_count",
        source="https://docs.kernel.org/admin-guide/sysctl/vm.html",
        about="node",
    ),
    Kind(
        name="shm-exhausted",
        needles=(
            "/dev/shm",
            "out of shared memory",
            "shared memory limit",
            "unable to allocate shared memory",
            "shared memory object",
        ),
        pattern=r"(?:no space left on device|\[Errno 28\]).{0,40}/dev/shm(?!/nccl)|/dev/shm(?!/nccl).{0,60}no space left on device"
        r"|workers are out of shared memory|raise your shared memory limit|unable to (?:write to|resize|allocate|open) shared memory.{0,120}"
        r"(?:no space left|cannot allocate memory|\(28\))|exceeds memory available in /dev/shm",
        sample=(
            "OSError: [Errno 28] No space left on device: '/dev/shm/psm_a1b2c3'",
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm). It is possible "
            "that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            "store_runner.cc:83: System memory request exceeds memory available in /dev/shm. The request is for 10200547328 bytes",
        ),
        source="https://docs.docker.com/reference/cli/docker/container/run/#shm-size",
        about="node",
    ),
    Kind(
        name="bus-error",
        needles=("Bus error",),
        pattern=r"\bBus error\b|signal: Bus error|SIGBUS",
        sample=(
            "Bus error (core dumped)",
            "RuntimeError: DataLoader worker (pid 4211) is killed by signal: Bus error.",
        ),
        source="https://man7.org/linux/man-pages/man7/signal.7.html",
        about="node",
    ),
    Kind(
        name="ray-shm-small",
        needles=("instead of /dev/shm because",),
        pattern=r"object store is using (?P<path>\S+) instead of /dev/shm because /dev/shm has only (?P<bytes>\d+) bytes",
        sample="WARNING services.py:2070 -- WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only "
        "67108864 bytes available.",
        source="https://docs.ray.io/en/latest/ray-core/objects.html",
        level="notice",
        about="node",
    ),
    Kind(
        name="conntrack-full",
        needles=("nf_conntrack: table full", "nf_conntrack: nf_conntrack: table full"),
        pattern=r"nf_conntrack: table full, dropping packet",
        sample="[99.1] nf_conntrack: nf_conntrack: table full, dropping packet",
        source="https://docs.kernel.org/networking/nf_conntrack-sysctl.html",
        about="node",
    ),
    Kind(
        name="listen-backlog-full",
        needles=("Possible SYN flooding on port",),
        pattern=r"Possible SYN flooding on port (?:\S*[.:])?(?P<port>\d+)\. (?P<what>Sending cookies|Dropping request)",
        sample="[99.1] TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:8000. Sending cookies.",
        source="https://docs.kernel.org/networking/ip-sysctl.html",
        level="notice",
        about="node",
    ),
)
