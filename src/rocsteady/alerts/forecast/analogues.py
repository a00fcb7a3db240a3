"""Analogues: the moments of the past that looked most like now, and the median of what followed them.

Bursts are not linear: a queue fills and drains in its own shape, which no ARIMA and no line describes. Only moments
whose whole future is known at the origin are used.
"""

from __future__ import annotations

import msgspec
import numpy as np

from rocsteady.alerts.forecast.series import Floats

LAGS = (0, 1, 3)
"""Steps back that make up how a moment looks, each less important than the one before."""
WEIGHTS = (1.0, 0.7, 0.4)
MOST = 20
"""Analogues whose median is taken; fewer where the series is short."""


class Analogues(msgspec.Struct, frozen=True):
    """Forecasts by the ``count`` nearest moments."""

    count: int

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """Forecasts made at the origins ``first`` to the end (see ``baselines.Method``)."""
        n, deep = len(values), max(LAGS)
        out = np.full((n - first, horizon), np.nan)
        look = np.column_stack(
            [w * np.concatenate((np.repeat(values[0], b), values[: n - b])) for b, w in zip(LAGS, WEIGHTS, strict=True)]
        )
        ahead = np.arange(1, horizon + 1)
        for origin in range(max(first, deep + horizon + self.count), n):
            far = np.abs(look[deep : origin - horizon + 1] - look[origin]).sum(axis=1)
            near = np.argpartition(far, self.count)[: self.count] + deep
            out[origin - first] = np.median(values[near[:, None] + ahead], axis=0)
        return out


def fit_analogues(points: int) -> Analogues:
    """For a series of so many points."""
    return Analogues(max(3, min(MOST, points // 6)))
