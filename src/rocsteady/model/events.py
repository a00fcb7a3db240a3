"""Events: instants that a log states."""

from __future__ import annotations

import msgspec

from rocsteady.model.base import Evidence, Subject


class Event(msgspec.Struct, frozen=True):
    """One thing that a log says happened; the lines of a multi-line message are one event.

    ``at`` is wall-clock time in seconds since 1970 (UTC), ``uptime`` seconds since boot; either may be
    unknown (None), never guessed. ``count`` is above 1 where the scanner folded a flood of the same
    kind and subject into one event. ``fields`` are the named groups of the pattern, as text.
    """

    kind: str
    subject: Subject | None
    evidence: Evidence
    fields: dict[str, str]
    more: tuple[Evidence, ...] = ()
    at: float | None = None
    uptime: float | None = None
    boot: int = 0
    count: int = 1
    level: str = "error"
    """error, notice or info; see ``events.kinds``."""
    alive: bool = False
    """The line says that a part works (driver ready, server listening)."""
    mark: str = ""
    """``crash`` or ``activity``; see ``events.kinds``."""
    order: int = 0
    """Position in reading order: compares events whose time stamps are missing."""


class Unexplained(msgspec.Struct, frozen=True):
    """Lines that look like errors and that no event kind knows, grouped by shape."""

    evidence: Evidence
    count: int
    shape: str


class Span(msgspec.Struct, frozen=True):
    """The stretch of time that one log covers, by its first and last dated line."""

    file: str
    first: float
    last: float


class EventLog(msgspec.Struct, frozen=True):
    """All that one node's logs say."""

    events: tuple[Event, ...] = ()
    unexplained: tuple[Unexplained, ...] = ()
    files: tuple[str, ...] = ()
    clock_notes: tuple[str, ...] = ()
    """How time stamps were aligned, and where they could not be."""
    spans: tuple[Span, ...] = ()
