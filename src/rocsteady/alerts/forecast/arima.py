"""ARIMA of small order, on the residual of the season's sines and cosines.

statsmodels estimates: Hannan and Rissanen's regressions try all orders in milliseconds, the best by Akaike's criterion
is then refined by maximum likelihood in state space. The rolling forecasts are the recursion of the estimated model
itself, so that all origins cost one pass and a new point next to nothing.
"""

from __future__ import annotations

import warnings

import msgspec
import numpy as np
from scipy.signal import lfilter
from statsmodels.tsa.arima.estimators.hannan_rissanen import hannan_rissanen
from statsmodels.tsa.statespace.sarimax import SARIMAX

from rocsteady.alerts.forecast.season import waves
from rocsteady.alerts.forecast.series import Floats

ORDERS = ((1, 0, 0), (2, 0, 0), (1, 0, 1), (3, 0, 0), (2, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1), (2, 1, 1), (0, 1, 2))
"""p, d, q. Larger ones took over 100 ms to fit or did not converge on 360 points."""
WALK = (0, 1, 0)
OUTSIDE = 0.995
"""Largest inverse root that is accepted: beyond it a model is a unit root in disguise, or noise cannot be inverted."""
STEPS = 25
"""Iterations of the refinement."""


class Arima(msgspec.Struct, frozen=True):
    """A fitted model. ``ar`` and ``ma`` are polynomials with the leading 1; ``length`` 0: no season."""

    order: tuple[int, int, int]
    mean: float
    ar: Floats
    ma: Floats
    length: int
    seasonal: Floats

    def paths(self, values: Floats, horizon: int, first: int) -> Floats:
        """Forecasts made at the origins ``first`` to the end (see ``baselines.Method``)."""
        n = len(values)
        rest = values - self._season(np.arange(n, dtype=float))
        moved = np.diff(rest, prepend=rest[:1]) if self.order[1] else rest - self.mean
        noise = lfilter(self.ar, self.ma, moved)
        ahead = np.zeros((n, horizon))
        for step in range(horizon):
            for lag, weight in enumerate(self.ar[1:], 1):
                ahead[:, step] -= weight * (ahead[:, step - lag] if lag <= step else _back(moved, lag - step - 1))
            for lag, weight in enumerate(self.ma[1:], 1):
                if lag > step:
                    ahead[:, step] += weight * _back(noise, lag - step - 1)
        out = ahead[first:]
        out = rest[first:, None] + np.cumsum(out, axis=1) if self.order[1] else out + self.mean
        if self.length:
            cycle = self._season(np.arange(first + 1, n + horizon, dtype=float))
            out = out + np.lib.stride_tricks.sliding_window_view(cycle, horizon)
        return np.asarray(out)

    def _season(self, times: Floats) -> Floats:
        return np.asarray(waves(times, self.length) @ self.seasonal) if self.length else np.zeros(len(times))


def _back(values: Floats, lag: int) -> Floats:
    """The values ``lag`` steps before; 0 before the start."""
    return values if lag == 0 else np.concatenate((np.zeros(lag), values[:-lag]))


def fit_arima(values: Floats, length: int, order: tuple[int, int, int] | None = None) -> Arima:
    """Estimate. ``length`` of the season in steps, 0 for none; with ``order`` only that one is estimated.

    Never fails: where nothing can be estimated the answer is the random walk (0, 1, 0).
    """
    seasonal: Floats = np.zeros(0)
    rest: Floats = values
    if length:
        columns = np.column_stack((np.ones(len(values)), waves(np.arange(len(values), dtype=float), length)))
        found = np.linalg.lstsq(columns, values, rcond=None)[0]
        seasonal = np.asarray(found[1:], dtype=np.float64)
        rest = values - columns[:, 1:] @ seasonal
    best: tuple[float, Arima] | None = None
    for tried in ORDERS if order is None else (order,):
        made = _quick(rest, tried)
        if made is not None and (best is None or made[0] < best[0]):
            best = made
    if best is None:
        return Arima(WALK, 0.0, np.ones(1), np.ones(1), length, seasonal)
    plain = _refined(rest, best[1])
    return Arima(plain.order, plain.mean, plain.ar, plain.ma, length, seasonal)


def _quick(rest: Floats, order: tuple[int, int, int]) -> tuple[float, Arima] | None:
    """Hannan and Rissanen's estimate with its criterion, None where there is none that is stable."""
    p, d, q = order
    moved = np.diff(rest) if d else rest
    mean = 0.0 if d else float(rest.mean())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = hannan_rissanen(moved - mean, ar_order=p, ma_order=q, demean=False)
    except (ValueError, np.linalg.LinAlgError, IndexError, ZeroDivisionError):
        return None
    ar = np.concatenate(([1.0], -np.atleast_1d(found.ar_params)[:p]))
    ma = np.concatenate(([1.0], np.atleast_1d(found.ma_params)[:q]))
    if not (_stable(ar) and _stable(ma)):
        return None
    noise = lfilter(ar, ma, moved - mean)[max(p, q) :]
    power = float(noise @ noise) / len(noise)
    if not (np.isfinite(power) and power > 0):
        return None
    criterion = len(noise) * float(np.log(power)) + 2 * (p + q + 1 - d)
    return criterion, Arima(order, mean, ar, ma, 0, np.zeros(0))


def _refined(rest: Floats, start: Arima) -> Arima:
    """Maximum likelihood from the quick estimate; that one where it does not get better or is not stable."""
    p, d, q = start.order
    trend = "n" if d else "c"
    first = [*([] if d else [start.mean * float(start.ar.sum())]), *(-start.ar[1:]), *start.ma[1:]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SARIMAX(rest, order=start.order, trend=trend, concentrate_scale=True)
            found = model.fit(start_params=first, disp=0, maxiter=STEPS, cov_type="none")
            params = np.asarray(found.params, dtype=float)
    except (ValueError, np.linalg.LinAlgError, IndexError, ZeroDivisionError, FloatingPointError):
        return start
    shift = 0 if d else 1
    ar = np.concatenate(([1.0], -params[shift : shift + p]))
    ma = np.concatenate(([1.0], params[shift + p : shift + p + q]))
    if not (np.isfinite(params).all() and _stable(ar) and _stable(ma)):
        return start
    mean = 0.0 if d else float(params[0] / ar.sum())
    return Arima(start.order, mean, ar, ma, 0, np.zeros(0))


def _stable(polynomial: Floats) -> bool:
    """Whether all inverse roots are inside the unit circle."""
    if not np.isfinite(polynomial).all():
        return False
    return len(polynomial) == 1 or bool(np.abs(np.roots(polynomial)).max() < OUTSIDE)
