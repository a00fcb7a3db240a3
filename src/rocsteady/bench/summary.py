"""Figures of a run, from its raw samples. Failures are counted, never dropped and never averaged in."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rocsteady.bench.samples import Run, Sample

PERCENTS = (50.0, 90.0, 95.0, 99.0)
FEWEST_FOR_P99 = 100
"""Below 100 samples the 99th percentile is the largest one; it is given, and said to be that."""


class Spread(msgspec.Struct, kw_only=True, frozen=True):
    """Of one time, in seconds: mean, nearest-rank percentiles, largest, and how many samples."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    largest: float


class Objective(msgspec.Struct, kw_only=True, frozen=True):
    """Service level objective: seconds at most; None where it is not limited."""

    ttft: float | None = None
    tpot: float | None = None
    e2e: float | None = None

    def met(self, sample: Sample) -> bool:
        """Whether a request was good and within all limits. A missing time misses its limit."""
        if not sample.good:
            return False
        pairs = ((self.ttft, sample.ttft), (self.e2e, sample.e2e))
        if any(limit is not None and (value is None or value > limit) for limit, value in pairs):
            return False
        return self.tpot is None or sample.tpot is None or sample.tpot <= self.tpot


class Summary(msgspec.Struct, kw_only=True, frozen=True):
    """Figures of the steady window.

    seconds: its length. Rates are per second. goodput: requests a second that met the objective, None without one.
    success: share of requests answered whole, with its 95 % Wilson interval. tokens_per_joule: output tokens.
    output_tokens_unknown: good requests for which the server gave no count; with any, token rates are None.
    """

    requests: int
    good: int
    failures: dict[str, int]
    success: float | None
    success_interval: tuple[float, float] | None
    seconds: float
    requests_per_second: float | None
    output_tokens_per_second: float | None
    input_tokens_per_second: float | None
    output_tokens_unknown: int
    goodput: float | None
    goodput_share: float | None
    ttft: Spread | None
    tpot: Spread | None
    itl: Spread | None
    e2e: Spread | None
    mean_input_tokens: float | None
    mean_output_tokens: float | None
    stages: dict[str, int]
    tokens_per_joule: float | None
    tokens_per_joule_above_idle: float | None
    joules: float | None
    energy_why: str
    lagging: int
    notes: list[str]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Nearest rank, of values in rising order."""
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Figures of the values that are there."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None
    p50, p90, p95, p99 = (percentile(ordered, percent) for percent in PERCENTS)
    return Spread(
        count=len(ordered), mean=math.fsum(ordered) / len(ordered), p50=p50, p90=p90, p95=p95, p99=p99,
        largest=ordered[-1],
    )  # fmt: skip


def wilson(good: int, of: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson, 1927); ``of`` above 0."""
    z = 1.959964
    share = good / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low = 0.0 if good == 0 else max(0.0, middle - half)
    return low, 1.0 if good == of else min(1.0, middle + half)


def within(sample: Sample, window: tuple[float, float]) -> float:
    """Share of a request's output that was made inside the window: its tokens are spread evenly over their time."""
    start, end = window
    if sample.first is None or sample.last is None:
        return 0.0
    if sample.last <= sample.first:
        return 1.0 if start <= sample.first <= end else 0.0
    overlap = min(end, sample.last) - max(start, sample.first)
    return max(0.0, overlap) / (sample.last - sample.first)


def summarise(run: Run, objective: Objective | None = None) -> Summary:
    """Figures of a run. ``objective``: limits for the goodput."""
    samples = run.steady
    good = [sample for sample in samples if sample.good]
    start, end = run.window
    seconds = max(0.0, end - start)
    unknown = sum(1 for sample in good if sample.output_tokens is None)
    made = math.fsum((sample.output_tokens or 0) * within(sample, run.window) for sample in run.samples)
    known_inputs = [sample.input_tokens for sample in good if sample.input_tokens is not None]
    known_outputs = [sample.output_tokens for sample in good if sample.output_tokens is not None]
    met = sum(1 for sample in samples if objective is not None and objective.met(sample))
    joule, above, why = _per_joule(run, made if not unknown else None)
    return Summary(
        requests=len(samples), good=len(good),
        failures=dict(Counter(sample.failure for sample in samples if sample.failure is not None).most_common()),
        success=len(good) / len(samples) if samples else None,
        success_interval=wilson(len(good), len(samples)) if samples else None,
        seconds=seconds,
        requests_per_second=len(good) / seconds if seconds else None,
        output_tokens_per_second=made / seconds if seconds and not unknown else None,
        input_tokens_per_second=math.fsum(known_inputs) / seconds if seconds and len(known_inputs) == len(good) else None,
        output_tokens_unknown=unknown,
        goodput=met / seconds if seconds and objective is not None else None,
        goodput_share=met / len(samples) if samples and objective is not None else None,
        ttft=spread(sample.ttft for sample in good), tpot=spread(sample.tpot for sample in good),
        itl=spread(gap for sample in good for gap in sample.gaps), e2e=spread(sample.e2e for sample in good),
        mean_input_tokens=math.fsum(known_inputs) / len(known_inputs) if known_inputs else None,
        mean_output_tokens=math.fsum(known_outputs) / len(known_outputs) if known_outputs else None,
        stages=dict(Counter(sample.stage for sample in samples if sample.stage is not None).most_common()),
        tokens_per_joule=joule, tokens_per_joule_above_idle=above,
        joules=run.energy.joules if run.energy is not None and run.energy.valid else None, energy_why=why,
        lagging=run.lagging, notes=_notes(run, good),
    )  # fmt: skip


def _per_joule(run: Run, tokens: float | None) -> tuple[float | None, float | None, str]:
    energy = run.energy
    if energy is None:
        return None, None, "no energy counter was named"
    if not energy.valid or not energy.joules or energy.seconds is None:
        return None, None, energy.why or "no energy was counted"
    if tokens is None:
        return None, None, "the server gave no token counts"
    above = None
    if energy.idle_watts is not None:
        rest = energy.joules - energy.idle_watts * energy.seconds
        above = tokens / rest if rest > 0 else None
    return tokens / energy.joules, above, ""


def _notes(run: Run, good: Sequence[Sample]) -> list[str]:
    notes = []
    if run.interrupted:
        notes.append("the run was interrupted: what was open is not counted")
    if run.lagging:
        notes.append(f"{run.lagging} requests were sent late: the client was the bottleneck, latencies count it")
    if good and len(good) < FEWEST_FOR_P99:
        notes.append(f"{len(good)} good requests: P99 is the largest value")
    if run.load.startswith("users:"):
        notes.append("closed loop: a slow server is asked less often, so latencies look better than users would see")
    return notes
