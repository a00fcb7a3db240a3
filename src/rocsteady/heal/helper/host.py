"""The host as the helper touches it: files below one root, and a fixed set of commands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Protocol

SECONDS = 120.0
"""Limit of one command: unloading the driver of eight GPUs takes tens of seconds."""
LARGEST = 1 << 16


class Host(Protocol):
    """Reads, writes and runs. Paths are absolute on the host. Errors are ``OSError``."""

    def read(self, path: str) -> str:
        """A small text file."""

    def write(self, path: str, text: str) -> None:
        """One write call, as sysfs wants it."""

    def names(self, path: str) -> list[str]:
        """Entries of a folder, sorted; empty where it does not exist or may not be read."""

    def link(self, path: str) -> str:
        """Where a link leads."""

    def replace(self, path: str, text: str) -> None:
        """A file of ours: complete or not there."""

    def remove(self, path: str) -> None:
        """Remove a file of ours; fine where it is gone."""

    def run(self, command: tuple[str, ...]) -> int:
        """Run and wait; the exit code."""

    def sync(self) -> None:
        """Write everything to disk."""


class LiveHost:
    """The machine itself, or a tree in tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def _at(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def read(self, path: str) -> str:
        """A small text file."""
        with self._at(path).open("rb") as file:
            return file.read(LARGEST).decode(errors="replace").strip()

    def write(self, path: str, text: str) -> None:
        """One write call."""
        handle = os.open(self._at(path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)

    def names(self, path: str) -> list[str]:
        """Entries of a folder."""
        try:
            return sorted(entry.name for entry in self._at(path).iterdir())
        except OSError:
            return []

    def link(self, path: str) -> str:
        """Where a link leads."""
        return str(self._at(path).readlink())

    def replace(self, path: str, text: str) -> None:
        """A file of ours, through a new name."""
        at = self._at(path)
        at.parent.mkdir(parents=True, exist_ok=True)
        new = at.with_name(f".{at.name}.new")
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(at)

    def remove(self, path: str) -> None:
        """Remove a file of ours."""
        self._at(path).unlink(missing_ok=True)

    def run(self, command: tuple[str, ...]) -> int:
        """Run and wait."""
        try:
            done = subprocess.run(
                command, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{command[0]} took more than {SECONDS:.0f} s") from error
        return done.returncode

    def sync(self) -> None:
        """Write everything to disk."""
        os.sync()
