"""Follows the kernel's log: ``/dev/kmsg``, or the log file of a tree or of a machine that keeps us from kmsg.

Docs: https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg
Sample: ``6,1234,5678901,-;amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!`` (priority, number, microseconds, flags).
A reader that is too slow gets EPIPE once and goes on with the oldest message that is left. A file that is rotated gets
a new inode, or shrinks when it was copied and cut.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from rocsteady.hostfs.store import DirectoryStore, Opener, open_regular, resolve, wrapped
from rocsteady.model import Absent, ReadError

FILES = ("dev/kmsg", "var/log/kern.log", "var/log/dmesg", "var/log/messages", "var/log/syslog")
"""In the order of preference; the kernel's own messages are in each."""
KMSG = os.makedev(1, 11)
RECORD = re.compile(rb"^(\d{1,4}),(\d{1,20}),(\d{1,20}),[^;\n]*;", re.MULTILINE)
LONGEST = 8192
"""Bytes of a record at most (CONSOLE_EXT_LOG_MAX of the kernel)."""
BLOCK = 1 << 20
MOST_AT_ONCE = 64 << 20
"""Of a file that is larger at first sight only the end is read."""
MOST_RECORDS = 200_000


class KernelLog:
    """New text at each ``poll``. ``bytes_read``, ``overruns``, ``rotations`` count since it was made.

    ``read`` and ``kmsg`` (device number) are parameters for tests: nobody can make /dev/kmsg overrun at will.
    """

    def __init__(
        self,
        root: Path | str,
        opener: Opener = open_regular,
        read: Callable[[int, int], bytes] = os.read,
        kmsg: int = KMSG,
    ) -> None:
        self._store = DirectoryStore(Path(root), opener)
        self._root = str(root).rstrip("/")
        self._opener = opener
        self._read = read
        self._kmsg = kmsg
        self._fd: int | None = None
        self._device = False
        self._pending = b""
        self._inode = 0
        self._offset = 0
        self.path = ""
        self.bytes_read = 0
        self.overruns = 0
        self.rotations = 0

    def poll(self) -> bytes:
        """Whole lines that are new, in the form ``[seconds] message`` where they come from kmsg.

        Raises:
            ReadError: there is no log that may be read.
        """
        if self._fd is None:
            self._open()
        text = self._records() if self._device else self._lines()
        self.bytes_read += len(text)
        return as_dmesg(text)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> None:
        denied: ReadError | None = None
        for path in FILES:
            try:
                full = f"{self._root}/{resolve(self._store, path)}"
                fd = self._opener(full)
            except ReadError as error:
                denied = denied or (None if isinstance(error, Absent) else error)
                continue
            except OSError as error:
                if error.errno != errno.ENOENT:
                    denied = denied or wrapped(path, error)
                continue
            found = os.fstat(fd)
            device = stat.S_ISCHR(found.st_mode) and found.st_rdev == self._kmsg
            if not device and not stat.S_ISREG(found.st_mode):
                os.close(fd)
                continue
            self._fd, self._device, self.path = fd, device, path
            self._inode, self._offset, self._pending = found.st_ino, 0, b""
            if not device and found.st_size > MOST_AT_ONCE:
                self._offset = found.st_size - MOST_AT_ONCE
                os.lseek(fd, self._offset, os.SEEK_SET)
            return
        raise denied or Absent("dev/kmsg")

    def _records(self) -> bytes:
        assert self._fd is not None
        out: list[bytes] = []
        for _ in range(MOST_RECORDS):
            try:
                record = self._read(self._fd, LONGEST)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EPIPE:
                    self.close()
                    raise wrapped(self.path, error) from error
                self.overruns += 1
                continue
            if not record:
                break
            out.append(record.split(b"\n", 1)[0] + b"\n")
        return b"".join(out)

    def _lines(self) -> bytes:
        assert self._fd is not None
        out = [self._rest()]
        try:
            now = os.stat(f"{self._root}/{resolve(self._store, self.path)}")
        except (OSError, ReadError):
            return out[0]  # moved away and not made anew yet
        if now.st_ino != self._inode:
            self.rotations += 1
            self.close()
            self._open()
            out.append(self._rest())
        elif now.st_size < self._offset:
            self.rotations += 1
            os.lseek(self._fd, 0, os.SEEK_SET)
            self._offset, self._pending = 0, b""
            out.append(self._rest())
        return b"".join(out)

    def _rest(self) -> bytes:
        assert self._fd is not None
        parts = [self._pending]
        try:
            while part := self._read(self._fd, BLOCK):
                parts.append(part)
                self._offset += len(part)
        except OSError as error:
            self.close()
            raise wrapped(self.path, error) from error
        data = b"".join(parts)
        whole, end, rest = data.rpartition(b"\n")
        self._pending = rest[-BLOCK:]
        return whole + end


def as_dmesg(text: bytes) -> bytes:
    """Heads of kmsg records as dmesg prints them; other text stays as it is."""

    def head(match: re.Match[bytes]) -> bytes:
        micros = int(match[3])
        return b"[%5d.%06d] " % (micros // 1_000_000, micros % 1_000_000)

    return RECORD.sub(head, text)
