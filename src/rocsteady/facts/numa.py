"""NUMA nodes: memory, CPUs and distances.

Source: /sys/devices/system/node/node<N>/{meminfo, cpulist, distance, numastat}
Docs:   https://docs.kernel.org/admin-guide/mm/numaperf.html
Samples: ``Node 0 MemTotal:       131900416 kB``, ``0-63,128-191``, ``10 32``, ``numa_miss 0``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, gap_of, parse_numbers, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

NODES = "sys/devices/system/node"
LINE = re.compile(r"^Node \d{1,4} ([A-Za-z_()0-9]{1,40}):[ \t]*(\d{1,18})( kB)?[ \t]*$", re.MULTILINE)
KIB = 1024
MOST_CPUS = 1 << 16
"""A list that names more CPUs than Linux can have (NR_CPUS is 8192 at most) is not a CPU list."""


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes by name for ``memory``, page counts for ``statistics``."""

    id: int
    memory: dict[str, int]
    cpus: tuple[int, ...] | None
    distances: tuple[int, ...] | None
    statistics: dict[str, int]


def parse_cpu_list(text: str) -> tuple[int, ...] | Malformed:
    """``0-2,8`` -> (0, 1, 2, 8)."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if match is None:
            return () if not text.strip() else Malformed(f"a CPU list was wanted, found {shown(text)}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first + len(cpus) > MOST_CPUS:
            return Malformed("more CPUs than a kernel can have")
        cpus.extend(range(first, last + 1))
    return tuple(cpus)


def parse_node_memory(text: str) -> dict[str, int] | Malformed:
    """Name -> bytes, or a page count where the line has no unit."""
    values = {name: int(number) * (KIB if unit else 1) for name, number, unit in LINE.findall(text)}
    return values if values else Malformed(f"lines 'Node N Name: M kB' were wanted, found {shown(text)}")


def parse_distances(text: str) -> tuple[int, ...] | Malformed:
    """Distance to each node; 10 is the node itself."""
    words = text.split()
    if not words or not all(w.isascii() and w.isdigit() and len(w) < 6 for w in words):
        return Malformed(f"numbers were wanted, found {shown(text)}")
    return tuple(int(w) for w in words)


def read_numa(fs: HostFS) -> tuple[NumaNode, ...] | Gap:
    """All nodes by number."""
    try:
        names = fs.names(NODES)
    except ReadError as error:
        return gap_of(NODES, error)
    numbers = sorted(int(n[4:]) for n in names if re.fullmatch(r"node\d{1,4}", n))
    nodes: list[NumaNode] = []
    for number in numbers:
        folder = Folder(fs, f"{NODES}/node{number}")
        nodes.append(
            NumaNode(
                id=number,
                memory=folder.parsed("meminfo", parse_node_memory) or {},
                cpus=folder.parsed("cpulist", parse_cpu_list, empty=False),
                distances=folder.parsed("distance", parse_distances),
                statistics=folder.parsed("numastat", parse_numbers) or {},
            )
        )
    return tuple(nodes)
