"""The exporter as a collector of ``prometheus_client``, for programs that have a registry of their own."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from rocsteady.exporter.exporter import Exporter
from rocsteady.exporter.exposition import help_text


class RegistryCollector(Collector):
    """``REGISTRY.register(RegistryCollector(exporter))``."""

    def __init__(self, exporter: Exporter) -> None:
        self._exporter = exporter

    def collect(self) -> Iterator[Family]:
        """One scrape as metric families."""
        for metric, series in self._exporter.samples().items():
            made = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = made(metric.full_name, help_text(metric), labels=metric.labels)
            for labels, value in series.items():
                family.add_metric(labels, float(value))
            yield family

    def describe(self) -> list[Family]:
        """Nothing is read when the collector is registered."""
        return []
