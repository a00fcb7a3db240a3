"""All event kinds, from one module per log format. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.events import (
    amd_smi,
    engine_memory,
    engine_start,
    kmsg_faults,
    kmsg_host,
    kmsg_ras,
    kmsg_reset,
    kmsg_rings,
    kmsg_smu,
    kmsg_xgmi,
    python_trace,
)
from rocsteady.events.kinds import Kind

KINDS: tuple[Kind, ...] = (
    *amd_smi.KINDS,
    *engine_memory.KINDS,
    *engine_start.KINDS,
    *kmsg_faults.KINDS,
    *kmsg_host.KINDS,
    *kmsg_ras.KINDS,
    *kmsg_reset.KINDS,
    *kmsg_rings.KINDS,
    *kmsg_smu.KINDS,
    *kmsg_xgmi.KINDS,
    *python_trace.KINDS,
)
"""All kinds."""
