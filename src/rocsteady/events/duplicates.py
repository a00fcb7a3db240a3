"""One message that several logs hold is one event: the ring buffer, the journal and kern.log repeat each other."""

from __future__ import annotations

import msgspec

PER_MESSAGE = 100
"""Occurrences remembered of one message; a flood is folded elsewhere."""
MESSAGES = 50_000
"""Different messages remembered; beyond that nothing is taken for a repetition."""
SAME_UPTIME = 0.5
"""Seconds between the stamps of one message in two logs; both copy the kernel's own stamp."""
SAME_TIME = 2.0
"""Seconds between the wall-clock stamps: a journal dates a message when it receives it."""
ZONE_STEP = 900
"""Stamps without a zone are local time; zones differ by multiples of 15 minutes."""


class _Occurrence(msgspec.Struct):
    at: float | None
    uptime: float | None
    file: int
    matched: int = -1


class Repetitions:
    """Remembers the messages of the files read so far."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], list[_Occurrence]] = {}
        self._file = 0

    def begin(self) -> None:
        """The next messages are of another file."""
        self._file += 1

    def repeated(self, kind: int, message: str, at: float | None, uptime: float | None) -> bool:
        """Whether an earlier file holds the same message with a fitting time; each of its messages counts once."""
        key = (kind, message)
        known = self._known.get(key)
        if known is None:
            if len(self._known) < MESSAGES:
                self._known[key] = [_Occurrence(at, uptime, self._file)]
            return False
        for other in known:
            if other.file != self._file and other.matched != self._file and _fits(other, at, uptime):
                other.matched = self._file
                other.at = at if other.at is None else other.at
                other.uptime = uptime if other.uptime is None else other.uptime
                return True
        if len(known) < PER_MESSAGE:
            known.append(_Occurrence(at, uptime, self._file))
        return False


def _fits(other: _Occurrence, at: float | None, uptime: float | None) -> bool:
    if other.uptime is not None and uptime is not None and abs(other.uptime - uptime) > SAME_UPTIME:
        return False
    if other.at is not None and at is not None:
        apart = abs(other.at - at) % ZONE_STEP
        return abs(other.at - at) < 15 * 3600 and min(apart, ZONE_STEP - apart) <= SAME_TIME
    return True
