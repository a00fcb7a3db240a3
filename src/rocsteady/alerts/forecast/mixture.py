"""A mean of all methods, weighted by how well each has done of late.

The weights are a state that moves with each point, as the level of a smoothing does: a forecast depends on nothing but
what was known when it was made. Its two parameters are fixed in ``limits.yaml`` and never fitted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.series import Floats

Truths = npt.NDArray[np.bool_]
TINY = 1e-12


class Mixture:
    """Weights of ``methods`` methods over a horizon, moved by each new value."""

    def __init__(self, methods: int, horizon: int) -> None:
        self._made = np.full((horizon, methods, horizon), np.nan)
        self._steps = np.arange(horizon)
        self._error = np.zeros(methods)
        self._count = np.zeros(methods)
        self._forget = limits().forget.value
        self._sharp = limits().sharpness.value

    def learn(self, value: float) -> None:
        """A new value (NaN: missing). Each method's forecasts of it, made one to ``horizon`` steps ago, are judged."""
        off = np.abs(self._made[self._steps, :, self._steps] - value)
        known = np.isfinite(off)
        count = known.sum(axis=0)
        judged = count > 0
        if judged.any():
            mean = np.where(known, off, 0.0).sum(axis=0) / np.maximum(count, 1)
            self._error[judged] = self._forget * self._error[judged] + mean[judged]
            self._count[judged] = self._forget * self._count[judged] + 1

    def weights(self, able: Truths) -> Floats:
        """Weights of the methods that have a forecast now; they sum to 1."""
        error = self._error / np.maximum(self._count, TINY)
        usual = able & (self._count > 0)
        if not usual.any():
            return able / max(1, int(able.sum()))
        least = max(float(error[usual].min()), TINY)
        weight = np.where(usual, (np.maximum(error, TINY) / least) ** -self._sharp, 0.0)
        return np.asarray(weight / weight.sum())

    def mix(self, paths: Floats) -> tuple[Floats, Floats]:
        """The mean of what the methods forecast now (one row each), and the weights; remembers the rows."""
        able = np.asarray(np.isfinite(paths).all(axis=1))
        weight = self.weights(able)
        self._made[1:] = self._made[:-1].copy()
        self._made[0] = paths
        return weight @ np.where(able[:, None], paths, 0.0), weight
