"""The forecasts that anything else must beat: last value, seasonal naive, straight line, exponential smoothing (ETS).

Each is a small object with ``paths(values, horizon, first)``: one row per origin from ``first`` to the end, the
forecast of the next ``horizon`` steps made there from that value and those before it. NaN where it has too few.
"""

from __future__ import annotations

from typing import Protocol

import msgspec
import numpy as np

from rocsteady.alerts.forecast.series import Floats


class Method(Protocol):
    """A fitted way of forecasting."""

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """Forecasts made at the origins ``first`` to ``len(values) - 1``."""
        ...


class LastValue(msgspec.Struct, frozen=True):
    """The newest value stays."""

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """See ``Method``."""
        return np.repeat(values[first:, None], horizon, axis=1)


class SeasonalNaive(msgspec.Struct, frozen=True):
    """What was one season before."""

    length: int

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """See ``Method``."""
        ahead = np.arange(1, horizon + 1)
        source = np.arange(first, len(values))[:, None] + ahead - self.length * -(-ahead // self.length)
        return np.where(source >= 0, values[np.maximum(source, 0)], np.nan)


class Line(msgspec.Struct, frozen=True):
    """Least squares line through the newest ``points``, as Prometheus' ``predict_linear``."""

    points: int

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """See ``Method``."""
        out = np.full((len(values) - first, horizon), np.nan)
        start = max(first, self.points - 1)
        if start >= len(values):
            return out
        windows = np.lib.stride_tricks.sliding_window_view(values[start - self.points + 1 :], self.points)
        x = np.arange(self.points) - (self.points - 1) / 2
        slope = windows @ x / (x @ x)
        ahead = (self.points - 1) / 2 + np.arange(1, horizon + 1)
        out[start - first :] = windows.mean(axis=1)[:, None] + slope[:, None] * ahead
        return out


class Smoothing(msgspec.Struct, frozen=True):
    """Additive exponential smoothing: level, damped trend, season (length 0: none).

    ``trend`` 0 is simple smoothing. The season starts as the first one of the series, less its mean.
    """

    level: float
    trend: float
    damping: float
    seasonal: float
    length: int

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """See ``Method``."""
        n, length = len(values), self.length
        head = values[: length or 10]
        level, slope = float(head.mean()), 0.0
        season = (head - level).tolist() if length else []
        levels, slopes = np.empty(n), np.empty(n)
        keep, damp, move = self.level, self.damping, self.seasonal * (1 - self.level)
        for now, value in enumerate(values.tolist()):
            base = level + damp * slope
            error = value - base - (season[now] if length else 0.0)
            level = base + keep * error
            slope = damp * slope + self.trend * error
            if length:
                season.append(season[now] + move * error)
            levels[now], slopes[now] = level, slope
        grow = np.cumsum(damp ** np.arange(1, horizon + 1))
        out = levels[first:, None] + slopes[first:, None] * grow
        if length:
            ahead = np.arange(horizon) % length + 1
            out = out + np.asarray(season)[np.arange(first, n)[:, None] + ahead]
        return np.asarray(out)


LEVELS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
TRENDS = ((0.0, 0.0), (0.02, 1.0), (0.1, 1.0), (0.3, 1.0), (0.02, 0.95), (0.1, 0.95), (0.3, 0.9))
"""Share of the level's gain that moves the trend, and its damping; the first has no trend."""
SEASONALS = (0.05, 0.2)


def fit_smoothing(values: Floats, length: int) -> Smoothing:
    """The one of a fixed grid whose one-step error is least on these values (all of the grid run side by side)."""
    grid = np.asarray([(a, a * b, d, s) for a in LEVELS for b, d in TRENDS for s in (SEASONALS if length else (0.0,))])
    keep, trend, damp, seasonal = grid.T
    head = values[: length or 10]
    level, slope = np.full(len(grid), head.mean()), np.zeros(len(grid))
    season = np.empty((len(values) + length, len(grid)))
    season[:length] = (head - head.mean())[:, None] if length else 0.0
    move = seasonal * (1 - keep)
    total = np.zeros(len(grid))
    burn = max(len(head), 10)
    for now, value in enumerate(values):
        base = level + damp * slope
        error = value - base
        if length:
            error = error - season[now]
            season[now + length] = season[now] + move * error
        level = base + keep * error
        slope = damp * slope + trend * error
        if now >= burn:
            total += np.abs(error)
    best = [float(part) for part in grid[int(np.argmin(total))]]
    return Smoothing(best[0], best[1], best[2], best[3], length)
