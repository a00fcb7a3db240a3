"""Container context: which runtime, and what the control group allows.

Source: /proc/self/cgroup, /.dockerenv, /run/.containerenv, /sys/fs/cgroup/{memory.max, memory.current, pids.max,
        cpuset.cpus.effective, memory.events} (version 2; version 1 under memory/, pids/)
Docs:   https://docs.kernel.org/admin-guide/cgroup-v2.html
Samples: ``0::/kubepods.slice/kubepods-burstable.slice/...``; ``max`` or a number of bytes; ``oom_kill 3``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.limits import is_own
from rocsteady.facts.numa import parse_cpu_list
from rocsteady.facts.parse_file import Folder, Malformed, parse_file, parse_int, parse_numbers, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Denied, ReadError

UNLIMITED = 1 << 60
"""Version 1 prints the largest page-aligned number of 64 bits for 'no limit'."""
RUNTIMES = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("containerd", "containerd"),
            ("lxc", "lxc"), ("garden", "garden"))  # fmt: skip


class Cgroup(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes and counts; None = no limit or not known (``limited`` tells)."""

    container: str | None
    memory_max: int | None = None
    memory_current: int | None = None
    pids_max: int | None = None
    cpus: tuple[int, ...] | None = None
    memory_events: dict[str, int] = {}


def parse_runtime(text: str) -> str | Malformed:
    """Runtime by the names it gives control groups."""
    for word, runtime in RUNTIMES:
        if re.search(rf"[:/.-]{word}", text):
            return runtime
    return Malformed(f"no container runtime in {shown(text)}")


def parse_limit(text: str) -> int | Malformed | None:
    """A number, or ``max``."""
    if text.strip() == "max":
        return None
    number = parse_int(text)
    return None if isinstance(number, int) and number >= UNLIMITED else number


def container_of(fs: HostFS) -> str | None:
    """The runtime that the tree was taken inside of; None = on the host, or not known."""
    for mark, runtime in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        try:
            if fs.exists(mark):
                return runtime
        except (Denied, ReadError):
            continue
    if not is_own(fs):
        return None
    found = parse_file(fs, "proc/self/cgroup", parse_runtime)
    return found if isinstance(found, str) else None


def read_cgroup(fs: HostFS) -> Cgroup:
    """Limits of the control group at the root of the tree's cgroup file system."""
    folder = Folder(fs, "sys/fs/cgroup")
    second = folder.parsed("memory.max", parse_limit)
    first = folder.parsed("memory/memory.limit_in_bytes", parse_limit) if second is None else None
    return Cgroup(
        container=container_of(fs),
        memory_max=second if second is not None else first,
        memory_current=folder.integer("memory.current"),
        pids_max=folder.parsed("pids.max", parse_limit),
        cpus=folder.parsed("cpuset.cpus.effective", parse_cpu_list),
        memory_events=folder.parsed("memory.events", parse_numbers) or {},
    )
