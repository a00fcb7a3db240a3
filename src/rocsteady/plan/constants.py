"""Measured constants, each with an interval and where it comes from (``constants.json``)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec


class Constant(msgspec.Struct, frozen=True):
    """``point`` is planned with; ``low`` and ``high`` bound it. ``unit`` says of what."""

    id: str
    unit: str
    point: float
    low: float
    high: float
    origin: str = msgspec.field(name="from")
    source: str


class _File(msgspec.Struct):
    constants: tuple[Constant, ...]


@cache
def constants() -> dict[str, Constant]:
    """All constants by id."""
    raw = (Path(__file__).parent / "constants.json").read_bytes()
    return {c.id: c for c in msgspec.json.decode(raw, type=_File).constants}


class Term(msgspec.Struct, frozen=True):
    """An amount in GiB with its bounds."""

    point: float
    low: float
    high: float

    def __add__(self, other: Term) -> Term:
        return Term(self.point + other.point, self.low + other.low, self.high + other.high)


ZERO = Term(0.0, 0.0, 0.0)


def amount(name: str, factor: float = 1.0) -> Term:
    """A constant times ``factor``, as GiB."""
    c = constants()[name]
    return Term(c.point * factor, c.low * factor, c.high * factor)
