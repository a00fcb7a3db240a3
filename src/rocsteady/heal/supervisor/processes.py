"""Finds and ends processes by a mark in their environment, so that none is lost when the supervisor is killed.

Source: /proc/PID/environ, /proc/PID/stat. Signals go through a pidfd opened before the mark is read, so that a number that
was used again is never hit.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import NamedTuple

MARK = "ROCSTEADY_SUPERVISED"
"""Environment variable: ``<instance>/<worker>/<generation>``. Children inherit it."""


class Marked(NamedTuple):
    """A process with our mark."""

    pid: int
    worker: str
    generation: str
    leader: bool


def mark(instance: str, worker: str, generation: str) -> str:
    """Value of the variable."""
    return f"{instance}/{worker}/{generation}"


def find(instance: str, root: Path = Path("/proc")) -> list[Marked]:
    """All living processes of this instance."""
    found = []
    for entry in root.iterdir():
        if entry.name.isdecimal() and (one := _marked(int(entry.name), instance, root)) is not None:
            found.append(one)
    return sorted(found)


def _marked(pid: int, instance: str, root: Path = Path("/proc")) -> Marked | None:
    try:
        environ = (root / str(pid) / "environ").read_bytes()
    except OSError:
        return None  # it ended, or is somebody else's
    wanted = f"{MARK}={instance}/".encode()
    for variable in environ.split(b"\0"):
        if variable.startswith(wanted):
            worker, _, generation = variable[len(wanted) :].decode(errors="replace").partition("/")
            if not alive(pid, root):
                return None
            return Marked(pid, worker, generation, _session(pid, root) == pid)
    return None


def alive(pid: int, root: Path = Path("/proc")) -> bool:
    """It exists and is no zombie."""
    return _stat(pid, root)[:1] not in ([], ["Z"], ["X"])


def _stat(pid: int, root: Path) -> list[str]:
    try:
        text = (root / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _session(pid: int, root: Path) -> int:
    fields = _stat(pid, root)
    return int(fields[3]) if len(fields) > 3 else -1


def send(one: Marked, instance: str, number: signal.Signals) -> bool:
    """Signal a process, if it still is the one that was found."""
    try:
        handle = os.pidfd_open(one.pid)
    except OSError:
        return False
    try:
        if _marked(one.pid, instance) != one:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
        return True
    finally:
        os.close(handle)
