"""A forecast as samples of the metrics that are declared for it."""

from __future__ import annotations

from datetime import datetime

from rocsteady.alerts.forecast.report import Document
from rocsteady.alerts.forecast.signals import Unit
from rocsteady.metrics import Metric
from rocsteady.metrics import forecast as declared

Samples = dict[Metric, dict[tuple[str, ...], float]]
VALUES: dict[Unit, Metric] = {
    "seconds": declared.LATENCY, "bytes": declared.MEMORY, "ratio": declared.SHARE, "none": declared.VALUE,
}  # fmt: skip


def add(into: Samples, result: Document, now: float) -> None:
    """Add the samples of one signal. ``now``: seconds since 1970, for ages and for the time that is left.

    A breach is told from now on, the document's from its newest point on: what has passed since is taken off.
    """
    signal = result.signal

    def put(metric: Metric, value: float | None, *labels: str) -> None:
        if value is not None:
            into.setdefault(metric, {})[(signal, *labels)] = value

    age = max(0.0, now - datetime.fromisoformat(result.newest_at).timestamp()) if result.newest_at else None
    put(declared.USABLE, int(result.status == "forecast"))
    put(declared.AGE, age)
    if result.refusal is not None:
        put(declared.REFUSED, 1, result.refusal.reason)
        return
    breach, scores, values = result.breach, result.scores, VALUES[result.unit]
    if breach is not None:
        for kind, left in (("expected", breach.expected_seconds), ("earliest", breach.earliest_seconds)):
            put(declared.BREACH_EXPECTED, int(left is not None), kind)
            put(declared.BREACH_ETA, None if left is None else max(0.0, left - (age or 0.0)), kind)
    last = result.forecast[-1]
    put(values, result.newest, "last")
    put(values, last.expected, "expected")
    put(values, last.lower, "lower")
    put(values, last.upper, "upper")
    put(values, result.objective, "objective")
    put(declared.HORIZON, last.after_seconds)
    if result.method is not None:
        put(declared.METHOD_INFO, 1, result.method.name)
    if scores is not None:
        for name, score in scores.methods.items():
            put(declared.ERROR, score.mase, name)
        if result.method is not None:
            put(declared.COVERAGE, scores.methods[result.method.name].coverage)
    put(declared.DURATION, result.fit_seconds, "fit")
    put(declared.DURATION, result.update_seconds, "update")
