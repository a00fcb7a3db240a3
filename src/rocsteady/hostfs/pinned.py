"""A ``HostFS`` for reading the same pseudo-files again and again: it remembers where a folder really is.

Following the links of sysfs component by component costs more than the read. A folder is resolved once, inside the
root as always; when a file in it is gone (a GPU was unplugged, the driver reloaded) it is resolved anew. A file is
checked to be a regular one when it is first opened at its place.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from rocsteady.hostfs.fs import TEXT_LIMIT, HostFS
from rocsteady.hostfs.store import DirectoryStore, Opener, open_regular, parts_of, resolve, wrapped
from rocsteady.model import Failed, TooLarge

FIRST_READ = 64 << 10
"""More than any sysfs attribute holds, so one read tells all."""
Content = bytes
"""``bytes`` is a method of the class below."""
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ESTALE)
MOST_FOLDERS = 50_000
"""A node with a thousand processes has a few ten thousand folders; beyond that all are forgotten."""


class PinnedFS(HostFS):
    """Reads below ``root`` with ``opener``; as ``HostFS`` otherwise."""

    def __init__(self, root: Path | str, opener: Opener = open_regular) -> None:
        super().__init__(DirectoryStore(Path(root), opener), live=False)
        self._root = str(root).rstrip("/")
        self._inside = os.path.realpath(root).rstrip("/") + "/"
        self._opener = opener
        self._folders: dict[str, str] = {}
        self._regular: set[str] = set()

    def bytes(self, path: str, limit: int = TEXT_LIMIT) -> Content:
        """Whole file in one read."""
        folder, _, name = path.rpartition("/")
        known = folder in self._folders
        try:
            return self._read(folder, name, path, limit)
        except OSError as error:
            if not known or error.errno not in GONE:
                raise wrapped(path, error) from error
        self._folders.pop(folder, None)
        try:
            return self._read(folder, name, path, limit)
        except OSError as error:
            raise wrapped(path, error) from error

    def _read(self, folder: str, name: str, path: str, limit: int) -> Content:
        full = f"{self._place(folder)}/{name}"
        try:
            fd = self._opener(full)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            full = self._full(self.real(path))
            fd = self._opener(full)
        try:
            if full not in self._regular:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise Failed(path, "not a regular file")
                self._regular.add(full)
            data = os.read(fd, min(FIRST_READ, limit + 1))
            if len(data) == FIRST_READ:
                parts = [data]
                size = len(data)
                while size <= limit and (part := os.read(fd, 1 << 20)):
                    parts.append(part)
                    size += len(part)
                data = b"".join(parts)
        finally:
            os.close(fd)
        if len(data) > limit:
            raise TooLarge(path, f"larger than {limit} bytes")
        return data

    def text(self, path: str, limit: int = TEXT_LIMIT) -> str:
        """Whole file as text, invalid bytes replaced."""
        return self.bytes(path, limit).decode(errors="replace").replace("\0", "")

    def names(self, path: str) -> list[str]:
        """Entries of a directory, sorted."""
        known = path in self._folders
        try:
            return sorted(os.listdir(self._place(path)))
        except OSError as error:
            if not known or error.errno not in GONE:
                raise wrapped(path, error) from error
        self._folders.pop(path, None)
        try:
            return sorted(os.listdir(self._place(path)))
        except OSError as error:
            raise wrapped(path, error) from error

    def _place(self, folder: str) -> str:
        place = self._folders.get(folder)
        if place is None:
            if len(self._folders) >= MOST_FOLDERS:
                self.forget()
            place = self._folders[folder] = self._full(self.real(folder))
        return place

    def real(self, path: str) -> str:
        """The path with all links followed, inside the root.

        The kernel follows links faster than we can; where its answer is outside the root (an absolute link in a tree
        of another machine) ours is taken.
        """
        try:
            fd = os.open(f"{self._root}/{path}", os.O_PATH | os.O_CLOEXEC)
        except (OSError, ValueError):
            return resolve(self.store, path)
        try:
            there = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return resolve(self.store, path)
        finally:
            os.close(fd)
        if there.startswith(self._inside) and not there.endswith(" (deleted)") and ".." not in path:
            return there[len(self._inside) :]
        return resolve(self.store, path)

    def _full(self, real: str) -> str:
        return "/".join((self._root, *parts_of(real)))

    def forget(self) -> None:
        """Drop all that is remembered."""
        self._folders.clear()
        self._regular.clear()
