"""Every metric that rocsteady exports, declared once."""

from rocsteady.metrics.declare import PREFIX, WHAT, WHICH, Field, Metric, measurement
from rocsteady.metrics.registry import BY_NAME, METRICS

__all__ = ["BY_NAME", "METRICS", "PREFIX", "WHAT", "WHICH", "Field", "Metric", "measurement"]
