"""Counts of one process. Names here are short words; the table below maps them to metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any

from rocsteady.metrics import PREFIX, Metric
from rocsteady.metrics import gateway as declared

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds of the histograms in seconds: the usual ones of Prometheus clients, longer for generations."""
COUNTERS: dict[str, tuple[Metric, int]] = {
    "requests": (declared.REQUESTS, 2), "stages": (declared.STAGES, 2), "retry": (declared.RETRIES, 0),
    "budget-empty": (declared.BUDGET_EMPTY, 0), "continued": (declared.CONTINUED, 0), "stream-cut": (declared.CUT, 1),
    "refused": (declared.REFUSED, 1), "worker-failure": (declared.FAILURES, 2), "worker-busy": (declared.BUSY, 1),
    "late-but-alive": (declared.LATE, 1), "canary": (declared.CANARIES, 1), "changes": (declared.CHANGES, 2),
    "gpu-health-lost": (declared.GPU_LOST, 1), "reload": (declared.RELOADS, 1),
}  # fmt: skip
"""Word -> metric and how many of the two labels it has."""
HISTOGRAMS = {"seconds": declared.SECONDS, "first-byte": declared.FIRST_BYTE}
STATES = ("new", "healthy", "suspect", "ejected", "half-open")


class Histogram:
    """Counts by bound; the last one is for everything above."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0


class Tally:
    """Counters by name and up to two labels."""

    __slots__ = ("counts", "histograms")

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str], float] = {}
        self.histograms: dict[str, Histogram] = {name: Histogram() for name in HISTOGRAMS}

    def add(self, name: str, first: str = "", second: str = "", by: float = 1) -> None:
        """Count one more."""
        key = (name, first, second)
        self.counts[key] = self.counts.get(key, 0) + by

    def observe(self, name: str, seconds: float) -> None:
        """Take one duration."""
        histogram = self.histograms[name]
        histogram.counts[bisect_left(BOUNDS, seconds)] += 1
        histogram.total += seconds


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


class _Page:
    def __init__(self) -> None:
        self._series: dict[Metric, list[str]] = {}

    def add(self, metric: Metric, values: Iterable[object], value: float, suffix: str = "", extra: str = "") -> None:
        pairs = ",".join(f'{name}="{_escaped(v)}"' for name, v in zip(metric.labels, values, strict=True))
        pairs = ",".join(part for part in (pairs, extra) if part)
        text = repr(float(value)) if value != int(value) else str(int(value))
        lines = self._series.setdefault(metric, [])
        lines.append(f"{PREFIX}{metric.name}{suffix}{{{pairs}}} {text}")

    def histogram(self, metric: Metric, process: str, counts: list[int], total: float) -> None:
        seen = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
            seen += count
            self.add(metric, (process,), seen, "_bucket", f'le="{bound}"')
        self.add(metric, (process,), total, "_sum")
        self.add(metric, (process,), seen, "_count")

    def text(self) -> bytes:
        out: list[str] = []
        for metric in declared.METRICS:
            if metric in self._series:
                kind = "gauge" if metric.kind == "info" else metric.kind
                out.append(f"# HELP {PREFIX}{metric.name} {metric.help}")
                out.append(f"# TYPE {PREFIX}{metric.name} {kind}")
                out += self._series[metric]
        return ("\n".join(out) + "\n").encode()


def expose(figures: Mapping[str, Mapping[str, Any]], exits: Mapping[str, tuple[int, int]] | None) -> bytes:
    """The exposition of all processes. ``figures``: process -> ``Runtime.figures()``; ``exits``: process -> deaths, and
    requests that were open then.
    """
    page = _Page()
    infos: set[tuple[str, ...]] = set()
    for process, row in figures.items():
        for name, first, second, value in row["counts"]:
            known = COUNTERS.get(name)
            if known is not None:
                page.add(known[0], (process, *(first, second)[: known[1]]), value)
        for name, (counts, total) in row["histograms"].items():
            page.histogram(HISTOGRAMS[name], process, counts, total)
        page.add(declared.OPEN, (process,), row["open"])
        page.add(declared.LOG_LOST, (process,), row["lost_log"])
        page.add(declared.STORE_ERRORS, (process,), row["store_errors"])
        for worker, model, precision, node, state, blocked, inflight in row["workers"]:
            infos.add((worker, model, precision, node))
            for name in STATES:
                page.add(declared.STATE, (process, worker, name), int(name == state))
            page.add(declared.BLOCKED, (process, worker), int(blocked))
            page.add(declared.INFLIGHT, (process, worker), inflight)
    for info in sorted(infos):
        page.add(declared.WORKER, info, 1)
    for process, (deaths, broken) in (exits or {}).items():
        page.add(declared.EXITS, (process,), deaths)
        page.add(declared.BROKEN_BY_EXIT, (process,), broken)
    return page.text()
