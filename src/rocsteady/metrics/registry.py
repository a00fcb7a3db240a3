"""All metrics. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.metrics import gpu_sensors, own
from rocsteady.metrics.declare import Metric

METRICS: tuple[Metric, ...] = (*gpu_sensors.METRICS, *own.METRICS)
"""Every metric, in the order of a scrape."""
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
