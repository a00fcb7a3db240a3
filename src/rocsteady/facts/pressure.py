"""Pressure stall information: share of time that tasks waited for memory, CPU or I/O.

Source: /proc/pressure/{cpu, io, memory}
Docs:   https://docs.kernel.org/accounting/psi.html
Sample: ``some avg10=0.00 avg60=0.00 avg300=0.00 total=12345``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, shown
from rocsteady.hostfs import HostFS

KINDS = ("cpu", "io", "memory")
LINE = re.compile(
    r"^(some|full) avg10=(\d{1,3}\.\d{2}) avg60=(\d{1,3}\.\d{2}) avg300=(\d{1,3}\.\d{2}) total=(\d{1,20})$",
    re.MULTILINE,
)


class Stall(msgspec.Struct, frozen=True):
    """Percent of time over 10, 60 and 300 seconds; ``total`` in microseconds since boot."""

    avg10: float
    avg60: float
    avg300: float
    total: int


def parse_pressure(text: str) -> dict[str, Stall] | Malformed:
    """``some`` and, except for CPU on old kernels, ``full``."""
    stalls = {m[0]: Stall(float(m[1]), float(m[2]), float(m[3]), int(m[4])) for m in LINE.findall(text)}
    return stalls if stalls else Malformed(f"lines 'some avg10=...' were wanted, found {shown(text)}")


def read_pressure(fs: HostFS) -> dict[str, dict[str, Stall]]:
    """Resource -> some/full -> stall; a kernel without PSI gives an empty answer."""
    folder = Folder(fs, "proc/pressure")
    stalls = {kind: folder.parsed(kind, parse_pressure) for kind in KINDS}
    return {kind: stall for kind, stall in stalls.items() if stall}
