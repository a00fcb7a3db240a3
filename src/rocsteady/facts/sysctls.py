"""Kernel settings that matter to GPU serving, by their sysctl name.

Source: /proc/sys/
Docs:   https://docs.kernel.org/admin-guide/sysctl/
Sample: /proc/sys/kernel/numa_balancing = ``1``.
"""

from __future__ import annotations

from rocsteady.facts.parse_file import Folder
from rocsteady.hostfs import HostFS

NAMES = (
    "fs.aio-max-nr", "fs.file-max", "fs.inotify.max_user_instances", "fs.inotify.max_user_watches", "fs.nr_open",
    "kernel.dmesg_restrict", "kernel.hung_task_timeout_secs", "kernel.kptr_restrict", "kernel.numa_balancing",
    "kernel.panic", "kernel.panic_on_oops", "kernel.perf_event_paranoid", "kernel.pid_max", "kernel.randomize_va_space",
    "kernel.shmall", "kernel.shmmax", "kernel.softlockup_panic", "kernel.threads-max",
    "kernel.unprivileged_userns_clone", "kernel.watchdog_thresh", "kernel.yama.ptrace_scope",
    "net.core.rmem_max", "net.core.somaxconn", "net.core.wmem_max", "net.ipv4.ip_local_port_range",
    "user.max_user_namespaces", "vm.compaction_proactiveness", "vm.dirty_background_ratio", "vm.dirty_ratio",
    "vm.max_map_count", "vm.min_free_kbytes", "vm.nr_hugepages", "vm.oom_kill_allocating_task",
    "vm.overcommit_memory", "vm.overcommit_ratio", "vm.panic_on_oom", "vm.swappiness", "vm.vfs_cache_pressure",
    "vm.zone_reclaim_mode",
)  # fmt: skip


def read_sysctls(fs: HostFS) -> tuple[dict[str, str], Folder]:
    """Name -> value as printed, spaces joined; and the folder, for evidence and gaps."""
    folder = Folder(fs, "proc/sys")
    values: dict[str, str] = {}
    for name in NAMES:
        value = folder.word(file_of(name))
        if value is not None:
            values[name] = " ".join(value.split())
    return values, folder


def file_of(name: str) -> str:
    """``vm.swappiness`` -> ``vm/swappiness``."""
    return name.replace(".", "/")
