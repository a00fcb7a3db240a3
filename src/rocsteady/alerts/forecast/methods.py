"""All methods fitted to one stretch of a series, and what they forecast from each origin, in the series' own unit."""

from __future__ import annotations

import msgspec
import numpy as np

from rocsteady.alerts.forecast.analogues import fit_analogues
from rocsteady.alerts.forecast.arima import Arima, fit_arima
from rocsteady.alerts.forecast.baselines import LastValue, Line, Method, SeasonalNaive, fit_smoothing
from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.season import Season
from rocsteady.alerts.forecast.series import Floats

BASELINES = ("last value", "seasonal naive", "linear", "ets")
NAMES = (*BASELINES, "arima", "analogues")
"""The methods in the order of every array that has one row per method."""
MIXTURE = "mixture"
FLOOR_SHARE = 0.5
"""Of the smallest value ever seen: a series that is above zero is not forecast below this (lines fall through zero)."""


class Scale(msgspec.Struct, frozen=True):
    """Where differences are taken: logarithms of a series that is always above zero, else the values themselves."""

    log: bool
    low: float
    high: float

    def forth(self, values: Floats) -> Floats:
        """Into the scale."""
        return np.log(values) if self.log else values

    def back(self, values: Floats) -> Floats:
        """Out of the scale; what overflows is infinite."""
        if not self.log:
            return values
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(values))

    def takes(self, value: float) -> bool:
        """Whether a new value fits into the scale."""
        return not self.log or value > 0


def scale_of(values: Floats, bounds: tuple[float, float]) -> Scale:
    """For a series without missing values."""
    smallest = float(values.min())
    if smallest > 0:
        return Scale(True, FLOOR_SHARE * smallest, bounds[1])
    return Scale(False, *bounds)


class Fitted(msgspec.Struct, frozen=True):
    """Methods with their parameters, in the order of ``NAMES``."""

    scale: Scale
    methods: tuple[Method, ...]
    arima: Arima

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """One plane per method, one row per origin from ``first`` on; cut at the bounds of the scale."""
        own = self.scale.forth(values)
        planes = []
        for name, method in zip(NAMES, self.methods, strict=True):
            if name in BASELINES:
                planes.append(method.paths(values, horizon, first))
            else:
                planes.append(self.scale.back(method.paths(own, horizon, first)))
        return np.clip(np.stack(planes), self.scale.low, self.scale.high)


def fit_methods(values: Floats, scale: Scale, season: Season, order: tuple[int, int, int] | None = None) -> Fitted:
    """Parameters of every method from these values and nothing else.

    A season is modelled where it is strong and fits twice; the seasonal baseline has one in any case.
    """
    n = len(values)
    strong = season.strength >= limits().season_strength.value and 2 <= 2 * season.length <= n
    length = season.length if strong else 0
    own = scale.forth(values)
    arima = fit_arima(own, length, order)
    methods: tuple[Method, ...] = (
        LastValue(),
        SeasonalNaive(max(1, season.length)),
        Line(max(5, min(int(limits().line_points.value), n // 2))),
        fit_smoothing(values, length),
        arima,
        fit_analogues(n),
    )
    return Fitted(scale, methods, arima)
