"""One temporary file without a name that holds everything an input unpacks to.

It has no path from the start or loses it at once, so nothing is left behind whatever happens.
"""

from __future__ import annotations

import errno
import io
import os
import tempfile
from typing import TYPE_CHECKING, BinaryIO

from rocsteady.hostfs.limits import Budget
from rocsteady.model import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


def spool_folder() -> str:
    """TMPDIR if set, else /var/tmp: /tmp is memory on many distributions, and an unpacked log may be large."""
    if not os.environ.get("TMPDIR") and os.access("/var/tmp", os.W_OK | os.X_OK):
        return "/var/tmp"
    return tempfile.gettempdir()


class KeptFile(io.RawIOBase):
    """An open file that lives as long as something refers to it: stores serve contents from it.

    Takes over the descriptor of ``file``, which is closed.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._fd = os.dup(file.fileno())
        file.close()

    def readable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """As far as the descriptor is."""
        return True

    def seekable(self) -> bool:
        """Always: only regular files are kept."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._fd

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See ``io.RawIOBase``."""
        view = memoryview(buffer).cast("B")
        data = os.read(self._fd, len(view))
        view[: len(data)] = data
        return len(data)

    def write(self, data: ReadableBuffer, /) -> int:
        """See ``io.RawIOBase``."""
        return os.write(self._fd, data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """See ``io.IOBase``."""
        return os.lseek(self._fd, offset, whence)

    def close(self) -> None:
        """Close the descriptor."""
        if not self.closed:
            os.close(self._fd)
        super().close()


def kept(file: BinaryIO) -> BinaryIO:
    """``file`` in a form that closes itself when nothing refers to it any more."""
    return KeptFile(file) if isinstance(file, io.FileIO) else file  # type: ignore[return-value]


class Spool:
    """Appends bytes; ``slice`` reads them back. The amount is bounded by the budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.size = 0
        self._file: BinaryIO | None = None

    @property
    def file(self) -> BinaryIO:
        """The open file; made at the first use."""
        if self._file is None:
            self._file = kept(
                tempfile.TemporaryFile(prefix="rocsteady-", dir=spool_folder(), buffering=0)  # noqa: SIM115
            )
        return self._file

    def write(self, name: str, data: bytes) -> None:
        """Append; ``name`` is the input that an error names."""
        self.budget.bytes(name, len(data))
        view = memoryview(data)
        try:
            while view:
                view = view[self.file.write(view) :]
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise InputError(
                    f"{name}: no room in {spool_folder()} to unpack it (TMPDIR names another place)"
                ) from error
            raise InputError(f"{name}: cannot unpack: {error.strerror}") from error
        self.size += len(data)


class Slice(io.RawIOBase):
    """A read-only part of an open file. Several slices of one file do not disturb each other."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        raw = getattr(file, "raw", None)
        if isinstance(raw, Slice):  # an archive inside an archive
            file, offset = raw._file, raw._start + offset
        self._file: BinaryIO = file
        self._at: int = offset
        self._end: int = offset + size
        self._start: int = offset

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """See ``io.IOBase``; stays inside the slice."""
        base = {os.SEEK_SET: self._start, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        self._at = min(max(base + offset, self._start), self._end)
        return self._at - self._start

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See ``io.RawIOBase``."""
        view = memoryview(buffer).cast("B")
        data = os.pread(self._file.fileno(), min(len(view), self._end - self._at), self._at)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def slice_of(file: BinaryIO, offset: int, size: int) -> BinaryIO:
    """A buffered reader over a part of a file."""
    return io.BufferedReader(Slice(file, offset, size), 1 << 16)
