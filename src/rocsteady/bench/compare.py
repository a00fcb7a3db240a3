"""Two runs, compared: a difference counts only where its 95 % interval leaves zero out."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from rocsteady.bench.samples import Run, Sample
from rocsteady.bench.summary import percentile, wilson, within

RESAMPLES = 2000
SLICES = 20
"""Parts of the window whose rates are compared; fewer than 10 requests in each make an interval wide, not wrong."""
FEWEST = 20
"""Samples of a time in each run below which nothing is said."""
Verdict = Literal["better", "worse", "no difference shown", "too few samples"]


class Difference(msgspec.Struct, kw_only=True, frozen=True):
    """One figure in both runs. change: (after - before) / before, with its 95 % interval; None where unknown."""

    name: str
    before: float | None
    after: float | None
    change: float | None
    interval: tuple[float, float] | None
    verdict: Verdict


def compare(before: Run, after: Run, seed: int = 0) -> list[Difference]:
    """All figures. ``seed`` makes the resampling repeatable."""
    rng = random.Random(seed)
    found = [_success(before, after), _rate(before, after)]
    times: tuple[tuple[str, Callable[[Sample], float | None]], ...] = (
        ("ttft", lambda s: s.ttft), ("tpot", lambda s: s.tpot), ("e2e", lambda s: s.e2e),
    )  # fmt: skip
    for name, value in times:
        one, two = (sorted(v for s in run.steady if s.good and (v := value(s)) is not None) for run in (before, after))
        for percent in (50.0, 95.0, 99.0):
            found.append(_time(f"{name}_p{percent:g}", one, two, percent, rng))
    return found


def _time(name: str, one: Sequence[float], two: Sequence[float], percent: float, rng: random.Random) -> Difference:
    if min(len(one), len(two)) < FEWEST:
        return Difference(name=name, before=None, after=None, change=None, interval=None, verdict="too few samples")
    first, second = percentile(one, percent), percentile(two, percent)
    ratios = sorted(
        _resampled(two, percent, rng) / max(_resampled(one, percent, rng), 1e-12) - 1 for _ in range(RESAMPLES)
    )
    interval = percentile(ratios, 2.5), percentile(ratios, 97.5)
    return _judged(name, first, second, interval, lower_is_better=True)


def _resampled(ordered: Sequence[float], percent: float, rng: random.Random) -> float:
    """The percentile of one bootstrap resample, without drawing all of it: the k-th of n uniform ranks is Beta
    distributed, and the resample's k-th value stands at that rank of the sample."""
    count = len(ordered)
    rank = max(1, math.ceil(percent / 100 * count))
    return ordered[min(count - 1, int(rng.betavariate(rank, count + 1 - rank) * count))]


def _rate(before: Run, after: Run) -> Difference:
    """Output tokens a second over slices of the window; Welch's interval of the difference of means."""
    one, two = _slices(before), _slices(after)
    if not one or not two:
        return Difference(
            name="output_tokens_per_second", before=None, after=None, change=None, interval=None,
            verdict="too few samples",
        )  # fmt: skip
    mean_one, mean_two = (math.fsum(x) / len(x) for x in (one, two))
    error = math.sqrt(_variance(one) / len(one) + _variance(two) / len(two))
    # with 20 slices each the t quantile is 2.02 to 2.09; 2.1 is on the safe side
    low, high = ((mean_two - mean_one + sign * 2.1 * error) / mean_one for sign in (-1, 1))
    return _judged("output_tokens_per_second", mean_one, mean_two, (low, high), lower_is_better=False)


def _slices(run: Run) -> list[float]:
    start, end = run.window
    width = (end - start) / SLICES
    if width <= 0 or any(s.good and s.output_tokens is None for s in run.steady):
        return []
    made = [
        math.fsum((s.output_tokens or 0) * within(s, (start + i * width, start + (i + 1) * width)) for s in run.samples)
        for i in range(SLICES)
    ]
    return [tokens / width for tokens in made] if sum(made) > 0 else []


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _success(before: Run, after: Run) -> Difference:
    """Shares of good requests; Newcombe's interval of their difference, from the Wilson intervals."""
    counts = [(sum(s.good for s in run.steady), len(run.steady)) for run in (before, after)]
    if any(of < FEWEST for _, of in counts):
        return Difference(
            name="success", before=None, after=None, change=None, interval=None, verdict="too few samples"
        )
    (p1, (l1, u1)), (p2, (l2, u2)) = ((good / of, wilson(good, of)) for good, of in counts)
    low = p2 - p1 - math.sqrt((p2 - l2) ** 2 + (u1 - p1) ** 2)
    high = p2 - p1 + math.sqrt((u2 - p2) ** 2 + (p1 - l1) ** 2)
    verdict: Verdict = "better" if low > 0 else "worse" if high < 0 else "no difference shown"
    return Difference(
        name="success", before=p1, after=p2, change=p2 - p1, interval=(low, high), verdict=verdict,
    )  # fmt: skip


def _judged(
    name: str, before: float, after: float, interval: tuple[float, float], *, lower_is_better: bool
) -> Difference:
    low, high = interval
    verdict: Verdict = "no difference shown"
    if low > 0 or high < 0:
        verdict = "better" if (high < 0) == lower_is_better else "worse"
    change = after / before - 1 if before else None
    return Difference(name=name, before=before, after=after, change=change, interval=interval, verdict=verdict)
