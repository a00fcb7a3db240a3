"""What one run of a collector gives: samples, and why others are missing."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rocsteady.metrics import Metric
from rocsteady.model import Gap

MOST_NOTES = 20
"""Gaps kept for people; all of them are counted."""


class Batch:
    """Samples by metric and label values. A value of None is no sample; of two with the same labels the first stays."""

    def __init__(self) -> None:
        self.samples: dict[Metric, dict[tuple[str, ...], float]] = {}
        self.reasons: dict[str, int] = {}
        self.notes: list[Gap] = []

    def add(self, metric: Metric, value: float | None, *labels: str) -> None:
        """One sample; ``labels`` in the order of the declaration."""
        if value is None:
            return
        found = self.samples.get(metric)
        if found is None:
            found = self.samples[metric] = {}
        found.setdefault(labels, value)

    def gap(self, gap: Gap) -> None:
        """Something that was there and could not be read."""
        reason = gap.why.partition(":")[0].split(" ", 1)[0] or "failed"
        self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if len(self.notes) < MOST_NOTES:
            self.notes.append(gap)

    def gaps(self, gaps: Iterable[Gap]) -> None:
        """Several."""
        for gap in gaps:
            self.gap(gap)

    def skipped(self, path: str, why: str) -> None:
        """Something that is known not to be usable, such as a table of an unknown version."""
        self.gap(Gap(path, f"skipped: {why}"))


def usable(value: float) -> bool:
    """Whether a value can be a sample: a number that is finite."""
    return isinstance(value, int) or math.isfinite(value)
