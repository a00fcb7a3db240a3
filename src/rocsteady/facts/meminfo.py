"""Memory of the machine.

Source: /proc/meminfo, /sys/kernel/mm/transparent_hugepage/enabled, /sys/kernel/mm/hugepages/*
Docs:   https://docs.kernel.org/filesystems/proc.html
Samples: ``MemTotal:       131900416 kB``, ``HugePages_Total:       0``, ``always [madvise] never``.
"""

from __future__ import annotations

import re

from rocsteady.facts.parse_file import Folder, Malformed, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

MEMINFO = "proc/meminfo"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
LINE = re.compile(r"^([A-Za-z_()0-9]{1,40}):[ \t]*(\d{1,18})( kB)?[ \t]*$", re.MULTILINE)
KIB = 1024


def parse_meminfo(text: str) -> dict[str, int] | Malformed:
    """Name -> bytes, or a page count where the line has no unit."""
    values = {name: int(number) * (KIB if unit else 1) for name, number, unit in LINE.findall(text)}
    return values if values else Malformed(f"lines 'Name: N kB' were wanted, found {shown(text)}")


def parse_bracketed(text: str) -> str | Malformed:
    """The chosen word of a list: ``always [madvise] never`` -> ``madvise``."""
    match = re.search(r"\[([\w+-]+)\]", text)
    return match[1] if match else Malformed(f"a word in brackets was wanted, found {shown(text)}")


def read_meminfo(fs: HostFS) -> dict[str, int] | Gap:
    """All lines."""
    return parse_file(fs, MEMINFO, parse_meminfo)


def read_transparent_hugepages(fs: HostFS) -> str | Gap:
    """always, madvise or never."""
    return parse_file(fs, THP, parse_bracketed)


def read_hugepage_pools(fs: HostFS, node: int | None = None) -> dict[int, dict[str, int]]:
    """Page size in KiB -> ``nr_hugepages``, ``free_hugepages``, ...; of one NUMA node where given."""
    base = "sys/kernel/mm/hugepages" if node is None else f"sys/devices/system/node/node{node}/hugepages"
    folder = Folder(fs, base)
    pools: dict[int, dict[str, int]] = {}
    for name in folder.names():
        match = re.fullmatch(r"hugepages-(\d{1,9})kB", name)
        if match:
            counts = {file: folder.integer(f"{name}/{file}") for file in folder.names(name)}
            pools[int(match[1])] = {file: count for file, count in counts.items() if count is not None}
    return pools
