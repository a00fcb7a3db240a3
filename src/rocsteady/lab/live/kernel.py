"""The kernel's log of a living node: records as ``/dev/kmsg`` gives them, and the lines that a log daemon writes.

Docs: https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg
A device file cannot be made without root: ``dev/kmsg`` is a regular file that grows.
"""

from __future__ import annotations

from rocsteady.lab.live.disk import Disk

KMSG, FILE = "dev/kmsg", "var/log/dmesg"
ERROR_WORDS = ("*ERROR*", "timeout", "failed", "error", "lost")
ERROR, INFO = 3, 6
MICRO = 1_000_000


class KernelLog:
    """Collects lines of one step and appends them to both files."""

    def __init__(self, disk: Disk, boot: str) -> None:
        self._disk = disk
        self._number = 0
        self._waiting: list[tuple[float, str]] = []
        records: list[str] = []
        for line in boot.splitlines():
            head, _, text = line.partition("] ")
            records.append(self._record(float(head.strip("[ ")), text))
        disk.append(KMSG, "".join(records))

    def add(self, uptime: float, text: str) -> None:
        """One message, ``uptime`` in seconds since boot."""
        self._waiting.append((uptime, text))

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        self._waiting.sort(key=lambda entry: entry[0])
        self._disk.append(KMSG, "".join(self._record(at, text) for at, text in self._waiting))
        self._disk.append(FILE, "".join(f"[{at:12.6f}] {text}\n" for at, text in self._waiting))
        self._waiting.clear()

    def _record(self, uptime: float, text: str) -> str:
        level = ERROR if any(word in text for word in ERROR_WORDS) else INFO
        self._number += 1
        return f"{level},{self._number},{int(uptime * MICRO)},-;{text}\n"
