"""Turns candidate lines into events: which kind, about whom, with which continuation lines. Floods are folded.

Per kind and subject a limited number of events is kept, later ones are counted; lines that look like errors and
that no kind knows are grouped by shape. So memory is bounded whatever the log holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from rocsteady.events.duplicates import Repetitions
from rocsteady.events.kinds import LOOKS_RIGHT, LOOKS_WRONG, Kind
from rocsteady.events.prefix import Split, split
from rocsteady.events.quoted import quoted, request
from rocsteady.model import NODE, Event, Evidence, Fact, Subject, Unexplained

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
OTHER_SHAPES = "(lines of other shapes)"
BOOT = "kernel-boot"
"""The kind of the first line of a boot: it separates the boots of one journal."""
REBOOT = 60.0
"""Seconds by which boot-relative time must fall to be another boot: CPUs print a little out of order."""

BDF = re.compile(r"\b(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])\b", re.IGNORECASE)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{6,}\b|\d+", re.IGNORECASE)

Ahead = Callable[[], Iterator[tuple[int, str]]]


class _Kept(msgspec.Struct):
    """Events of one kind and subject, and how many more there were."""

    events: list[Event]
    dropped: int = 0


class Collector:
    """What was found so far in the logs of one node."""

    def __init__(self, kinds: Sequence[Kind], year: int) -> None:
        self._kinds = kinds
        self._year = year
        self._kept: dict[tuple[int, str], _Kept] = {}
        self._seen = [0] * len(kinds)
        self._shapes: dict[str, Unexplained] = {}
        self._order = 0
        self._boot = 0
        self._uptime: float | None = None
        self._file = ""
        self._repetitions = Repetitions()
        self.facts: list[Fact] = []

    def begin(self, file: str) -> None:
        """The next lines are of this file."""
        self._file = file
        self._uptime = None
        self._repetitions.begin()

    def line(self, number: int, raw: str, candidates: set[int], ahead: Ahead) -> dict[int, int]:
        """Take one candidate line.

        Returns the starts of the lines that continue its message -> -1 where they are used up, else the number
        of the kind that shares them with others.
        """
        parts: Split | None = None
        used: dict[int, int] = {}
        known = False
        rebooted = False
        for candidate in sorted(candidates):
            if candidate < 0:
                continue
            kind = self._kinds[candidate]
            match = kind.regex.search(raw)
            folded = self._fold(candidate, kind, raw, ahead) if match is not None else None
            if folded is not None:
                known = True
                for start in folded:
                    used.setdefault(start, candidate if kind.shared else -1)
                continue
            if parts is None:
                parts = split(raw, self._year)
                rebooted = self._clock(parts)
            match = kind.regex.search(parts.message) or match
            if match is None:
                continue
            known = True
            if quoted(match.string, match.start()):
                continue
            self._seen[candidate] += 1
            if kind.level == "noise":
                continue
            if kind.name == BOOT and self._seen[candidate] > 1 and not rebooted:
                self._boot += 1
            starts = self._event(candidate, kind, match, parts, number, raw, ahead)
            for start in starts:
                used.setdefault(start, candidate if kind.shared else -1)
        if not known and -1 in candidates:
            if parts is None:
                parts = split(raw, self._year)
                self._clock(parts)
            self._unknown(number, raw, parts.message)
        return used

    def _clock(self, parts: Split) -> bool:
        """Follow boot-relative time; True where it starts anew."""
        if parts.uptime is None:
            return False
        rebooted = self._uptime is not None and parts.uptime + REBOOT < self._uptime
        if rebooted:
            self._boot += 1
        self._uptime = parts.uptime
        return rebooted

    def _fold(self, candidate: int, kind: Kind, raw: str, ahead: Ahead) -> set[int] | None:
        """Count a line of a flood without taking it apart; None where it has to be.

        Returns the starts of its continuation lines; of a message of several lines only those that follow at once.
        """
        if kind.level == "noise":
            self._seen[candidate] += 1
            return set()
        if kind.facts and self._order <= MOST_FACTS:
            return None
        bdf = address(raw) or "" if kind.about in ("gpu", "link") else ""
        kept = self._kept.get((candidate, bdf))
        if kept is None or len(kept.events) < KEEP:
            return None
        kept.dropped += 1
        self._seen[candidate] += 1
        used: set[int] = set()
        if kind.more_regex is not None:
            for start, following in ahead():
                if len(used) >= kind.more_limit or bdf[5:] not in following or not kind.more_regex.search(following):
                    break
                used.add(start)
        return used

    def _event(
        self, candidate: int, kind: Kind, match: re.Match[str], parts: Split, number: int, raw: str, ahead: Ahead
    ) -> set[int]:
        fields = {k: v.strip() for k, v in match.groupdict().items() if v is not None}
        bdf = address(fields["bdf"]) if "bdf" in fields else address(parts.message) or address(raw)
        more, used = self._continuation(kind, bdf, fields, number, ahead)
        if self._repetitions.repeated(candidate, parts.message[:QUOTE], parts.at, parts.uptime):
            return used
        subject = subject_of(kind, bdf, fields)
        self._order += 1
        event = Event(
            kind=kind.name,
            subject=subject,
            evidence=Evidence(self._file, number, raw[:QUOTE]),
            fields=fields,
            more=more,
            at=parts.at,
            uptime=parts.uptime,
            boot=self._boot,
            level=kind.level,
            alive=kind.alive,
            mark=kind.mark,
            order=self._order,
        )
        kept = self._kept.setdefault((candidate, bdf or "" if kind.about in ("gpu", "link") else ""), _Kept([]))
        if len(kept.events) < KEEP:
            kept.events.append(event)
        else:
            kept.dropped += 1
        if kind.facts and self._order <= MOST_FACTS:
            self._emit(kind, fields, bdf, event.evidence)
        return used

    def _continuation(
        self, kind: Kind, bdf: str | None, fields: dict[str, str], number: int, ahead: Ahead
    ) -> tuple[tuple[Evidence, ...], set[int]]:
        """Lines behind the first one that belong to the message. Lines of other GPUs in between are skipped."""
        if kind.more_regex is None:
            return (), set()
        found: list[Evidence] = []
        used: set[int] = set()
        skipped = 0
        for start, raw in ahead():
            number += 1
            if len(found) >= kind.more_limit or skipped >= kind.more_limit:
                break
            if bdf and bdf[5:] not in raw.lower() and address(split(raw, self._year).message):
                skipped += 1
                continue
            match = kind.more_regex.search(raw) or kind.more_regex.search(split(raw, self._year).message)
            if match is None:
                break
            found.append(Evidence(self._file, number, raw[:QUOTE]))
            used.add(start)
            values = {k: v.strip() for k, v in match.groupdict().items() if v is not None}
            for key, value in values.items():
                if key.startswith("last_"):
                    fields[key] = value
                else:
                    fields.setdefault(key, value)
            if kind.ends in values:
                break
        return tuple(found), used

    def _emit(self, kind: Kind, fields: dict[str, str], bdf: str | None, evidence: Evidence) -> None:
        """Facts that the line states. Templates whose fields this wording lacks are left out."""
        values = {**fields, "bdf": bdf} if bdf else fields
        for path, template in kind.facts.items():
            try:
                self.facts.append(Fact(path.format(**values), template.format(**values), evidence, rank=1))
            except (KeyError, IndexError):
                continue

    def _unknown(self, number: int, raw: str, message: str) -> None:
        wrong = LOOKS_WRONG.search(message)
        if wrong is None or LOOKS_RIGHT.search(message) or request(message, wrong.start()):
            return
        shape = _NUMBERS.sub("#", message[:QUOTE])[:160]
        if shape not in self._shapes and len(self._shapes) >= GROUPS:
            shape = OTHER_SHAPES
        known = self._shapes.get(shape)
        if known is None:
            self._shapes[shape] = Unexplained(Evidence(self._file, number, raw[:QUOTE]), 1, shape)
        else:
            self._shapes[shape] = msgspec.structs.replace(known, count=known.count + 1)

    def tired(self) -> frozenset[int]:
        """Kinds whose needles need not be searched for any more: neutral lines that were seen often enough."""
        return frozenset(n for n, k in enumerate(self._kinds) if k.level == "info" and self._seen[n] > ENOUGH)

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


def subject_of(kind: Kind, bdf: str | None, fields: dict[str, str]) -> Subject:
    """Whom the event is about; the node where the line does not say."""
    if kind.about == "gpu":
        if bdf:
            return Subject("gpu", bdf)
        if fields.get("device", "").isdigit():
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
        return Subject("link", bdf)
    return NODE
