"""Reads that never return, as those of a driver that waits for dead firmware.

An opener is the only way: a FIFO or a device is refused by every reader of ours, and a plain file cannot hang. So only
readers in this process that were given the opener see it.
"""

from __future__ import annotations

import threading
from pathlib import Path


class Reads:
    """Holds up the opening of files below certain folders of one tree."""

    def __init__(self, root: Path) -> None:
        self._root = f"{root}/"
        self._folders: frozenset[str] = frozenset()
        self._free = threading.Event()
        self._free.set()

    def hang(self, folders: set[str]) -> None:
        """Hang in these folders; with none, let everybody go on."""
        self._folders = frozenset(folders)
        if folders:
            self._free.clear()
        else:
            self._free.set()

    def wait(self, path: str) -> None:
        """Return at once for a file that can be read, else when the folders are free again."""
        if not self._folders or not path.startswith(self._root):
            return
        inside = path[len(self._root) :]
        while any(inside.startswith(f"{folder}/") for folder in self._folders):
            self._free.wait()

    def release(self) -> None:
        """Let all readers go on."""
        self.hang(set())
