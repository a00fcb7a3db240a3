"""What can be forecast: a signal's unit, its natural bounds, and which side of an objective is the bad one."""

from __future__ import annotations

import math
import re
from typing import Literal

import msgspec

from rocsteady.model import InputError

Unit = Literal["seconds", "bytes", "ratio", "none"]
Worse = Literal["above", "below"]
SECONDS = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {
    "": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    "kib": 1024.0, "mib": 1024.0**2, "gib": 1024.0**3, "tib": 1024.0**4,
}  # fmt: skip
BOUNDS: dict[Unit, tuple[float, float]] = {
    "seconds": (0.0, math.inf), "bytes": (0.0, math.inf), "ratio": (0.0, 1.0), "none": (-math.inf, math.inf),
}  # fmt: skip


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """A signal and its objective (None: nothing to breach). ``worse``: the side on which the objective is missed."""

    name: str
    unit: Unit = "none"
    worse: Worse = "above"
    objective: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value that the unit allows."""
        return BOUNDS[self.unit]

    def misses(self, value: float) -> bool:
        """Whether a value is on the bad side of the objective."""
        if self.objective is None:
            return False
        return value > self.objective if self.worse == "above" else value < self.objective


def quantity(text: str, unit: Unit, option: str) -> float:
    """``2s``, ``500 ms``, ``12GiB``, ``90%``, ``0.9``: in seconds, bytes, 0 to 1, or as it stands.

    Raises:
        InputError: it is not a number with a unit that fits.
    """
    match = re.fullmatch(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z%]*)", text.strip())
    word = match[2].lower() if match else ""
    known: dict[str, float] = {"seconds": SECONDS, "bytes": BYTES, "ratio": {"": 1.0, "%": 0.01}, "none": {"": 1.0}}[
        unit
    ]
    if match is None or word not in known:
        wanted = {
            "seconds": "a time like 2s or 500ms",
            "bytes": "an amount like 12GiB",
            "ratio": "a share like 0.9 or 90%",
        }
        raise InputError(f"{option} {text!r}: {wanted.get(unit, 'a plain number')} was wanted")
    value = float(match[1]) * known[word]
    low, high = BOUNDS[unit]
    if not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"{option} {text!r}: outside {low:g} to {high:g}")
    return value


def duration(text: str, option: str) -> float:
    """A time above zero, in seconds.

    Raises:
        InputError: it is none.
    """
    value = quantity(text, "seconds", option)
    if value <= 0:
        raise InputError(f"{option} {text!r}: above 0 was wanted")
    return value
