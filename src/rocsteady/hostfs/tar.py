"""Reads tar archives as a stream: v7, ustar, GNU long names and pax. Nothing is extracted.

The standard library's reader keeps a whole extended header in memory whatever its size says, and stops with an
exception at damage; this one is bounded and keeps what it has read.
Format: https://www.gnu.org/software/tar/manual/html_node/Standard.html and POSIX pax.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocsteady.hostfs.capture import REFUSED
from rocsteady.hostfs.limits import Limits
from rocsteady.hostfs.store import Kind
from rocsteady.hostfs.unpack import Source

BLOCK = 512
_KINDS: dict[bytes, Kind] = {b"0": "file", b"\0": "file", b"7": "file", b"2": "link", b"5": "dir",
                             b"3": "other", b"4": "other", b"6": "other"}  # fmt: skip
_NO_DATA = b"123456"
"""Types whose size field is not followed by data."""


class Member(msgspec.Struct, frozen=True):
    """One entry. ``hard`` is the name that a hard link repeats; ``problem`` says why the content is not
    usable, ``refused`` why our snapshot could not read the file on its node.
    """

    name: str
    kind: Kind
    size: int
    mode: int
    uid: int
    gid: int
    rdev: int = 0
    link: str = ""
    hard: str = ""
    problem: str = ""
    refused: str = ""


class Damage(Exception):
    """The archive ends early or is no archive any more; the text says where."""


def looks_like_tar(head: bytes) -> bool:
    """Whether 512 bytes are a tar header: the checksum must fit (it is the only mark of old formats)."""
    return len(head) >= BLOCK and head[0] != 0 and _checksum_fits(head[:BLOCK])


def _checksum_fits(block: bytes) -> bool:
    try:
        stored = _number(block[148:156])
    except ValueError:
        return False
    spaced = block[:148] + b" " * 8 + block[156:]
    return stored in (sum(spaced), sum(b - 256 if b > 127 else b for b in spaced))


def _number(field: bytes) -> int:
    """Octal, or base 256 where the first bit is set (GNU)."""
    if field[:1] >= b"\x80":
        value = int.from_bytes(field, "big") & ((1 << (8 * len(field) - 1)) - 1)
        if field[:1] == b"\xff" or value >= 1 << 62:
            raise ValueError("negative or absurd number")
        return value
    text = field.split(b"\0", 1)[0].strip()
    return int(text, 8) if text else 0


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


class TarReader:
    """Iterates over the members of ``source``; the caller takes or skips each member's data before the next.

    ``position`` is the offset in the unpacked stream of the first byte not yet read.
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self.position = 0
        self._left = 0

    def __iter__(self) -> Iterator[Member]:
        """All members. Raises ``Damage`` where the stream stops making sense."""
        pax: dict[str, str] = {}
        shared: dict[str, str] = {}
        long_name = long_link = ""
        while True:
            self._skip()
            at = self.position
            block = self._exactly(BLOCK, allow_end=True)
            if not block or not block.strip(b"\0"):
                return
            if not _checksum_fits(block):
                raise Damage(f"damaged: no tar header at byte {at}")
            try:
                size = _number(block[124:136])
                member = self._member(block, size)
            except ValueError:
                raise Damage(f"damaged: bad number in the tar header at byte {at}") from None
            kind = block[156:157]
            if kind in (b"x", b"X", b"g"):
                values = _pax(self._extended(size, at))
                if kind == b"g":
                    shared.update(values)
                else:
                    pax = values
                continue
            if kind == b"L":
                long_name = _text(self._extended(size, at))
                continue
            if kind == b"K":
                long_link = _text(self._extended(size, at))
                continue
            if kind in (b"V", b"M", b"D", b"N"):
                self._left = _padded(size)
                continue
            member = _completed(member, {**shared, **pax}, long_name, long_link)
            pax, long_name, long_link = {}, "", ""
            if kind in (b"0", b"\0") and member.name.endswith("/"):  # the old formats' folders; by the whole name
                member = msgspec.structs.replace(member, kind="dir")
            if kind == b"S":
                self._sparse(block)
            self._left = 0 if kind in _NO_DATA else _padded(member.size)
            yield member

    @staticmethod
    def _member(block: bytes, size: int) -> Member:
        flag = block[156:157]
        name = _text(block[:100])
        if block[257:262] == b"ustar" and block[262:263] in (b"\0",) and block[345:500].strip(b"\0"):
            name = _text(block[345:500]) + "/" + name
        kind: Kind = _KINDS.get(flag, "file")
        rdev = 0
        if flag in (b"3", b"4"):
            rdev = (_number(block[329:337]) << 8) | (_number(block[337:345]) & 0xFF)
        return Member(
            name=name, kind=kind, size=size if flag not in _NO_DATA else 0,
            mode=_number(block[100:108]) & 0o7777, uid=_number(block[108:116]), gid=_number(block[116:124]),
            rdev=rdev, link=_text(block[157:257]) if flag == b"2" else "",
            hard=_text(block[157:257]) if flag == b"1" else "",
            problem="sparse member, not supported" if flag == b"S" else "",
        )  # fmt: skip

    def data(self, size: int) -> Iterator[bytes]:
        """The content of the member just yielded, in pieces. Raises ``Damage`` when it ends early."""
        while size:
            piece = self._source.read(min(size, 1 << 18)) or b""
            if not piece:
                raise Damage(f"truncated at byte {self.position}")
            self.position += len(piece)
            self._left -= len(piece)
            size -= len(piece)
            yield piece

    def passed(self, count: int) -> None:
        """The caller moved the source forward by ``count`` bytes itself."""
        self.position += count
        self._left -= count

    @property
    def left(self) -> int:
        """Bytes of the current member, padding included, that were not read yet."""
        return self._left

    def _skip(self) -> None:
        while self._left > 0:
            piece = self._source.read(min(self._left, 1 << 18)) or b""
            if not piece:
                raise Damage(f"truncated at byte {self.position}")
            self.position += len(piece)
            self._left -= len(piece)

    def _exactly(self, count: int, allow_end: bool = False) -> bytes:
        parts: list[bytes] = []
        got = 0
        while got < count:
            piece = self._source.read(count - got) or b""
            if not piece:
                if allow_end and got == 0:
                    return b""
                raise Damage(f"truncated at byte {self.position}")
            parts.append(piece)
            got += len(piece)
            self.position += len(piece)
        return b"".join(parts)

    def _extended(self, size: int, at: int) -> bytes:
        if size > self._limits.header:
            raise Damage(f"extended header of {size} bytes at byte {at} (limit {self._limits.header})")
        return self._exactly(_padded(size))[:size]

    def _sparse(self, block: bytes) -> None:
        more = block[482:483] not in (b"\0", b"")
        while more:
            more = self._exactly(BLOCK)[504:505] not in (b"\0", b"")


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _pax(raw: bytes) -> dict[str, str]:
    """Records ``<length> <key>=<value>\\n``; a malformed one ends the list."""
    out: dict[str, str] = {}
    position = 0
    while position < len(raw):
        space = raw.find(b" ", position, position + 20)
        if space < 0:
            break
        try:
            length = int(raw[position:space])
        except ValueError:
            break
        if length <= space - position or position + length > len(raw):
            break
        key, _, value = raw[space + 1 : position + length - 1].partition(b"=")
        out[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        position += length
    return out


def _completed(member: Member, pax: dict[str, str], long_name: str, long_link: str) -> Member:
    """Put what extended headers say over what the plain header had room for."""
    values: dict[str, object] = {}
    if long_name or "path" in pax:
        values["name"] = long_name or pax["path"]
    link = long_link or pax.get("linkpath", "")
    if link and member.hard:
        values["hard"] = link
    elif link and member.kind == "link":
        values["link"] = link
    for key in ("size", "uid", "gid"):
        text = pax.get(key, "")
        if text.isdigit() and len(text) < 19 and (key != "size" or member.kind == "file"):
            values[key] = int(text)
    if REFUSED in pax and member.kind == "file":
        values["refused"] = pax[REFUSED]
    if any(key.startswith("GNU.sparse.") for key in pax):
        values["problem"] = "sparse member, not supported"
    return msgspec.structs.replace(member, **values) if values else member
