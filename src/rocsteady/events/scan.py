"""One pass over a log of any size: finds the lines that may matter, by literal texts, at memory speed.

A literal scanner (hyperscan) looks for the needles of all kinds at once in blocks of bytes; only lines with a
needle are decoded and handed to the ``Collector``. Healthy lines therefore cost almost nothing, and memory does
not grow with the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import BinaryIO

import hyperscan
import msgspec

from rocsteady.events.collect import Collector
from rocsteady.events.kinds import ERROR_WORDS, Kind
from rocsteady.events.prefix import split
from rocsteady.events.quoted import document
from rocsteady.model import Event, Fact, Span, Unexplained

BLOCK = 4 << 20
LOOKAHEAD = 48 << 10
"""Bytes kept behind the last line of a block, so that a message of several lines is seen whole."""
SAMPLE = 16 << 10
"""Bytes at both ends of a log in which its first and last time stamp are looked for."""
LONGEST_LINE = 16 << 10
"""Of a longer line only the part around the needle is looked at."""
GENERIC = -1
"""Owner of an error word: the line is worth a look even if no kind knows it."""


class Hit(msgspec.Struct):
    """One line with a needle in it; ``kinds`` are numbers of kinds, or ``GENERIC``."""

    start: int
    end: int
    kinds: set[int]


class Scanner:
    """Finds known messages in the logs of one node."""

    def __init__(self, kinds: Sequence[Kind], year: int) -> None:
        self._kinds = kinds
        self._year = year
        self._retired: frozenset[int] = frozenset()
        self._collector = Collector(kinds, year)
        self.files: list[str] = []
        self.spans: list[Span] = []
        self.notes: list[str] = []
        self._compile()

    def _compile(self) -> None:
        needles: dict[str, set[int]] = {}
        for number, kind in enumerate(self._kinds):
            if number not in self._retired:
                for needle in kind.needles:
                    for form in _forms(needle):
                        needles.setdefault(form.lower(), set()).add(number)
        for word in ERROR_WORDS:
            needles.setdefault(word, set()).add(GENERIC)
        self._owners = list(needles.values())
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[_expression(n) for n in needles],
            ids=list(range(len(needles))),
            elements=len(needles),
            flags=[hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_MULTILINE] * len(needles),
        )

    def fresh(self) -> None:
        """Forget what was found, keep the compiled texts: for a log that is followed piece by piece."""
        self._collector = Collector(self._kinds, self._year)
        self.files.clear()
        self.spans.clear()
        if self._retired:
            self._retired = frozenset()
            self._compile()

    def scan(self, file: str, stream: BinaryIO) -> None:
        """Read one log to its end. ``file`` is the name that evidence quotes. What is surely no log is left out."""
        self._collector.begin(file)
        pending = b""
        line = 1
        absorbed: dict[int, int] = {}
        first: float | None = None
        tail = b""
        opened = False
        while True:
            block = stream.read(BLOCK)
            data = pending + block if pending else block
            if not data:
                if not opened:
                    self.files.append(file)
                break
            if not opened:
                opened = True
                kind = document(text(data[:SAMPLE]))
                if kind is not None:
                    self.notes.append(f"{file} is {kind}: not read as a log")
                    return
                self.files.append(file)
            if first is None:
                first = self._dated(data[:SAMPLE].split(b"\n"))
            tail = data[-SAMPLE:]
            cut = _cut(data) if block else len(data)
            line = self._block(data, cut, line, absorbed)
            pending = data[cut:]
            absorbed = {start - cut: owner for start, owner in absorbed.items() if start >= cut}
            if not block:
                break
        last = self._dated(reversed(tail.split(b"\n")))
        if first is not None and last is not None and last >= first:
            self.spans.append(Span(file, first, last))

    def _block(self, data: bytes, cut: int, line: int, absorbed: dict[int, int]) -> int:
        """Work through one block; returns the line number at ``cut``.

        ``absorbed``: starts of lines that belong to an earlier message -> ``GENERIC`` where they are used up,
        else the number of the kind that shares them.
        """
        found: list[tuple[int, int]] = []

        def note(needle: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end, needle))

        self._database.scan(data, match_event_handler=note)
        found.sort()
        counted = 0
        for hit in self._hits(data, found, cut):
            if hit.start in absorbed:
                owner = absorbed[hit.start]
                hit.kinds -= {GENERIC, owner}
                if owner == GENERIC or not hit.kinds:
                    continue
            line += data.count(b"\n", counted, hit.start)
            counted = hit.start
            used = self._collector.line(
                line, text(data[hit.start : hit.end]), hit.kinds, partial(following, data, hit.end)
            )
            for start, owner in used.items():
                absorbed.setdefault(start, owner)
        line += data.count(b"\n", counted, cut)
        tired = self._collector.tired()
        if tired - self._retired:
            self._retired |= tired
            self._compile()
        return line

    def _hits(self, data: bytes, found: list[tuple[int, int]], cut: int) -> Iterator[Hit]:
        """Join needles of one line; lines that start at ``cut`` or behind belong to the next block."""
        current: Hit | None = None
        for to, needle in found:
            at = to - 1
            if current is None or at >= current.end:
                if current is not None:
                    yield current
                start, end = _bounds(data, at)
                if start >= cut:
                    return
                current = Hit(start, end, set())
            current.kinds |= self._owners[needle]
        if current is not None:
            yield current

    def _dated(self, lines: Iterable[bytes]) -> float | None:
        """The first wall-clock time that some of these lines state."""
        for line in islice(lines, 50):
            at = split(text(line[:400]), self._year).at
            if at is not None:
                return at
        return None

    @property
    def facts(self) -> list[Fact]:
        """What single lines stated."""
        return self._collector.facts

    def events(self) -> tuple[Event, ...]:
        """All events in reading order; the last of a flood carries the number of lines it stands for."""
        return self._collector.events()

    def unexplained(self) -> tuple[Unexplained, ...]:
        """Groups of unknown error-like lines, first seen first."""
        return self._collector.unexplained()


def _bounds(data: bytes, at: int) -> tuple[int, int]:
    """Start and end of the line around ``at``; of a very long line only a part, and no more is searched than that."""
    newline = data.rfind(b"\n", max(0, at - LONGEST_LINE), at)
    start = newline + 1 if newline >= 0 or at <= LONGEST_LINE else at - LONGEST_LINE // 2
    end = data.find(b"\n", at, at + LONGEST_LINE)
    if end < 0:
        end = min(len(data), at + LONGEST_LINE)
    if end - start > LONGEST_LINE:
        start, end = max(start, at - LONGEST_LINE // 2), min(end, at + LONGEST_LINE // 2)
    return start, end


def _forms(needle: str) -> tuple[str, ...]:
    """The needle, and how it stands in a JSON line of journald, of docker, or of Go programs (which escape <, > and &)."""
    plain = needle.replace('"', '\\"')
    go = plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return tuple(dict.fromkeys((needle, plain, go)))


def _expression(needle: str) -> bytes:
    """The needle as a literal; one that starts with ``^`` counts only at the start of a line."""
    start = "^" if needle.startswith("^") else ""
    return (start + re.escape(needle.removeprefix("^"))).encode()


def _cut(data: bytes) -> int:
    """End of the last line that has its look-ahead behind it; most of a block without line ends."""
    newline = data.rfind(b"\n", 0, max(0, len(data) - LOOKAHEAD))
    if newline >= 0:
        return newline + 1
    return 0 if len(data) < 2 * BLOCK else len(data) - 256


def text(line: bytes) -> str:
    """One line as text."""
    return line.decode("utf-8", "replace").rstrip("\r").replace("\0", "")


def following(data: bytes, end: int) -> Iterator[tuple[int, str]]:
    """Start and text of the lines behind a hit, as far as this block reaches."""
    position = end + 1
    while position < len(data):
        stop = data.find(b"\n", position)
        stop = len(data) if stop < 0 else stop
        if stop - position > LONGEST_LINE:
            return
        yield position, text(data[position:stop])
        position = stop + 1
