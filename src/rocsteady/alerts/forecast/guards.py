"""What must hold before anything is forecast. Each guard says why not; none lets a value through that means nothing."""

from __future__ import annotations

import numpy as np

from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.series import Floats, Refusal, Series, filled
from rocsteady.alerts.forecast.signals import Signal

LARGEST = 1e100
"""Squares of larger numbers leave the range of a double."""


def least_points(horizon: int) -> int:
    """Points that a forecast of so many steps needs."""
    known = limits()
    return int(max(known.least_points.value, known.least_horizons.value * horizon))


def refuse(series: Series, signal: Signal, horizon: int, now: float | None) -> Refusal | None:
    """The first reason why this series cannot be forecast, None where it can. ``now`` None: age does not matter."""
    known = limits()
    values = series.values
    present = np.isfinite(values)
    old = too_old(series, now)
    if old is not None:
        return old
    wanted = least_points(horizon)
    if present.sum() < wanted:
        return Refusal("too-short", f"{present.sum()} points, {wanted} are needed to forecast {horizon} steps")
    share = 1 - present.mean()
    if share > known.most_missing.value:
        return Refusal("gaps", f"{share:.0%} of the points are missing, at most {known.most_missing.value:.0%} may be")
    gap = longest_gap(values)
    most = max(1, int(known.longest_gap.value * len(values)))
    if gap > most:
        return Refusal("gaps", f"{gap} points in a row are missing, at most {most} of {len(values)} may be")
    return out_of_range(values[present], signal) or flat(values)


def too_old(series: Series, now: float | None) -> Refusal | None:
    """Whether the newest value is too old to say anything about what comes; ``now`` None: no."""
    if now is None or now - series.end <= limits().stale_steps.value * series.step:
        return None
    age = now - series.end
    return Refusal("stale", f"the newest value is {age:.0f} s old, {age / series.step:.0f} steps of {series.step:g} s")


def longest_gap(values: Floats) -> int:
    """Most missing values in a row."""
    edges = np.flatnonzero(np.isfinite(np.concatenate(([0.0], values, [0.0]))))
    return int(np.diff(edges).max()) - 1


def out_of_range(values: Floats, signal: Signal) -> Refusal | None:
    """A value that this kind of signal cannot have."""
    if np.abs(values).max() > LARGEST:
        return Refusal("invalid", f"a value of {values[np.abs(values).argmax()]:.3g} is out of range")
    low, high = signal.bounds
    wrong = values[(values < low) | (values > high)]
    if len(wrong):
        return Refusal("invalid", f"{len(wrong)} values are outside {low:g} to {high:g}, such as {wrong[0]:.6g}")
    return None


def flat(values: Floats) -> Refusal | None:
    """Constant or nearly so: as a whole, or its newest points."""
    known = limits()
    whole = values[np.isfinite(values)]
    if whole.max() - whole.min() <= known.flat_share.value * np.abs(whole).max():
        return Refusal("constant", f"every value is {whole[-1]:.6g}: nothing moves, so nothing can be forecast")
    newest = filled(values)[-int(known.flat_points.value) :]
    if newest.max() - newest.min() <= known.flat_share.value * np.abs(whole).max():
        return Refusal("constant", f"the newest {len(newest)} values are all {newest[-1]:.6g}: an idle or stuck source")
    steps = np.abs(np.diff(filled(values)[: len(values) * 4 // 5]))
    if steps.mean() <= known.flat_share.value * np.abs(whole).max():
        return Refusal("constant", "hardly any value differs from the one before it in the first four fifths")
    return None
