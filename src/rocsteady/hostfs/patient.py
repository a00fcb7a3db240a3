"""Reads pseudo-files that may never answer: a file of a hung GPU can block its reader in the kernel for ever.

The reads happen in a child process; when one takes too long the child is left behind and a new one started.
A blocked thread would keep this process from ending. Part of the stand-alone script: Python 3.6, no dependencies.
"""

import contextlib
import os
import select
import struct
import subprocess
import sys
import time

READ_SECONDS = 5.0
"""``pcie_bw`` style files sleep for a second, firmware queries take tens of milliseconds; 5 s is a hang."""
STRIKES = 2
"""Time-outs in one directory after which the rest of it is left alone."""

CHILD = """
import os, struct, sys
take, give = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = take.read(12)
    if len(head) < 12:
        break
    count, limit = struct.unpack("<IQ", head)
    path = take.read(count)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            parts, got = [], 0
            while got < limit:
                part = os.read(fd, min(limit - got, 1 << 20))
                if not part:
                    break
                parts.append(part)
                got += len(part)
        finally:
            os.close(fd)
        number, data = 0, b"".join(parts)
    except OSError as error:
        number, data = error.errno or 5, b""
    give.write(struct.pack("<IQ", number, len(data)) + data)
    give.flush()
"""


class PatientReader:
    """Reads files one by one, each within ``seconds``."""

    def __init__(self, seconds=READ_SECONDS):  # type: (float) -> None
        self.seconds = seconds
        self._child = None  # type: subprocess.Popen[bytes] | None
        self._strikes = {}  # type: dict[str, int]

    def read(self, path, limit):  # type: (str, int) -> tuple[int, bytes]
        """(errno, content up to ``limit`` bytes); errno 0 is success and 110 (ETIMEDOUT) no answer in time."""
        folder = path.rpartition("/")[0]
        if self._strikes.get(folder, 0) >= STRIKES:
            return 110, b""
        raw = os.fsencode(path)
        child = self._started()
        try:
            child.stdin.write(struct.pack("<IQ", len(raw), limit) + raw)  # type: ignore[union-attr]
            child.stdin.flush()  # type: ignore[union-attr]
            deadline = time.monotonic() + self.seconds
            number, size = struct.unpack("<IQ", self._exactly(child, 12, deadline))
            return number, self._exactly(child, size, deadline)
        except TimeoutError:
            self._strikes[folder] = self._strikes.get(folder, 0) + 1
            self._abandon()
            return 110, b""
        except OSError as error:
            self._abandon()
            return error.errno or 5, b""

    def close(self):  # type: () -> None
        """End the child."""
        if self._child is not None:
            self._abandon()

    def __del__(self):  # type: () -> None
        self.close()

    def _started(self):  # type: () -> subprocess.Popen[bytes]
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable or "/usr/bin/python3", "-I", "-S", "-c", CHILD],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=True, start_new_session=True,
            )  # fmt: skip
        return self._child

    @staticmethod
    def _exactly(child, size, deadline):  # type: (subprocess.Popen[bytes], int, float) -> bytes
        fd = child.stdout.fileno()  # type: ignore[union-attr]
        parts = []
        while size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise TimeoutError
            part = os.read(fd, min(size, 1 << 20))
            if not part:
                raise OSError(5, "the reading process ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _abandon(self):  # type: () -> None
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # in uninterruptible sleep it goes when the kernel lets it
            child.wait(0.2)
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
