"""The Prometheus text format.

Docs: https://prometheus.io/docs/instrumenting/exposition_formats/
prometheus_client writes the same text, but formats every label of every sample anew; this keeps the head of a series,
which does not change from scrape to scrape. A test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocsteady.exporter.batch import usable
from rocsteady.metrics import METRICS, PREFIX, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_HEADS = 200_000
"""Series heads kept; processes come and go, so beyond this all are forgotten."""
Samples = dict[Metric, dict[tuple[str, ...], float]]


class TextWriter:
    """Writes scrapes, remembering the heads of series."""

    def __init__(self, metrics: Sequence[Metric] = METRICS) -> None:
        self._metrics = metrics
        self._heads: dict[Metric, dict[tuple[str, ...], str]] = {}
        self._kept = 0

    def text(self, samples: Samples) -> str:
        """One scrape, metrics in the order of the registry."""
        out: list[str] = []
        for metric in self._metrics:
            series = samples.get(metric)
            if series:
                self._family(metric, metric, series, out)
            if metric.renamed_to is not None:
                for new, found in samples.items():
                    if new.name == metric.renamed_to:
                        self._family(metric, new, found, out)
        out.append("")
        return "\n".join(out)

    def _family(self, metric: Metric, shape: Metric, series: dict[tuple[str, ...], float], out: list[str]) -> None:
        kind = "counter" if metric.kind == "counter" else "gauge"
        out.append(f"# HELP {PREFIX}{metric.name} {help_text(metric)}\n# TYPE {PREFIX}{metric.name} {kind}")
        heads = self._heads.get(metric)
        if heads is None:
            heads = self._heads[metric] = {}
        for labels, value in series.items():
            if not usable(value):
                continue
            head = heads.get(labels)
            if head is None:
                head = self._head(heads, metric, shape, labels)
            out.append(f"{head}{value!r}" if value.__class__ is not bool else f"{head}{int(value)}")

    def _head(self, heads: dict[tuple[str, ...], str], metric: Metric, shape: Metric, labels: tuple[str, ...]) -> str:
        if self._kept >= MOST_HEADS:
            for known in self._heads.values():
                known.clear()
            self._kept = 0
        pairs = ",".join(f'{name}="{escaped(value)}"' for name, value in zip(shape.labels, labels, strict=True))
        head = heads[labels] = f"{PREFIX}{metric.name}{{{pairs}}} " if pairs else f"{PREFIX}{metric.name} "
        self._kept += 1
        return head


def help_text(metric: Metric) -> str:
    """The help of a metric as one line."""
    text = metric.help if metric.renamed_to is None else f"Old name of {PREFIX}{metric.renamed_to}."
    return text.replace("\\", "\\\\").replace("\n", " ")


def escaped(value: str) -> str:
    """A label value between quotes."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
