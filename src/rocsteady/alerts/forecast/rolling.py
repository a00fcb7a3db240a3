"""Rolling origin: every method forecasts from every origin with what was known there, and is judged by what came.

Protocol. The series is cut at four fifths. Parameters are estimated on seven tenths of the first part, and the
origins roll over the rest of it: on these the choice falls and the band is set. Then parameters are estimated on the first four fifths, and
the origins roll over the last one, which neither estimate nor choice has seen: that is what the scores tell. States
(levels, weights of the mixture, edges of the band) move with each point, as they do in use.
"""

from __future__ import annotations

import msgspec
import numpy as np

from rocsteady.alerts.forecast.band import Band
from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.methods import MIXTURE, NAMES, Fitted, Scale, fit_methods
from rocsteady.alerts.forecast.mixture import Mixture
from rocsteady.alerts.forecast.scores import Score, alarms, score
from rocsteady.alerts.forecast.season import find_season
from rocsteady.alerts.forecast.series import Floats, Series
from rocsteady.alerts.forecast.signals import Signal

ALL = (*NAMES, MIXTURE)
BLOCKS = 3
"""Parts of the choosing stretch in each of which a single method must beat the mixture to replace it."""


class Rolled(msgspec.Struct, frozen=True):
    """What a run over a series leaves: the choice, the scores, and the states at its end."""

    winner: str
    scores: dict[str, Score]
    late: Fitted
    mixture: Mixture
    band: Band
    ruler: Scale
    """What the band's offsets are measured in."""
    made: Floats
    """What the winner forecast at the last ``horizon`` origins, newest first."""
    scored: int
    """Origins of the last fifth."""


def cut(points: int) -> tuple[int, int]:
    """Where the choosing stretch begins and where the last fifth does.

    Seven tenths: with half, a season of a day did not fit twice into 3.75 days and was not tried when it was chosen.
    """
    end = points * 4 // 5
    return end * 7 // 10, end


def roll(series: Series, scale: Scale, signal: Signal, horizon: int) -> Rolled:
    """Run the protocol over a series that the guards let through."""
    filled, values, n = series.filled(), series.values, len(series.values)
    begin, end = cut(n)
    season = find_season(scale.forth(filled[:end]), series.step)
    early = fit_methods(filled[:begin], scale, season)
    late = fit_methods(filled[:end], scale, season)
    first = begin - 1
    paths = np.concatenate(
        (early.paths(filled[: end - 1], horizon, first), late.paths(filled[: n - 1], horizon, end - 1)), axis=1
    )
    mixture = Mixture(len(NAMES), horizon)
    count = paths.shape[1]
    made = np.empty((count, len(ALL), horizon))
    made[:, :-1] = paths.transpose(1, 0, 2)
    for row in range(count):
        made[row, -1], _ = mixture.mix(made[row, :-1])
        mixture.learn(float(values[first + row + 1]))
    ahead = np.arange(1, horizon + 1) + np.arange(first, n - 1)[:, None]
    came = np.where(ahead < n, values[np.minimum(ahead, n - 1)], np.nan)
    seen = np.where(ahead < end, came, np.nan)
    winner = choose(made, seen)
    ruler = ruler_of(scale, made[:, ALL.index(winner)], seen)
    off = residuals(ruler, came[:, None], made)
    band = Band(np.where((ahead < end)[:, None], off, np.nan))
    start = end - 1 - first
    edges = np.empty((2, count - start, len(ALL), horizon))
    steps = np.arange(horizon)
    for row in range(start, count):
        edges[:, row - start] = band.offsets()
        rows = row - steps
        band.learn(np.where((rows >= 0)[:, None], off[np.maximum(rows, 0), :, steps], np.nan).T)
    late_made = made[start:]
    low, high = (np.clip(ruler.back(ruler.forth(late_made) + edge), *signal.bounds) for edge in edges)
    unit = float(np.abs(np.diff(filled[:end])).mean())
    scores = {
        name: alarms(
            score(late_made[:, at], low[:, at], high[:, at], came[start:], unit),
            late_made[:, at], values[end - 1 :], signal, series.step,
        )
        for at, name in enumerate(ALL)
    }  # fmt: skip
    place = ALL.index(winner)
    recent = made[::-1, place][:horizon]
    band.low, band.high, band.step = band.low[place], band.high[place], band.step[place]
    return Rolled(winner, scores, late, mixture, band, ruler, recent, count - start)


def residuals(scale: Scale, came: Floats, made: Floats) -> Floats:
    """What came less what was forecast, in a scale; NaN where either is unknown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        off = scale.forth(came) - scale.forth(made)
    return np.where(np.isfinite(off), off, np.nan)


def ruler_of(scale: Scale, made: Floats, seen: Floats) -> Scale:
    """The scale that the band is measured in: shares or plain differences, whichever gives the sharper band.

    Judged by pinball loss on the choosing stretch. A wandering level errs by a share of itself, a queue by an amount.
    """
    plain = Scale(False, scale.low, scale.high)
    if not scale.log:
        return plain
    losses = []
    for tried in (scale, plain):
        low, high = Band(residuals(tried, seen, made)).offsets()
        own = tried.forth(made)
        losses.append(score(made, tried.back(own + low), tried.back(own + high), seen, 1.0).pinball)
    return plain if losses[0] is not None and losses[1] is not None and losses[1] < losses[0] else scale


def choose(made: Floats, seen: Floats) -> str:
    """The mixture, unless one single method beats it by the margin in every block of the choosing stretch.

    Which single method looks best on one stretch is mostly chance; that one method wins clearly again and again is not.
    """
    rows = np.flatnonzero(np.isfinite(seen).any(axis=1))
    if len(rows) < BLOCKS * limits().choice_horizons.value * made.shape[2]:
        return MIXTURE
    parts = np.array_split(rows, BLOCKS)
    errors = np.full((BLOCKS, len(ALL)), np.inf)
    for block, part in enumerate(parts):
        off = np.abs(made[part] - seen[part][:, None])
        known = np.isfinite(seen[part])[:, None] & np.isfinite(made[part])
        whole = known.sum(axis=(0, 2)) == np.isfinite(seen[part]).sum()
        total = np.where(known, off, 0.0).sum(axis=(0, 2))
        errors[block] = np.where(whole & (len(part) > 0), total, np.inf)
    clear = (errors[:, :-1] < (1 - limits().margin.value) * errors[:, -1:]).all(axis=0)
    if not clear.any():
        return MIXTURE
    return NAMES[int(np.argmin(np.where(clear, errors[:, :-1].sum(axis=0), np.inf)))]
