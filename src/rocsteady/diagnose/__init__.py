"""Facts and events in, findings out. Pure: no I/O, no clock."""

from rocsteady.diagnose.engine import diagnose

__all__ = ["diagnose"]
