"""Mounted file systems.

Source: /proc/self/mounts, else /proc/mounts, else /proc/1/mounts
Docs:   https://man7.org/linux/man-pages/man5/fstab.5.html
Sample: ``tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=65536k 0 0``; a space in a name is ``\\040``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.limits import is_own
from rocsteady.facts.parse_file import Malformed, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

SIZE = re.compile(r"(\d{1,18})([kKmMgG%]?)")
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One mount; ``size`` in bytes where the options state one (tmpfs)."""

    device: str
    place: str
    kind: str
    options: tuple[str, ...]
    size: int | None
    line: int


def parse_mounts(text: str) -> tuple[Mount, ...] | Malformed:
    """All lines, in mount order: a later one hides an earlier one at the same place."""
    mounts: list[Mount] = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split()
        if len(parts) >= 4:
            options = tuple(parts[3].split(","))
            mounts.append(
                Mount(
                    device=unescaped(parts[0]), place=unescaped(parts[1]), kind=parts[2], options=options,
                    size=_size(options), line=number,
                )
            )  # fmt: skip
    return tuple(mounts) if mounts else Malformed(f"lines of a mount table were wanted, found {shown(text)}")


def unescaped(name: str) -> str:
    """Octal escapes taken back."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda m: chr(int(m[1], 8)), name)


def _size(options: tuple[str, ...]) -> int | None:
    for option in options:
        match = SIZE.fullmatch(option.removeprefix("size=")) if option.startswith("size=") else None
        if match and match[2] != "%":
            return int(match[1]) * UNITS[match[2].lower()]
    return None


def mounts_path(fs: HostFS) -> str:
    """The place that shows the tree's own mounts."""
    return "proc/self/mounts" if is_own(fs) and fs.live else "proc/mounts"


def read_mounts(fs: HostFS) -> tuple[str, tuple[Mount, ...]] | Gap:
    """Path that was read, and the mounts."""
    gap = Gap("proc/mounts", "absent")
    for path in (mounts_path(fs), "proc/1/mounts"):
        answer = parse_file(fs, path, parse_mounts)
        if not isinstance(answer, Gap):
            return path, answer
        gap = answer
    return gap
