"""The band: how far reality was from forecasts of the same distance, by rolling origin, and kept right afterwards.

Each edge starts as the empirical quantile of the residuals that the rolling origin gave (conformal, with its correction
for few of them), and then moves with each new point: out by a step where the point fell outside, in by a small part of
a step where it did not, so that in the long run the wanted share is inside whatever the series does.
Method: Angelopoulos, Candes, Tibshirani, Conformal PID control for time series prediction, 2023,
https://arxiv.org/abs/2307.16895
"""

from __future__ import annotations

import numpy as np

from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.series import Floats


class Band:
    """Edges as offsets in the scale of the residuals; any shape whose last axis is the horizon."""

    def __init__(self, residuals: Floats) -> None:
        """From residuals (what came less what was forecast), one per origin along the first axis, NaN where unknown."""
        self._miss = limits().miss.value
        self.low = quantile(residuals, self._miss / 2, lower=True)
        self.high = quantile(residuals, 1 - self._miss / 2, lower=False)
        self.step = limits().tracking.value * (self.high - self.low)

    def learn(self, residual: Floats) -> None:
        """The residuals of the newest point by horizon; NaN where nothing was forecast for it."""
        known = np.isfinite(residual)
        half = self._miss / 2
        self.high = np.where(known, self.high + self.step * ((residual > self.high) - half), self.high)
        self.low = np.where(known, self.low - self.step * ((residual < self.low) - half), self.low)

    def offsets(self) -> tuple[Floats, Floats]:
        """Lower and upper offset by horizon: neither is nearer for a step further away, and both enclose the forecast."""
        low = np.minimum.accumulate(np.minimum(self.low, 0.0), axis=-1)
        high = np.maximum.accumulate(np.maximum(self.high, 0.0), axis=-1)
        return low, high


def quantile(residuals: Floats, share: float, lower: bool) -> Floats:
    """Empirical quantile along the first axis over what is known, rounded outwards as conformal prediction does; 0
    where nothing is known."""
    ordered = np.sort(residuals, axis=0)  # NaN sorts to the end
    count = np.isfinite(residuals).sum(axis=0)
    if lower:
        place = np.floor(share * (count + 1)).astype(np.int64) - 1
    else:
        place = np.ceil(share * (count + 1)).astype(np.int64) - 1
    place = np.clip(place, 0, np.maximum(count - 1, 0))
    found = np.take_along_axis(ordered, place[None], axis=0)[0]
    return np.where(count > 0, found, 0.0)
