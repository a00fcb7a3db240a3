"""A series on an even grid: what every source is brought to before anything is forecast."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Point = tuple[float, float]
"""Time in seconds since 1970, value."""


class Refusal(msgspec.Struct, frozen=True):
    """Why there is no forecast: one word for machines, a sentence for people."""

    reason: str
    text: str


class Series(msgspec.Struct, frozen=True):
    """Values at ``end - (n - 1) * step`` ... ``end``; a value that is missing is NaN.

    ``step`` in seconds, ``end`` in seconds since 1970, ``dropped``: points of the input that were no finite numbers.
    """

    values: Floats
    step: float
    end: float
    dropped: int = 0

    def filled(self) -> Floats:
        """The values with each missing one replaced by the last known before it (the first ones by the first known)."""
        return filled(self.values)


def filled(values: Floats) -> Floats:
    """Missing values replaced by the last known before them; nothing of the future is used but for the head."""
    known = np.isfinite(values)
    if known.all() or not known.any():
        return values.copy()
    position = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
    out = values[position]
    out[: int(np.argmax(known))] = values[int(np.argmax(known))]
    return out


def usual_step(times: Sequence[float]) -> float | None:
    """The median distance of neighbouring times, rounded to a whole second from ten seconds on; None below two times."""
    order = np.unique(np.asarray([t for t in times if math.isfinite(t)], dtype=float))
    if len(order) < 2:
        return None
    step = float(np.median(np.diff(order)))
    return float(round(step)) if step >= 10 else step


def regular(points: Sequence[Point], step: float | None, most: int) -> Series | Refusal:
    """The newest ``most`` cells of the grid. Several points of one cell become their mean.

    The grid ends at the newest point that is a finite number; points out of order are put in order.
    """
    good = [(t, v) for t, v in points if math.isfinite(t) and math.isfinite(v)]
    dropped = len(points) - len(good)
    if not good:
        kind = f"none of the {len(points)} points is a finite number" if points else "the source has no points"
        return Refusal("no-data", kind)
    step = step or usual_step([t for t, _ in good])
    if step is None or step <= 0 or not math.isfinite(step):
        return Refusal("too-short", "one moment only: no step can be told from it")
    end = max(t for t, _ in good)
    times = np.asarray([t for t, _ in good], dtype=float)
    cells = np.rint(np.minimum((end - times) / step, float(most)))
    kept = cells < most
    back = cells[kept].astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.bincount(back, weights=np.asarray([v for _, v in good], dtype=float)[kept])
        counts = np.bincount(back)
        values = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)[::-1].copy()
    if np.isinf(values).any():
        return Refusal("invalid", "values of this size cannot be averaged")
    return Series(values, step, end, dropped)
