"""Brings time stamps of different logs onto one clock, and notices when a clock jumped.

dmesg counts seconds since boot, journals and engines state wall-clock time. Where one message stands in both, the
difference is the moment of boot; where none does, boot-relative times stay what they are and a note says so.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median

import msgspec

from rocsteady.events.prefix import split
from rocsteady.model import Event

JUMP = 60.0
"""Seconds by which wall-clock time must run back within one file to be called a jump: log daemons that merge
sources write lines a few seconds out of order."""
DRIFT = 5.0
"""Seconds by which two estimates of the boot moment may differ: dmesg -T and journals round, and NTP slews."""


def align(events: tuple[Event, ...], boot_time: float | None) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    """Give boot-relative events a wall-clock time where that is known; returns notes for people."""
    notes: list[str] = list(_jumps(events))
    offsets = _offsets(events)
    starts: dict[int, float] = {}
    for boot, values in offsets.items():
        starts[boot] = median(values)
        if max(values) - min(values) > DRIFT:
            notes.append(
                f"boot {boot}: wall clock and boot clock differ by {max(values) - min(values):.0f} s over the log; "
                "the wall clock was set in between"
            )
    relative = [e for e in events if e.at is None and e.uptime is not None]
    if not relative:
        return events, tuple(notes)
    newest = max(e.boot for e in relative)
    if boot_time is not None:
        starts.setdefault(newest, boot_time)
    if not starts:
        if any(e.at is not None for e in events):
            notes.append("kernel times are seconds since boot; no line ties them to the wall clock of the other logs")
        return events, tuple(notes)
    out = [
        msgspec.structs.replace(e, at=starts[e.boot] + e.uptime)
        if e.at is None and e.uptime is not None and e.boot in starts
        else e
        for e in events
    ]
    notes.append("kernel times were aligned with the wall clock")
    return tuple(out), tuple(notes)


def _offsets(events: tuple[Event, ...]) -> dict[int, list[float]]:
    """Boot moment by boot, from messages that are in a dated and in a boot-relative log, or carry both stamps."""
    dated: dict[str, list[float]] = defaultdict(list)
    relative: dict[str, list[Event]] = defaultdict(list)
    offsets: dict[int, list[float]] = defaultdict(list)
    for event in events:
        if event.at is not None and event.uptime is not None:
            offsets[event.boot].append(event.at - event.uptime)
            continue
        if event.at is None and event.uptime is None:
            continue
        message = split(event.evidence.text, 2000).message.strip()
        if event.at is not None:
            dated[message].append(event.at)
        else:
            relative[message].append(event)
    for message, twins in relative.items():
        moments = dated.get(message, [])
        if len(moments) == len(twins):
            for at, twin in zip(sorted(moments), twins, strict=True):
                offsets[twin.boot].append(at - (twin.uptime or 0.0))
    return offsets


def _jumps(events: tuple[Event, ...]) -> list[str]:
    last: dict[str, Event] = {}
    notes: list[str] = []
    for event in events:
        if event.at is None:
            continue
        before = last.get(event.evidence.file)
        if before is not None and before.at is not None and event.at + JUMP < before.at and len(notes) < 5:
            notes.append(
                f"{event.evidence.file}:{event.evidence.line}: the clock went back by {before.at - event.at:.0f} s"
            )
        last[event.evidence.file] = event
    return notes
