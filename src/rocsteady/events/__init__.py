"""Logs in, ordered events out, each with file and line. Judges nothing."""

from rocsteady.events.kinds import Kind
from rocsteady.events.read import read_logs
from rocsteady.events.registry import KINDS

__all__ = ["KINDS", "Kind", "read_logs"]
