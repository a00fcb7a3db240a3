"""A store whose files lie one behind the other in one open file: archives, standard input, unpacked logs."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import BinaryIO

import msgspec

from rocsteady.hostfs.spool import slice_of
from rocsteady.hostfs.store import FileStat, Store, parts_of, resolve
from rocsteady.model import Absent, Denied, Failed, TimedOut

_FOLDER = FileStat("dir", 0, 0o755, 0, 0)
"""A folder that the archive does not name but that a member lies in."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One path: what it is, where its bytes begin, and the text of a link."""

    stat: FileStat
    offset: int = 0
    link: str = ""
    problem: str = ""


class IndexedStore:
    """Paths below one root; contents are slices of ``file``. ``file`` None holds folders and links only."""

    def __init__(self, file: BinaryIO | None, entries: Mapping[str, Entry]) -> None:
        self._file = file
        self._entries = dict(entries)
        self._children: dict[str, set[str]] = {"": set()}
        for path in list(self._entries):
            child = path
            while child:
                parent, _, name = child.rpartition("/")
                known = self._children.setdefault(parent, set())
                if name in known:
                    break
                known.add(name)
                child = parent

    def below(self, folder: str) -> IndexedStore:
        """The same files seen from ``folder`` as the root."""
        prefix = folder + "/"
        return IndexedStore(
            self._file, {p[len(prefix) :]: entry for p, entry in self._entries.items() if p.startswith(prefix)}
        )

    def stat(self, path: str) -> FileStat:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        entry = self._entries.get(key)
        if entry is not None:
            return entry.stat
        if key in self._children:
            return _FOLDER
        raise Absent(path)

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        known = self._children.get(resolve(self, path))
        if known is None:
            if self.stat(resolve(self, path)).kind == "dir":
                return []
            raise Absent(path)
        return sorted(known)

    def readlink(self, path: str) -> str:
        """See ``Store``."""
        entry = self._entries.get("/".join(parts_of(path)))
        if entry is None or entry.stat.kind != "link":
            raise Absent(path)
        return entry.link

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        key = resolve(self, path)
        entry = self._entries.get(key)
        if entry is None:
            if key in self._children:
                raise Failed(path, "not a regular file")
            raise Absent(path)
        if entry.problem:
            why, _, detail = entry.problem.partition(": ")
            error = {"denied": Denied, "timeout": TimedOut}.get(why, Failed)
            raise error(path, detail if error is not Failed else entry.problem)
        if entry.stat.kind != "file":
            raise Failed(path, "not a regular file")
        if self._file is None or entry.stat.size == 0:
            return io.BufferedReader(io.BytesIO())
        return slice_of(self._file, entry.offset, entry.stat.size)


class MergedStore:
    """Files of several stores under names of our own."""

    def __init__(self, files: Mapping[str, tuple[Store, str]]) -> None:
        self._files = dict(files)
        self._folders: dict[str, set[str]] = {"": set()}
        for path in self._files:
            child = path
            while child:
                parent, _, name = child.rpartition("/")
                self._folders.setdefault(parent, set()).add(name)
                child = parent

    def stat(self, path: str) -> FileStat:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        if key in self._files:
            store, inner = self._files[key]
            return store.stat(resolve(store, inner))
        if key in self._folders:
            return _FOLDER
        raise Absent(path)

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        if key not in self._folders:
            raise Absent(path)
        return sorted(self._folders[key])

    def readlink(self, path: str) -> str:
        """See ``Store``; there are no links between the names."""
        raise Absent(path)

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        if key not in self._files:
            raise Absent(path)
        store, inner = self._files[key]
        return store.open(inner)
