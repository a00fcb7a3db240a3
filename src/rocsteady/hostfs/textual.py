"""Text as people send it: terminal colours and Windows line ends taken off, UTF-16 turned into UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()][AB0]")


def clean(line: str) -> str:
    """One line without colours, carriage return and NUL bytes."""
    if "\x1b" in line:
        line = ANSI.sub("", line)
    return line.rstrip("\r").replace("\0", "")


def wide_encoding(head: bytes) -> str | None:
    """The UTF-16 flavour of data that starts so, None for bytes that are not UTF-16.

    Windows tools write a mark; without one, text in UTF-16 has NUL in every second byte.
    """
    if head[:2] == b"\xff\xfe" and head[2:4] != b"\0\0":
        return "utf-16-le"
    if head[:2] == b"\xfe\xff":
        return "utf-16-be"
    sample = head[:256]
    if len(sample) < 16:
        return None
    even, odd = sample[0::2], sample[1::2]
    if even.count(0) == 0 and odd.count(0) > 0.9 * len(odd):
        return "utf-16-le"
    if odd.count(0) == 0 and even.count(0) > 0.9 * len(even):
        return "utf-16-be"
    return None


class Recoder(io.RawIOBase):
    """UTF-8 bytes of a UTF-16 stream; what does not decode becomes the replacement character."""

    def __init__(self, source: BinaryIO, encoding: str) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""
        self._first = True
        self._done = False

    def readable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Close the source too."""
        if not self.closed:
            self._source.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See ``io.RawIOBase``."""
        view = memoryview(buffer).cast("B")
        while not self._ready and not self._done:
            data = self._source.read(1 << 18)
            self._done = not data
            text = self._decoder.decode(data or b"", self._done)
            if self._first and text:
                text, self._first = text.removeprefix("\ufeff"), False
            self._ready = text.encode("utf-8", "replace")
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def recoded(data: bytes) -> str:
    """Whole text of a file: UTF-16 where it is that, else UTF-8 with invalid bytes replaced; no mark, no NUL."""
    text = data.decode(wide_encoding(data) or "utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\0", "")
