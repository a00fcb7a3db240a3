"""All event kinds, from one module per log format. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.events import (
    engine_memory,
    engine_start,
    kmsg_faults,
    python_trace,
)
from rocsteady.events.kinds import Kind

KINDS: tuple[Kind, ...] = (
    *kmsg_faults.KINDS,
    *engine_memory.KINDS,
    *engine_start.KINDS,
    *python_trace.KINDS,
)
