"""Soak: incidents, time between failures with its confidence interval, recovery, growth of memory."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from rocsteady.bench.samples import Reading, Run, Sample

QUIET = 10.0
"""Seconds of only good answers that end an incident. One choice of ours: longer than a gateway's retry, shorter than
any restart; given with the result."""
SERVER_SIDE = frozenset(
    {"refused", "timeout-first-token", "timeout-between-tokens", "timeout-total", "server-error", "stream-cut",
     "stream-error", "malformed"}
)  # fmt: skip
"""Failures of the service. 429 and other 4xx are answers to the client."""
OUT_OF_MEMORY = ("out of memory", "outofmemory", "oom")
ALPHA = 0.05
SLOPE_POINTS = 300


class Incident(msgspec.Struct, kw_only=True, frozen=True):
    """A stretch of failures. start: first failed request was due; recovered: first good answer behind the last
    failure, None where none came. Seconds."""

    start: float
    last: float
    recovered: float | None
    failed: int
    kinds: dict[str, int]

    @property
    def recovery(self) -> float | None:
        """Seconds to recovery."""
        return None if self.recovered is None else self.recovered - self.start


class Soak(msgspec.Struct, kw_only=True, frozen=True):
    """seconds: observed. mtbf and its 95 % interval in seconds; with no incident mtbf is None and only the lower bound
    is known. Growth in bytes an hour, with its 95 % interval; None without readings."""

    seconds: float
    incidents: list[Incident]
    mtbf: float | None
    mtbf_interval: tuple[float, float | None]
    requests: int
    failed: int
    out_of_memory: int
    recovery_median: float | None
    recovery_largest: float | None
    gpu_growth: tuple[float, float, float] | None
    host_growth: tuple[float, float, float] | None


def incidents(samples: Sequence[Sample], quiet: float = QUIET) -> list[Incident]:
    """Failures of the service joined to incidents; one ends when ``quiet`` seconds bring good answers only."""
    bad = sorted((s for s in samples if s.failure in SERVER_SIDE), key=lambda s: s.due)
    good = sorted((s for s in samples if s.good), key=lambda s: s.due)
    groups: list[list[Sample]] = []
    over = -math.inf  # when the last failure of the open incident was over
    for sample in bad:
        if sample.due - over <= quiet:
            groups[-1].append(sample)
        else:
            groups.append([sample])
        over = max(over, sample.ended)
    return [_incident(group, good) for group in groups]


def _incident(group: Sequence[Sample], good: Sequence[Sample]) -> Incident:
    """``good``: good requests by due time. Back is the service with the first good answer to a request that was due after
    the last failed one."""
    last = group[-1].due
    behind = good[bisect.bisect_right(good, last, key=lambda s: s.due) :]
    return Incident(
        start=group[0].due, last=last, recovered=min((s.ended for s in behind), default=None), failed=len(group),
        kinds=dict(Counter(str(sample.failure) for sample in group)),
    )  # fmt: skip


def soak(run: Run, quiet: float = QUIET) -> Soak:
    """Figures of a long run."""
    samples = run.steady
    found = incidents(samples, quiet)
    seconds = run.window[1] - run.window[0]
    times = sorted(i.recovery for i in found if i.recovery is not None)
    return Soak(
        seconds=seconds, incidents=found, mtbf=seconds / len(found) if found else None,
        mtbf_interval=mtbf_interval(seconds, len(found)), requests=len(samples),
        failed=sum(1 for s in samples if s.failure in SERVER_SIDE),
        out_of_memory=sum(1 for s in samples if s.failure and any(w in s.detail.lower() for w in OUT_OF_MEMORY)),
        recovery_median=times[(len(times) - 1) // 2] if times else None,
        recovery_largest=times[-1] if times else None,
        gpu_growth=growth(run.readings, "gpu_bytes"), host_growth=growth(run.readings, "host_bytes"),
    )  # fmt: skip


def mtbf_interval(seconds: float, failures: int, alpha: float = ALPHA) -> tuple[float, float | None]:
    """Two-sided interval of a mean time between failures when failures come at a constant rate and the time was fixed.

    2T over chi-square quantiles: lower 2T / chi2(1 - a/2, 2n + 2), upper 2T / chi2(a/2, 2n). Without a failure the
    one-sided lower bound at 1 - a is given (T / 3.0 at 95 %), and no upper one.
    Source: NIST/SEMATECH handbook 8.4.5.1, https://www.itl.nist.gov/div898/handbook/apr/section4/apr451.htm
    """
    if failures == 0:
        return 2 * seconds / chi_square(1 - alpha, 2), None
    return 2 * seconds / chi_square(1 - alpha / 2, 2 * failures + 2), 2 * seconds / chi_square(alpha / 2, 2 * failures)


def chi_square(probability: float, freedom: int) -> float:
    """Quantile for an even number of degrees of freedom: there the distribution is a sum of Poisson terms."""
    low, high = 0.0, 10.0 * freedom + 100.0
    for _ in range(200):
        middle = (low + high) / 2
        if _chi_square_below(middle, freedom // 2) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _chi_square_below(value: float, half: int) -> float:
    """P(chi2 with 2 x half degrees <= value) = 1 - sum of the first ``half`` Poisson terms with mean value / 2."""
    if value <= 0:
        return 0.0
    mean = value / 2
    return 1.0 - math.fsum(math.exp(-mean + i * math.log(mean) - math.lgamma(i + 1)) for i in range(half))


def growth(readings: Sequence[Reading], field: str) -> tuple[float, float, float] | None:
    """Slope in bytes an hour with a 95 % interval (Theil and Sen: median of the slopes of all pairs, robust against
    single jumps; interval by Kendall's tau). None for fewer than 10 readings."""
    points = [(r.at, value) for r in readings if (value := getattr(r, field)) is not None]
    step = max(1, len(points) // SLOPE_POINTS)
    points = points[::step]
    if len(points) < 10:
        return None
    slopes = sorted(
        (b[1] - a[1]) / (b[0] - a[0]) * 3600 for i, a in enumerate(points) for b in points[i + 1 :] if b[0] > a[0]
    )
    if not slopes:
        return None
    n = len(points)
    half = 1.959964 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((len(slopes) - half) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + half) / 2))
    return slopes[len(slopes) // 2], slopes[low], slopes[high]
