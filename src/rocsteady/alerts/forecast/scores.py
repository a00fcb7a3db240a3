"""How good forecasts were: MASE, pinball loss, coverage, lead time before a breach, false alarms a day."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from rocsteady.alerts.forecast.series import Floats
from rocsteady.alerts.forecast.signals import Signal

DAY = 86_400.0
QUANTILES = (0.025, 0.5, 0.975)
Truths = npt.NDArray[np.bool_]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Of one method on the last fifth. None: could not be counted.

    mase: mean absolute error over all origins and distances, divided by the one-step error of the last value on the
    first four fifths. pinball: mean quantile loss of the band's edges and the forecast, divided by the same.
    coverage: share of points inside the band. breaches: times the objective was crossed; caught: of them announced
    before; lead_seconds: mean time between first announcement and crossing, of the caught; false_alarms_per_day:
    announcements that no crossing followed within the horizon.
    """

    mase: float | None
    pinball: float | None
    coverage: float | None
    breaches: int | None = None
    caught: int | None = None
    lead_seconds: float | None = None
    false_alarms_per_day: float | None = None


def score(made: Floats, low: Floats, high: Floats, came: Floats, unit: float) -> Score:
    """``made``, ``low``, ``high``, ``came``: one row per origin, one column per step ahead; ``unit``: scale of MASE."""
    known = np.isfinite(came) & np.isfinite(made)
    if not known.any() or unit <= 0:
        return Score(mase=None, pinball=None, coverage=None)
    truth = came[known]
    losses = [
        np.maximum(q * (truth - edge[known]), (q - 1) * (truth - edge[known])).mean()
        for q, edge in zip(QUANTILES, (low, made, high), strict=True)
    ]
    inside = (truth >= low[known]) & (truth <= high[known])
    return Score(
        mase=float(np.abs(truth - made[known]).mean() / unit),
        pinball=float(np.mean(losses) / unit),
        coverage=float(inside.mean()),
    )


def alarms(score: Score, made: Floats, values: Floats, signal: Signal, step: float) -> Score:
    """The same score with its alarms. ``values``: the origins' own values, then the points after the last origin.

    An origin announces a breach where its forecast crosses the objective and its own value does not.
    """
    if signal.objective is None:
        return score
    count, horizon = made.shape
    missed = crosses(values, signal)
    announces = crosses(made, signal).any(axis=1) & ~missed[:count]
    onsets = [t for t in range(1, count + 1) if missed[t] and not missed[t - 1]]
    leads = []
    for onset in onsets:
        first = onset
        while first > 0 and announces[first - 1] and not missed[first - 1]:
            first -= 1
        if first < onset:
            leads.append((onset - first) * step)
    false = 0
    for start in range(count):
        if announces[start] and not (start and announces[start - 1]):
            end = start
            while end + 1 < count and announces[end + 1]:
                end += 1
            full = end + horizon < len(values)
            if full and not missed[start + 1 : end + horizon + 1].any():
                false += 1
    return msgspec.structs.replace(
        score,
        breaches=len(onsets),
        caught=len(leads),
        lead_seconds=float(np.mean(leads)) if leads else None,
        false_alarms_per_day=false * DAY / (count * step),
    )


def crosses(values: Floats, signal: Signal) -> Truths:
    """Which values are on the bad side of the objective; what is missing is not."""
    if signal.objective is None:
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(values > signal.objective if signal.worse == "above" else values < signal.objective)
