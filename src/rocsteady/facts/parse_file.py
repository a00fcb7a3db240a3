"""The one place where an error of reading or a malformed content becomes a ``Gap``.

Parsers are pure: text or bytes in, a value or ``Malformed`` out, never an exception on content. Readers join
them with a path: ``parse_file(fs, "sys/.../ras/umc_err_count", parse_ras)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap, ReadError

T = TypeVar("T")
PSEUDO_FILE = 1 << 20
"""Kernel interfaces are small: a sysfs attribute holds a page at most, /proc files some hundred KB."""
SHOWN = 60
MAX_DIGITS = 20
"""2^64 has 20 decimal digits; no kernel interface prints a longer number."""


class Malformed(msgspec.Struct, frozen=True):
    """What a parser answers when the content is not what the interface prints."""

    why: str


def parse_file(fs: HostFS, path: str, parse: Callable[[str], T | Malformed], limit: int = PSEUDO_FILE) -> T | Gap:
    """Read one text file and parse it; a Gap says absent, denied, timeout, failed or malformed."""
    try:
        text = fs.text(path, limit)
    except ReadError as error:
        return gap_of(path, error)
    return _checked(path, parse(text))


def parse_bytes(fs: HostFS, path: str, parse: Callable[[bytes], T | Malformed], limit: int = PSEUDO_FILE) -> T | Gap:
    """As ``parse_file`` for binary interfaces."""
    try:
        data = fs.bytes(path, limit)
    except ReadError as error:
        return gap_of(path, error)
    return _checked(path, parse(data))


def _checked(path: str, value: T | Malformed) -> T | Gap:
    return Gap(path, f"malformed: {value.why}") if isinstance(value, Malformed) else value


def gap_of(path: str, error: ReadError) -> Gap:
    """The Gap for a read error."""
    return Gap(path, error.why + (f": {error.detail}" if error.detail else ""))


def is_absent(gap: Gap) -> bool:
    """Whether the interface simply is not there, which is normal for most of them on most GPUs."""
    return gap.why.startswith("absent")


def shown(text: str) -> str:
    """The start of a text for a message."""
    return repr(text[:SHOWN])


def parse_text(text: str) -> str | Malformed:
    """One line of text. Sample: ``113-D67301-063``."""
    line = text.strip()
    return line if line else Malformed("empty")


def parse_int(text: str) -> int | Malformed:
    """A decimal or 0x number. Samples: ``42``, ``-1``, ``0x1002``."""
    word = text.strip()
    digits = word.lstrip("+-")
    try:
        if digits[:2].lower() == "0x" and len(digits) <= MAX_DIGITS:
            return int(word, 16)
        if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS:
            return int(word, 10)
    except ValueError:
        pass
    return Malformed(f"a number was wanted, found {shown(word)}")


def parse_hex(text: str) -> str | Malformed:
    """A hexadecimal id, without 0x and in lower case. Samples: ``0x1002`` -> ``1002``, ``18f7e5c3a1b2d4e6``."""
    word = text.strip().lower().removeprefix("0x")
    if re.fullmatch(r"[0-9a-f]{1,32}", word):
        return word
    return Malformed(f"a hexadecimal number was wanted, found {shown(word)}")


def parse_float(text: str) -> float | Malformed:
    """A decimal fraction. Sample: ``0.75``."""
    word = text.strip()
    if len(word) <= 2 * MAX_DIGITS and re.fullmatch(r"[+-]?\d+(?:\.\d+)?", word, re.ASCII):
        return float(word)
    return Malformed(f"a number was wanted, found {shown(word)}")


def parse_numbers(text: str) -> dict[str, int] | Malformed:
    """Lines ``key value`` with whole numbers, as KFD topology and memory.stat print; other lines are skipped.

    Sample: ``simd_count 304``.
    """
    values: dict[str, int] = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 2:
            number = parse_int(parts[1])
            if isinstance(number, int):
                values[parts[0]] = number
    return values if values else Malformed(f"lines 'key number' were wanted, found {shown(text)}")


def line_of(text: str, start: str) -> tuple[int, str] | None:
    """Number (1-based) and text of the first line that starts with ``start``, for evidence."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(start):
            return number, line
    return None


class Folder:
    """Reads several files of one directory; an absent file is None and no gap, any other failure is a gap.

    ``texts`` keeps what was read, so that a fact can quote it.
    """

    def __init__(self, fs: HostFS, path: str) -> None:
        self.fs = fs
        self.path = path
        self.gaps: list[Gap] = []
        self.texts: dict[str, str] = {}

    def parsed(self, name: str, parse: Callable[[str], T | Malformed], *, empty: bool = True) -> T | None:
        """Parse one file. ``empty``: an empty file counts as absent (drivers print nothing for 'not supported')."""

        def keep(text: str) -> T | Malformed | None:
            self.texts[name] = text
            if empty and not text.strip():
                return None
            return parse(text)

        return self._kept(parse_file(self.fs, f"{self.path}/{name}", keep))

    def binary(self, name: str, parse: Callable[[bytes], T | Malformed]) -> T | None:
        """Parse one binary file; an empty one is absent."""
        return self._kept(parse_bytes(self.fs, f"{self.path}/{name}", lambda d: parse(d) if d else None))

    def _kept(self, value: T | Gap | None) -> T | None:
        if isinstance(value, Gap):
            if not is_absent(value):
                self.gaps.append(value)
            return None
        return value

    def integer(self, name: str) -> int | None:
        """A number."""
        return self.parsed(name, parse_int)

    def word(self, name: str) -> str | None:
        """A line of text."""
        return self.parsed(name, parse_text)

    def hex(self, name: str) -> str | None:
        """An id in hexadecimal."""
        return self.parsed(name, parse_hex)

    def names(self, name: str = "") -> list[str]:
        """Entries of a sub directory; none where it cannot be listed."""
        path = f"{self.path}/{name}" if name else self.path
        try:
            return self.fs.names(path)
        except ReadError as error:
            gap = gap_of(path, error)
            if not is_absent(gap):
                self.gaps.append(gap)
            return []

    def link(self, name: str) -> str | None:
        """Base name of a link's target, e.g. of ``driver``."""
        try:
            return self.fs.link(f"{self.path}/{name}").rstrip("/").rpartition("/")[2]
        except ReadError:
            return None

    def evidence(self, name: str, start: str | None = None) -> Evidence:
        """Quote a file that was read: the line that starts with ``start``, else its first line."""
        text = self.texts.get(name, "")
        path = f"{self.path}/{name}"
        if start is not None and (found := line_of(text, start)):
            return Evidence(path, *found)
        first = text.splitlines()[0] if text.strip() else ""
        return Evidence(path, 1 if first else None, first)
