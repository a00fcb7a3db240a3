"""Where bytes come from: a directory, an unpacked archive index, or single files.

A store answers questions about paths below one root. Paths are relative, '/'-separated, without a
leading slash. Nothing here follows a link out of the root: an absolute target is taken as relative to
the root and '..' stops at it, as chroot would. Only regular files are opened, never a FIFO or device.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import msgspec

from rocsteady.model import Absent, Denied, Failed

Kind = Literal["file", "dir", "link", "other"]
MAX_LINKS = 40
"""As many as Linux follows (MAXSYMLINKS, include/linux/namei.h) before it says ELOOP."""

Opener = Callable[[str], int]
"""Absolute path -> file descriptor. A parameter so that a test or a lab can make reads slow or fail."""


class FileStat(msgspec.Struct, frozen=True):
    """What is known about a path without reading it. ``mode`` holds permission bits only."""

    kind: Kind
    size: int
    mode: int
    uid: int
    gid: int
    rdev: int = 0


class Store(Protocol):
    """The questions every source of files can answer."""

    def stat(self, path: str) -> FileStat:
        """Stat without following a final link; raises ReadError."""
        ...

    def names(self, path: str) -> list[str]:
        """Entries of a directory, sorted; raises ReadError."""
        ...

    def readlink(self, path: str) -> str:
        """The text of a link; raises ReadError."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a regular file for reading; raises ReadError."""
        ...


def parts_of(path: str) -> list[str]:
    """Split into components; '.', empty ones and '..' above the root vanish."""
    out: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if out:
                out.pop()
            continue
        out.append(part)
    return out


def resolve(store: Store, path: str) -> str:
    """Follow links inside the root; raises ReadError when a component is missing or links loop."""
    todo = list(reversed([p for p in path.split("/") if p not in ("", ".")]))
    done: list[str] = []
    followed = 0
    while todo:
        part = todo.pop()
        if part == "..":
            if done:
                done.pop()
            continue
        here = "/".join([*done, part])
        if store.stat(here).kind != "link":
            done.append(part)
            continue
        followed += 1
        if followed > MAX_LINKS:
            raise Failed(path, "too many levels of links")
        target = store.readlink(here)
        if target.startswith("/"):
            done = []
        todo.extend(reversed([p for p in target.split("/") if p not in ("", ".")]))
    return "/".join(done)


def open_regular(path: str) -> int:
    """Open without following a final link and without blocking."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


class DirectoryStore:
    """A directory of this machine; with root '/' the machine itself."""

    def __init__(self, root: Path, opener: Opener = open_regular) -> None:
        self.root = root
        self._opener = opener

    def _full(self, path: str) -> str:
        return os.path.join(self.root, *parts_of(path))

    def below(self, folder: str) -> DirectoryStore:
        """The same files seen from ``folder`` as the root; a link there is not followed out of this root."""
        return DirectoryStore(Path(self._full(resolve(self, folder))), self._opener)

    def stat(self, path: str) -> FileStat:
        """See ``Store``."""
        try:
            st = os.lstat(self._full(path))
        except (OSError, ValueError) as error:
            raise wrapped(path, error) from error
        return stat_of(st)

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        try:
            return sorted(os.listdir(self._full(resolve(self, path))))
        except (OSError, ValueError) as error:
            raise wrapped(path, error) from error

    def readlink(self, path: str) -> str:
        """See ``Store``."""
        try:
            return os.readlink(self._full(path))
        except (OSError, ValueError) as error:
            raise wrapped(path, error) from error

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        try:
            fd = self._opener(self._full(resolve(self, path)))
        except (OSError, ValueError) as error:
            raise wrapped(path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Failed(path, "not a regular file")
            os.set_blocking(fd, True)
            return os.fdopen(fd, "rb", buffering=0)
        except BaseException:
            os.close(fd)
            raise


class FilesStore:
    """Single files by a display name, e.g. the logs named on a command line."""

    def __init__(self, files: dict[str, Path]) -> None:
        self._files = files

    def stat(self, path: str) -> FileStat:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        if key in self._files:
            try:
                return stat_of(os.stat(self._files[key]))
            except (OSError, ValueError) as error:
                raise wrapped(path, error) from error
        if not key or any(name.startswith(key + "/") for name in self._files):
            return FileStat("dir", 0, 0o555, 0, 0)
        raise Absent(path)

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        return children(self._files, "/".join(parts_of(path)))

    def readlink(self, path: str) -> str:
        """See ``Store``; single files have no links."""
        raise Absent(path)

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        try:
            source = self._files["/".join(parts_of(path))]
        except KeyError:
            raise Absent(path) from None
        try:
            fd = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise wrapped(path, error) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise Failed(path, "not a regular file")
        return os.fdopen(fd, "rb", buffering=0)


def children(paths: dict[str, Path] | Iterator[str], folder: str) -> list[str]:
    """Names directly below ``folder`` in a flat listing."""
    prefix = f"{folder}/" if folder else ""
    return sorted({p[len(prefix) :].split("/", 1)[0] for p in paths if p.startswith(prefix) and p != prefix})


def stat_of(st: os.stat_result) -> FileStat:
    """Turn the kernel's answer into ours."""
    kind: Kind = "other"
    if stat.S_ISREG(st.st_mode):
        kind = "file"
    elif stat.S_ISDIR(st.st_mode):
        kind = "dir"
    elif stat.S_ISLNK(st.st_mode):
        kind = "link"
    return FileStat(kind, st.st_size, stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid, st.st_rdev)


def wrapped(path: str, error: OSError | ValueError) -> Absent | Denied | Failed:
    """The error of our tree for an error of the operating system."""
    number = getattr(error, "errno", None)
    if number in (errno.ENOENT, errno.ENOTDIR):
        return Absent(path)
    if number in (errno.EACCES, errno.EPERM):
        return Denied(path)
    return Failed(path, os.strerror(number) if number else str(error))
