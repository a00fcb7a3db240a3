"""Limits and identity of one process.

Source: /proc/self/limits, /proc/self/status
Docs:   https://docs.kernel.org/filesystems/proc.html
Samples: ``Max locked memory         8388608              8388608              bytes``;
         ``Groups:	44 109``, ``Uid:	1000	1000	1000	1000``.
In a tree of another machine ``proc/self`` is a link to a process of this one and is not read.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

LIMITS, STATUS = "proc/self/limits", "proc/self/status"
LINE = re.compile(
    r"^Max ([a-z -]{1,30}?) {2,}(unlimited|\d{1,20}) +(unlimited|\d{1,20})(?: +(\w+))?[ \t]*$", re.MULTILINE
)
NAMES = {
    "cpu time": "cpu", "file size": "fsize", "data size": "data", "stack size": "stack", "core file size": "core",
    "resident set": "rss", "processes": "nproc", "open files": "nofile", "locked memory": "memlock",
    "address space": "as", "pending signals": "sigpending", "msgqueue size": "msgqueue", "nice priority": "nice",
    "realtime priority": "rtprio", "file locks": "locks",
}  # fmt: skip


class Limit(msgspec.Struct, frozen=True):
    """Soft and hard limit; None is unlimited. Bytes where the kernel says bytes."""

    soft: int | None
    hard: int | None


class ProcessIdentity(msgspec.Struct, frozen=True):
    """Effective user and all groups."""

    uid: int
    gids: tuple[int, ...]


def parse_limits(text: str) -> dict[str, Limit] | Malformed:
    """Names as in limits.conf: nofile, memlock, nproc, ..."""
    limits = {NAMES[n]: Limit(_number(s), _number(h)) for n, s, h, _ in LINE.findall(text) if n in NAMES}
    return limits if limits else Malformed(f"lines 'Max ...' were wanted, found {shown(text)}")


def _number(word: str) -> int | None:
    return None if word == "unlimited" else int(word)


def parse_identity(text: str) -> ProcessIdentity | Malformed:
    """Second number of Uid and Gid is the effective one."""
    found = {
        key: re.search(rf"^{key}:[ \t]*([\d \t]{{0,4000}})$", text, re.MULTILINE) for key in ("Uid", "Gid", "Groups")
    }
    uid, gid, groups = found["Uid"], found["Gid"], found["Groups"]
    if uid is None or gid is None or len(uid[1].split()) < 2 or len(gid[1].split()) < 2:
        return Malformed(f"Uid: and Gid: were wanted, found {shown(text)}")
    gids = dict.fromkeys([int(gid[1].split()[1]), *(int(g) for g in (groups[1] if groups else "").split())])
    return ProcessIdentity(int(uid[1].split()[1]), tuple(gids))


def is_own(fs: HostFS) -> bool:
    """Whether ``proc/self`` is of the machine that the tree shows: live, or recorded as a directory."""
    try:
        return fs.live or fs.lstat("proc/self").kind == "dir"
    except ReadError:
        return False


def read_limits(fs: HostFS) -> dict[str, Limit] | Gap:
    """Limits of the process that took the input."""
    return parse_file(fs, LIMITS, parse_limits) if is_own(fs) else Gap(LIMITS, "absent")


def read_identity(fs: HostFS) -> ProcessIdentity | Gap:
    """User and groups of the process that took the input."""
    return parse_file(fs, STATUS, parse_identity) if is_own(fs) else Gap(STATUS, "absent")
