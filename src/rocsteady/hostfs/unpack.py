"""Compressed data by its first bytes, unpacked as a stream in bounded memory.

Damage is no exception: what came before it is delivered, then the stream ends and ``damage`` says why. A limit
that is exceeded raises ``LimitError``.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

import zstandard

from rocsteady.hostfs.limits import DEFAULT, Limits, amount, check_ratio
from rocsteady.model import LimitError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Packing = Literal["gzip", "bzip2", "xz", "zstd"]

HEAD = 1024
"""Bytes to look at before anything is decided: two tar blocks."""
CHUNK = 256 * 1024
"""Packed bytes read and unpacked bytes produced at a time."""
ZSTD_SLICE = 1024
"""A zstd block of 4 bytes may stand for 128 KiB and the library has no output limit: 32 MiB at most at a time."""

UNSUPPORTED = (
    (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07", "RAR"), (b"\x04\x22\x4d\x18", "lz4"), (b"\x1f\x9d", "compress (.Z)"),
    (b"LZIP", "lzip"), (b"\x5d\x00\x00\x80\x00", "lzma"), (b"%PDF-", "PDF"), (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"), (b"\x7fELF", "ELF program"), (b"LPKSHHRH", "binary journal"),
)  # fmt: skip
"""First bytes of formats that people send and that are not read; the message names the format."""


def packing_of(head: bytes) -> Packing | None:
    """The compression that data starting with ``head`` (10 bytes or more) has, None for plain data."""
    if head[:3] == b"\x1f\x8b\x08":
        return "gzip"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bzip2"
    if head[:6] == b"\xfd7zXZ\x00":
        return "xz"
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50):
        return "zstd"
    return None


def unsupported(head: bytes) -> str | None:
    """The name of a format that is recognised but not read."""
    return next((name for magic, name in UNSUPPORTED if head.startswith(magic)), None)


class Source(Protocol):
    """Anything that bytes are read from."""

    def read(self, size: int = -1, /) -> bytes | None:
        """Up to ``size`` bytes, empty at the end."""
        ...


class _Codec(Protocol):
    """The common part of the decompressors of the standard library."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class _Gzip:
    """One gzip member."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)
        self._tail = b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        out = self._inner.decompress(self._tail + data, max_length)
        self._tail = self._inner.unconsumed_tail
        return out

    @property
    def needs_input(self) -> bool:
        return not self._tail and not self._inner.eof

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


class _Zstd:
    """One zstd frame."""

    def __init__(self, window: int) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
        self._tail = b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        del max_length
        pending = self._tail + data if self._tail else data
        position = 0
        out = b""
        while position < len(pending) and not out and not self._inner.eof:
            out = self._inner.decompress(pending[position : position + ZSTD_SLICE])
            position += ZSTD_SLICE
        self._tail = pending[position:]
        return out

    @property
    def needs_input(self) -> bool:
        return not self._tail and not self._inner.eof

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self._tail


def _codec(kind: Packing, window: int) -> _Codec:
    makers: dict[Packing, Callable[[], _Codec]] = {
        "gzip": _Gzip,
        "bzip2": bz2.BZ2Decompressor,
        "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=window),
        "zstd": lambda: _Zstd(window),
    }
    return makers[kind]()


class Unpacker(io.RawIOBase):
    """The unpacked bytes of ``source``, which holds one or more members of the compression ``kind``.

    ``refuse`` makes the exception for an exceeded limit from its text (default ``LimitError``).
    """

    def __init__(
        self,
        source: Source,
        kind: Packing,
        name: str,
        limits: Limits = DEFAULT,
        refuse: Callable[[str], Exception] = LimitError,
        on_damage: Callable[[str], None] | None = None,
    ) -> None:
        self.damage: str | None = None
        self.packed = 0
        self.unpacked = 0
        self._source = source
        self._kind: Packing = kind
        self._name = name
        self._limits = limits
        self._refuse = refuse
        self._on_damage = on_damage
        self._codec: _Codec | None = None
        self._pending = b""
        self._ready = b""
        self._done = False

    def readable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Close the source too."""
        if not self.closed:
            closer = getattr(self._source, "close", None)
            if closer is not None:
                closer()
        super().close()

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See ``io.RawIOBase``."""
        view = memoryview(buffer).cast("B")
        if not self._ready and not self._done:
            self._ready = self._next()
            self._done = not self._ready
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _next(self) -> bytes:
        """The next unpacked bytes; empty at the end or where the data is damaged."""
        try:
            out = self._advance()
        except LimitError as error:
            raise self._refuse(str(error)) from error
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError, EOFError, OSError, ValueError) as error:
            text = str(error).lower()
            if "memory" in text:
                raise self._refuse(
                    f"{self._name}: unpacking needs more than {amount(self._limits.window)} (limit on the window)"
                ) from error
            return self._damaged(f"damaged {self._kind} data after {self.unpacked} unpacked bytes")
        self.unpacked += len(out)
        try:
            check_ratio(self._name, self.packed, self.unpacked, self._limits)
            if self.unpacked > self._limits.unpacked:
                limit = amount(self._limits.unpacked)
                raise LimitError(f"{self._name}: unpacks to more than {limit} (limit on unpacked size)")
        except LimitError as error:
            raise self._refuse(str(error)) from error
        return out

    def _advance(self) -> bytes:
        while True:
            if self._codec is None and not self._start():
                return b""
            codec = self._codec
            assert codec is not None
            data, self._pending = self._pending, b""
            ended = False
            if not data and codec.needs_input:
                data = self._fill()
                ended = not data
            out = codec.decompress(data, CHUNK)
            if codec.eof:
                self._pending = codec.unused_data
                self._codec = None
            elif ended and not out:
                return self._damaged(f"truncated {self._kind} data after {self.unpacked} unpacked bytes")
            if out:
                return out

    def _start(self) -> bool:
        """Begin the next member; False at the end. Zero padding and trailing garbage are passed over, as gzip does."""
        while True:
            self._pending = self._pending.lstrip(b"\0")
            if len(self._pending) >= 16:
                break
            more = self._fill()
            if not more:
                break
            self._pending += more
        if packing_of(self._pending[:16]) != self._kind:
            return False
        self._codec = _codec(self._kind, self._limits.window)
        return True

    def _fill(self) -> bytes:
        data = self._source.read(CHUNK) or b""
        self.packed += len(data)
        return data

    def _damaged(self, why: str) -> bytes:
        self.damage = why
        if self._on_damage is not None:
            self._on_damage(why)
        return b""
