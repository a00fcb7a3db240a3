"""One signal: fitted once, moved by each new point, asked for its forecast."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import numpy as np

from rocsteady.alerts.forecast.guards import refuse
from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.methods import MIXTURE, NAMES, Fitted, fit_methods, scale_of
from rocsteady.alerts.forecast.rolling import Rolled, residuals, roll
from rocsteady.alerts.forecast.scores import crosses
from rocsteady.alerts.forecast.season import find_season
from rocsteady.alerts.forecast.series import Floats, Refusal, Series
from rocsteady.alerts.forecast.signals import Signal


class Outlook(msgspec.Struct, frozen=True):
    """Forecast and 95 % band, one value per step; ``weights`` by method; ``cut``: steps held at a bound of the unit.

    ``expected`` and ``earliest``: steps until the forecast, and the worse edge of the band, cross the objective; 0
    where it is crossed now, None where no crossing is seen.
    """

    path: Floats
    low: Floats
    high: Floats
    weights: dict[str, float]
    cut: int
    expected: int | None
    earliest: int | None


class Forecaster:
    """Made by ``fit``. Not safe for several threads at once."""

    def __init__(self, series: Series, signal: Signal, horizon: int, fitted: Fitted, rolled: Rolled) -> None:
        self.series = series
        self.signal = signal
        self.horizon = horizon
        self.fitted = fitted
        self.rolled = rolled
        self.fit_seconds = 0.0
        self.update_seconds: float | None = None
        self._filled = series.filled()
        self._made = rolled.made
        self._outlook = self._next()

    def outlook(self) -> Outlook | Refusal:
        """The forecast from the newest point."""
        return self._outlook

    def update(self, value: float, clock: Callable[[], float] = time.perf_counter) -> Outlook | Refusal:
        """One new point, one step after the newest (NaN: it is missing). Parameters and choice stay as they are.

        A value that the scale cannot take is refused: fit anew.
        """
        start = clock()
        if not np.isfinite(value):
            value = float("nan")
        elif not self.fitted.scale.takes(value) or not self.signal.bounds[0] <= value <= self.signal.bounds[1]:
            return Refusal("invalid", f"{value:.6g} does not fit a series that was fitted to other values: fit anew")
        series = self.series
        self.series = msgspec.structs.replace(
            series, values=np.append(series.values[1:], value), end=series.end + series.step
        )
        self._filled = np.append(self._filled[1:], value if np.isfinite(value) else self._filled[-1])
        rolled = self.rolled
        steps = np.arange(len(self._made))
        off = np.full(self.horizon, np.nan)
        if np.isfinite(value):
            off[: len(steps)] = residuals(rolled.ruler, np.asarray([value]), self._made[steps, steps])
        rolled.band.learn(off)
        rolled.mixture.learn(value)
        self._outlook = self._next()
        self.update_seconds = clock() - start
        return self._outlook

    def _next(self) -> Outlook | Refusal:
        scale, rolled = self.fitted.scale, self.rolled
        paths = self.fitted.paths(self._filled, self.horizon, len(self._filled) - 1)[:, 0]
        mixed, weight = rolled.mixture.mix(paths)
        path = mixed if rolled.winner == MIXTURE else paths[NAMES.index(rolled.winner)]
        self._made = np.concatenate((path[None], self._made[: self.horizon - 1]))
        below, above = rolled.band.offsets()
        own = rolled.ruler.forth(path)
        low, high = rolled.ruler.back(own + below), rolled.ruler.back(own + above)
        largest = np.abs(self._filled).max()
        if not (np.isfinite(path).all() and np.isfinite(low).all() and np.isfinite(high).all()):
            return Refusal("unstable", f"the forecast of {rolled.winner} is not finite")
        if np.abs(path).max() > limits().wild_factor.value * largest:
            return Refusal("unstable", f"the forecast of {rolled.winner} leaves {largest:.6g} by a factor of 100")
        bottom, top = self.signal.bounds
        held = int(((path <= scale.low) | (path >= scale.high)).sum())
        weights = dict(zip(NAMES, weight.tolist(), strict=True)) if rolled.winner == MIXTURE else {rolled.winner: 1.0}
        low, high = np.clip(low, bottom, top), np.clip(high, bottom, top)
        worse = high if self.signal.worse == "above" else low
        return Outlook(path, low, high, weights, held, self._until(path), self._until(worse))

    def _until(self, path: Floats) -> int | None:
        if self.signal.misses(float(self._filled[-1])):
            return 0
        hits = np.flatnonzero(crosses(path, self.signal))
        return int(hits[0]) + 1 if len(hits) else None


def fit(
    series: Series,
    signal: Signal,
    horizon: int,
    now: float | None,
    clock: Callable[[], float] = time.perf_counter,
) -> Forecaster | Refusal:
    """Choose, estimate and score; or the reason why not.

    ``horizon`` in steps. ``now`` in seconds since 1970, None where the age of the series does not matter. ``clock``
    times the fit.
    """
    start = clock()
    why = refuse(series, signal, horizon, now)
    if why is not None:
        return why
    filled = series.filled()
    scale = scale_of(filled, signal.bounds)
    rolled = roll(series, scale, signal, horizon)
    season = find_season(scale.forth(filled), series.step)
    fitted = fit_methods(filled, scale, season, rolled.late.arima.order)
    made = Forecaster(series, signal, horizon, fitted, rolled)
    made.fit_seconds = clock() - start
    return made
