"""``HostFS``: one way to read a node, whether it is this machine, a snapshot, a sosreport or loose files."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from rocsteady.hostfs.store import DirectoryStore, FileStat, Store, resolve, wrapped
from rocsteady.model import Absent, Failed, ReadError

TEXT_LIMIT = 64 * 1024 * 1024
"""No pseudo-file or command output that we parse whole is near this; logs are streamed instead."""


class Output(msgspec.Struct, frozen=True):
    """What a read-only command printed, live or recorded. ``path`` is the place to quote."""

    path: str
    text: str


class HostFS:
    """Reads below one root. Every method raises a ``ReadError`` with the path, and nothing else.

    ``live`` is True only for this machine: then ``command`` may run a read-only command.
    """

    def __init__(self, root: Path | str | Store = "/", *, live: bool | None = None, label: str = "") -> None:
        store = DirectoryStore(Path(root)) if isinstance(root, (str, Path)) else root
        self.store: Store = store
        self.live = (str(root) == "/") if live is None else live
        self.label = label

    def bytes(self, path: str, limit: int = TEXT_LIMIT) -> bytes:
        """Whole file in one read; ``Failed`` when it is larger than ``limit``."""
        with self.store.open(path) as handle:
            try:
                data = _read_up_to(handle, limit + 1)
            except OSError as error:
                raise wrapped(path, error) from error
        if len(data) > limit:
            raise Failed(path, f"larger than {limit} bytes")
        return data

    def text(self, path: str, limit: int = TEXT_LIMIT) -> str:
        """Whole file as text: UTF-8 with invalid bytes replaced, NUL padding stripped."""
        return self.bytes(path, limit).decode("utf-8", "replace").replace("\0", "")

    def line(self, path: str) -> str:
        """A one-line pseudo-file without its line end."""
        return self.text(path).strip()

    def open(self, path: str) -> BinaryIO:
        """Stream a regular file."""
        return self.store.open(path)

    def stat(self, path: str) -> FileStat:
        """Stat, links followed."""
        return self.store.stat(resolve(self.store, path))

    def lstat(self, path: str) -> FileStat:
        """Stat, a final link not followed."""
        folder, _, name = path.rpartition("/")
        parent = resolve(self.store, folder) if folder else ""
        return self.store.stat(f"{parent}/{name}" if parent else name)

    def link(self, path: str) -> str:
        """The text of a link."""
        folder, _, name = path.rpartition("/")
        parent = resolve(self.store, folder) if folder else ""
        return self.store.readlink(f"{parent}/{name}" if parent else name)

    def real(self, path: str) -> str:
        """The path with all links followed, inside the root."""
        return resolve(self.store, path)

    def names(self, path: str) -> list[str]:
        """Entries of a directory, sorted."""
        return self.store.names(path)

    def exists(self, path: str) -> bool:
        """Whether the path can be stat'ed. Denied counts as not known, so it raises."""
        try:
            self.stat(path)
        except Absent:
            return False
        return True

    def is_dir(self, path: str) -> bool:
        """Whether the path is a directory that can be seen."""
        try:
            return self.stat(path).kind == "dir"
        except ReadError:
            return False

    def glob(self, pattern: str) -> list[str]:
        """Paths that match, component by component; unreadable folders match nothing."""
        found = [""]
        for part in pattern.strip("/").split("/"):
            found = [f"{base}/{name}" if base else name for base in found for name in self._matching(base, part)]
        return found

    def _matching(self, base: str, part: str) -> list[str]:
        if not any(c in part for c in "*?["):
            try:
                self.lstat(f"{base}/{part}" if base else part)
            except ReadError:
                return []
            return [part]
        try:
            return [n for n in self.names(base) if fnmatch.fnmatchcase(n, part)]
        except ReadError:
            return []

    def walk(self, top: str = "", limit: int = 100_000) -> Iterator[str]:
        """Regular files below ``top``, links not followed, in sorted order; stops at ``limit`` files."""
        todo = [top]
        seen = 0
        while todo:
            folder = todo.pop()
            try:
                names = self.names(folder)
            except ReadError:
                continue
            below: list[str] = []
            for name in names:
                path = f"{folder}/{name}" if folder else name
                try:
                    kind = self.lstat(path).kind
                except ReadError:
                    continue
                if kind == "dir":
                    below.append(path)
                elif kind == "file":
                    yield path
                    seen += 1
                    if seen >= limit:
                        return
            todo.extend(reversed(below))


def _read_up_to(handle: BinaryIO, limit: int) -> bytes:
    """Read until the end or the limit. sysfs wants one large read; files on disk may need several."""
    chunks: list[bytes] = []
    got = 0
    while got < limit:
        chunk = handle.read(min(limit - got, 1 << 20))
        if not chunk:
            break
        chunks.append(chunk)
        got += len(chunk)
    return b"".join(chunks)
