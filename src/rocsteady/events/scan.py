"""One pass over a log of any size: find every known message, fold floods, group what nobody knows.

A literal scanner (hyperscan) finds the needles of all kinds at once in blocks of bytes; only lines with a
needle are decoded and matched. Healthy lines therefore cost almost nothing. Memory is bounded: per kind and
subject a limited number of events is kept, later ones are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import BinaryIO

import hyperscan
import msgspec

from rocsteady.events.kinds import ERROR_WORDS, Kind
from rocsteady.events.prefix import Split, split
from rocsteady.model import NODE, Event, Evidence, Fact, Span, Subject, Unexplained

BLOCK = 4 << 20
LOOKAHEAD = 48 << 10
"""Bytes kept behind the last line of a block, so that a message of several lines is seen whole."""
SAMPLE = 16 << 10
"""Bytes at both ends of a log in which its first and last time stamp are looked for."""
LONGEST_LINE = 16 << 10
"""Of a longer line only the part around the needle is looked at."""
QUOTE = 1000
"""Characters of a line that evidence quotes."""
KEEP = 200
"""Events kept per kind and subject; the timeline needs times, a flood of thousands tells no more."""
ENOUGH = 256
"""After so many lines of an ``info`` kind its needles are no longer searched for."""
MOST_FACTS = 20_000
"""Events that may state facts; a log repeats its facts, a flood of them states nothing new."""
GROUPS = 400
"""Shapes of unexplained lines kept apart; lines of further shapes are counted in one group."""

BOOT = "kernel-boot"
"""The kind of the first line of a boot: it separates the boots of one journal."""

BDF = re.compile(r"\b(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])\b", re.IGNORECASE)
_HEX = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{6,}\b|\d+", re.IGNORECASE)


class _Hit(msgspec.Struct):
    """One line with a needle in it; ``kinds`` are numbers of kinds, -1 an error word."""

    start: int
    end: int
    kinds: set[int]


class _Kept(msgspec.Struct):
    """Events of one kind and subject."""

    events: list[Event]
    dropped: int = 0


class Scanner:
    """Holds the compiled kinds and what was found so far in the files of one node."""

    def __init__(self, kinds: Sequence[Kind], year: int) -> None:
        self._kinds = kinds
        self._year = year
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._seen = [0] * len(kinds)
        self._retired: set[int] = set()
        self._shapes: dict[str, Unexplained] = {}
        self._order = 0
        self._boot = 0
        self._last_uptime: float | None = None
        self.facts: list[Fact] = []
        self.files: list[str] = []
        self.spans: list[Span] = []
        self._compile()

    def _compile(self) -> None:
        needles: dict[str, set[int]] = {}
        for number, kind in enumerate(self._kinds):
            if number not in self._retired:
                for needle in kind.needles:
                    needles.setdefault(needle.lower(), set()).add(number)
        for word in ERROR_WORDS:
            needles.setdefault(word, set()).add(-1)
        self._needles = list(needles)
        self._owners = [needles[n] for n in self._needles]
        self._db = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        count = len(self._needles)
        self._db.compile(
            expressions=[re.escape(n).encode() for n in self._needles],
            ids=list(range(count)),
            elements=count,
            flags=[hyperscan.HS_FLAG_CASELESS] * count,
        )

    # --- reading ---------------------------------------------------------------------------------

    def scan(self, file: str, stream: BinaryIO) -> None:
        """Read one log to its end. ``file`` is the name that evidence quotes."""
        self.files.append(file)
        self._last_uptime = None
        pending = b""
        line = 1
        absorbed: dict[int, int] = {}
        first: float | None = None
        tail = b""
        while True:
            block = stream.read(BLOCK)
            data = pending + block if pending else block
            if not data:
                break
            if first is None:
                first = self._dated(data[:SAMPLE].split(b"\n"))
            tail = data[-SAMPLE:]
            cut = self._cut(data) if block else len(data)
            line = self._block(file, data, cut, line, absorbed)
            pending = data[cut:]
            absorbed = {start - cut: owner for start, owner in absorbed.items() if start >= cut}
            if not block:
                break
        last = self._dated(reversed(tail.split(b"\n")))
        if first is not None and last is not None and last >= first:
            self.spans.append(Span(file, first, last))

    def _dated(self, lines: Iterable[bytes]) -> float | None:
        """The first wall-clock time that some of these lines state."""
        for line in islice(lines, 50):
            at = split(line[:400].decode("utf-8", "replace"), self._year).at
            if at is not None:
                return at
        return None

    @staticmethod
    def _cut(data: bytes) -> int:
        """End of the last line that has its look-ahead behind it; all of a block without line ends."""
        newline = data.rfind(b"\n", 0, max(0, len(data) - LOOKAHEAD))
        if newline >= 0:
            return newline + 1
        return 0 if len(data) < 2 * BLOCK else len(data) - 256

    def _block(self, file: str, data: bytes, cut: int, line: int, absorbed: dict[int, int]) -> int:
        """Work through one block; returns the line number at ``cut``.

        ``absorbed``: starts of lines that belong to an earlier message -> -1 where they are used up, else the
        number of the kind that shares them.
        """
        found: list[tuple[int, int]] = []

        def note(needle: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end, needle))

        self._db.scan(data, match_event_handler=note)
        found.sort()
        counted = 0
        for hit in self._hits(data, found, cut):
            if hit.start in absorbed:
                owner = absorbed[hit.start]
                hit.kinds -= {-1, owner}
                if owner < 0 or not hit.kinds:
                    continue
            line += data.count(b"\n", counted, hit.start)
            counted = hit.start
            self._line(file, data, hit, line, absorbed)
        line += data.count(b"\n", counted, cut)
        self._retire()
        return line

    def _hits(self, data: bytes, found: list[tuple[int, int]], cut: int) -> Iterable[_Hit]:
        current: _Hit | None = None
        for to, needle in found:
            at = to - 1
            if current is None or at >= current.end:
                if current is not None:
                    yield current
                start = data.rfind(b"\n", 0, at) + 1
                if start >= cut:
                    return
                end = data.find(b"\n", at)
                end = len(data) if end < 0 else end
                if end - start > LONGEST_LINE:
                    start, end = max(start, at - LONGEST_LINE // 2), min(end, at + LONGEST_LINE // 2)
                current = _Hit(start, end, set())
            owners = self._owners[needle]
            current.kinds |= owners
        if current is not None:
            yield current

    # --- one line --------------------------------------------------------------------------------

    def _line(self, file: str, data: bytes, hit: _Hit, line: int, absorbed: dict[int, int]) -> None:
        raw = data[hit.start : hit.end].decode("utf-8", "replace").rstrip("\r").replace("\0", "")
        parts = split(raw, self._year)
        fresh = False
        if parts.uptime is not None:
            if self._last_uptime is not None and parts.uptime + 60 < self._last_uptime:
                self._boot += 1
                fresh = True
            self._last_uptime = parts.uptime
        known = False
        for number in sorted(hit.kinds - {-1}):
            kind = self._kinds[number]
            match = kind.regex.search(parts.message) or kind.regex.search(raw)
            if match is None:
                continue
            known = True
            self._seen[number] += 1
            if kind.level == "noise":
                continue
            if kind.name == BOOT and self._seen[number] > 1 and not fresh:
                self._boot += 1
            self._event(file, data, hit, line, kind, match, parts, raw, absorbed)
        if not known and -1 in hit.kinds:
            self._unexplained(file, line, raw, parts.message)

    def _event(
        self,
        file: str,
        data: bytes,
        hit: _Hit,
        line: int,
        kind: Kind,
        match: re.Match[str],
        parts: Split,
        raw: str,
        absorbed: dict[int, int],
    ) -> None:
        fields = {k: v.strip() for k, v in match.groupdict().items() if v is not None}
        bdf = fields.get("bdf") or address(parts.message)
        more: tuple[Evidence, ...] = ()
        if kind.more_regex is not None:
            more = self._continuation(file, data, hit, line, kind, bdf, fields, absorbed)
        subject = subject_of(kind, bdf, fields)
        evidence = Evidence(file, line, raw[:QUOTE])
        self._order += 1
        event = Event(
            kind=kind.name, subject=subject, evidence=evidence, fields=fields, more=more, at=parts.at,
            uptime=parts.uptime, boot=self._boot, order=self._order, level=kind.level, alive=kind.alive, mark=kind.mark,
        )  # fmt: skip
        kept = self._kept.setdefault((kind.name, subject.id if subject else ""), _Kept([]))
        if len(kept.events) < KEEP:
            kept.events.append(event)
        else:
            kept.events[-1] = msgspec.structs.replace(event, order=kept.events[-1].order)
            kept.dropped += 1
        if kind.facts and self._order <= MOST_FACTS:
            self._emit(kind, fields, bdf, evidence)

    def _continuation(
        self,
        file: str,
        data: bytes,
        hit: _Hit,
        line: int,
        kind: Kind,
        bdf: str | None,
        fields: dict[str, str],
        absorbed: dict[int, int],
    ) -> tuple[Evidence, ...]:
        """Lines behind the first one that belong to the message. Lines of other GPUs in between are skipped."""
        regex = kind.more_regex
        assert regex is not None
        owner = self._kinds.index(kind) if kind.shared else -1
        found: list[Evidence] = []
        position = hit.end + 1
        skipped = 0
        while position < len(data) and len(found) < kind.more_limit and skipped < kind.more_limit:
            line += 1
            end = data.find(b"\n", position)
            end = len(data) if end < 0 else end
            if end - position > LONGEST_LINE:
                break
            raw = data[position:end].decode("utf-8", "replace").rstrip("\r").replace("\0", "")
            message = split(raw, self._year).message
            match = regex.search(message)
            other = address(message)
            if bdf and other and other != bdf:
                skipped += 1
            elif match is None:
                break
            else:
                found.append(Evidence(file, line, raw[:QUOTE]))
                absorbed.setdefault(position, owner)
                for key, value in match.groupdict().items():
                    if value is None:
                        continue
                    if key.startswith("last_"):
                        fields[key] = value.strip()
                    else:
                        fields.setdefault(key, value.strip())
                if match.groupdict().get(kind.ends) is not None:
                    break
            position = end + 1
        return tuple(found)

    def _emit(self, kind: Kind, fields: dict[str, str], bdf: str | None, evidence: Evidence) -> None:
        values = {**fields, "bdf": bdf or ""}
        for path, template in kind.facts.items():
            if "{bdf}" in path and not bdf:
                continue
            try:
                self.facts.append(Fact(path.format(**values), template.format(**values), evidence, rank=1))
            except KeyError:  # an optional group that this wording does not have
                continue

    def _unexplained(self, file: str, line: int, raw: str, message: str) -> None:
        shape = _HEX.sub("#", message)[:160]
        if shape not in self._shapes and len(self._shapes) >= GROUPS:
            shape = "(lines of other shapes)"
        known = self._shapes.get(shape)
        if known is None:
            self._shapes[shape] = Unexplained(Evidence(file, line, raw[:QUOTE]), 1, shape)
        else:
            self._shapes[shape] = msgspec.structs.replace(known, count=known.count + 1)

    def _retire(self) -> None:
        tired = {
            n for n, k in enumerate(self._kinds)
            if k.level == "info" and self._seen[n] > ENOUGH and n not in self._retired
        }  # fmt: skip
        if tired:
            self._retired |= tired
            self._compile()

    # --- result ----------------------------------------------------------------------------------

    def events(self) -> tuple[Event, ...]:
        """All events in reading order; the last of a flood carries the number of lines it stands for."""
        out: list[Event] = []
        for kept in self._kept.values():
            out.extend(kept.events)
            if kept.dropped:
                out[-1] = msgspec.structs.replace(out[-1], count=1 + kept.dropped)
        return tuple(sorted(out, key=lambda e: e.order))

    def unexplained(self) -> tuple[Unexplained, ...]:
        """Groups of unknown error-like lines, first seen first."""
        return tuple(self._shapes.values())


def address(message: str) -> str | None:
    """The first PCI address of a message, with its domain, lower case."""
    match = BDF.search(message)
    if match is None:
        return None
    return f"{(match[1] or '0000').lower()}:{match[2].lower()}:{match[3].lower()}.{match[4]}"


def subject_of(kind: Kind, bdf: str | None, fields: dict[str, str]) -> Subject | None:
    """Whom the event is about; None where the line does not say."""
    if kind.about == "gpu":
        if bdf:
            return Subject("gpu", address(bdf) or bdf)
        if "device" in fields and fields["device"].isdigit():
            return Subject("gpu", f"GPU {fields['device']}")
        return NODE
    if kind.about == "process":
        name = fields.get("process") or fields.get("pid")
        return Subject("process", name) if name else NODE
    if kind.about == "container":
        name = fields.get("container") or fields.get("pod")
        return Subject("container", name) if name else NODE
    if kind.about == "service":
        return Subject("service", fields.get("service") or "engine")
    if kind.about == "link" and bdf:
        return Subject("link", address(bdf) or bdf)
    return NODE
