"""All metrics. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.metrics import engine, forecast, gateway, gpu_errors, gpu_sensors, gpu_setup, node, own
from rocsteady.metrics.declare import Metric

METRICS: tuple[Metric, ...] = (
    *gpu_sensors.METRICS, *gpu_errors.METRICS, *gpu_setup.METRICS, *node.METRICS, *engine.METRICS, *forecast.METRICS,
    *own.METRICS, *gateway.METRICS,
)  # fmt: skip
"""Every metric, in the order of a scrape."""
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
