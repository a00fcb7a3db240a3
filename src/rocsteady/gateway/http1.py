"""HTTP/1.1 as a client reads it: the head of an answer, and bodies in chunks. Pure.

Why not the client of aiohttp: see docs/decisions/0010-gateway-connector.md.
"""

from __future__ import annotations

import msgspec

MOST_HEAD = 65536
MOST_SIZES = 4096
_SIZES: dict[bytes, int] = {}
"""Size lines seen: events of one answer have few lengths."""
MOST_SIZE_LINE = 1024
"""Bytes of a chunk's size line with extensions, and of the trailer; engines send a few."""


class Malformed(Exception):
    """What came is not HTTP/1.1."""


class Head(msgspec.Struct):
    """Status and headers of an answer. Names in lower case; ``length`` None: chunked, or until the end."""

    status: int
    headers: list[tuple[str, str]]
    chunked: bool
    length: int | None
    keep_alive: bool

    def get(self, name: str) -> str | None:
        """The first value of a header."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


def parse_head(block: bytes) -> Head:
    """Read the head of an answer, without the empty line behind it.

    Raises:
        Malformed: no status line, or lengths that contradict each other.
    """
    lines = block.decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit()):
        raise Malformed(f"status line {lines[0][:80]!r}")
    headers: list[tuple[str, str]] = []
    chunked, length, connection = False, None, ""
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name[-1] in " \t" or name[0] in " \t":
            raise Malformed(f"header line {line[:80]!r}")
        name, value = name.lower(), value.strip(" \t")
        if name == "transfer-encoding":
            if value.lower() != "chunked":
                raise Malformed(f"transfer encoding {value[:40]!r}")
            chunked = True
        elif name == "content-length":
            if not (value.isascii() and value.isdigit()) or (length is not None and length != int(value)):
                raise Malformed(f"content length {value[:40]!r}")
            length = int(value)
        elif name == "connection":
            connection = value.lower()
        headers.append((name, value))
    if chunked and length is not None:
        raise Malformed("both a length and chunks")
    keep = connection != "close" and (version == "HTTP/1.1" or connection == "keep-alive")
    status = int(code)
    if status in (204, 304):
        chunked, length = False, 0
    return Head(status, headers, chunked, length, keep and (chunked or length is not None))


class Chunks:
    """Takes the chunks apart, in any cut."""

    __slots__ = ("_left", "_rest", "_trailer", "done", "extra")

    def __init__(self) -> None:
        self.done = False
        self.extra = b""
        self._rest = b""
        self._left = 0
        self._trailer = False

    def feed(self, data: bytes) -> bytes:
        """Bytes of the body. ``done`` after the last chunk; what came behind it is in ``extra``.

        Raises:
            Malformed: a size is no number, or a chunk does not end where it should.
        """
        if self._rest:
            data = self._rest + data
            self._rest = b""
        out: list[bytes] = []
        at, end, left = 0, len(data), self._left
        if not left and not self._trailer:  # whole chunks, as engines send them
            while (stop := data.find(b"\r\n", at, at + 20)) >= 0:
                line = data[at:stop]
                size = _SIZES.get(line)
                if size is None:
                    size = _size(line)
                    if len(_SIZES) < MOST_SIZES:
                        _SIZES[line] = size
                last = stop + 2 + size
                if not size or last + 2 > end or data[last : last + 2] != b"\r\n":
                    break
                out.append(data[stop + 2 : last])
                at = last + 2
        while at < end:
            if left > 2:
                part = data[at : at + left - 2]
                out.append(part)
                at += len(part)
                left -= len(part)
                if left > 2:
                    break
            if left:  # the line end behind a chunk
                if end - at < 2:
                    break
                if data[at : at + 2] != b"\r\n":
                    raise Malformed("chunk is longer than its size")
                at += 2
                left = 0
                continue
            stop = data.find(b"\r\n", at)
            if stop < 0:
                if end - at > MOST_SIZE_LINE:
                    raise Malformed("endless chunk size")
                break
            if self._trailer:
                if stop - at > MOST_SIZE_LINE:
                    raise Malformed("endless trailer")
                if stop == at:
                    self.done, self.extra = True, data[stop + 2 :]
                    at = end
                    break
                at = stop + 2
                continue
            size = _size(data[at:stop])
            at = stop + 2
            if size:
                left = size + 2
            else:
                self._trailer = True
        self._left = left
        self._rest = data[at:] if at < end else b""
        return out[0] if len(out) == 1 else b"".join(out)


def _size(line: bytes) -> int:
    text = line.partition(b";")[0].strip(b" \t")
    if not text or len(text) > 15 or text.strip(b"0123456789abcdefABCDEF"):
        raise Malformed(f"chunk size {line[:40]!r}")
    return int(text, 16)
