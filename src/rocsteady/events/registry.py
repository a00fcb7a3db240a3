"""All event kinds, from one module per log format. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.events import (
    engine_memory,
    engine_start,
    kmsg_faults,
    python_trace,
    amd_smi,
    kmsg_faults,
    kmsg_host,
    kmsg_ras,
    kmsg_reset,
    kmsg_rings,
    kmsg_smu,
    kmsg_xgmi,
)
from rocsteady.events.kinds import Kind

KINDS: tuple[Kind, ...] = (
    *kmsg_faults.KINDS,
    *engine_memory.KINDS,
    *engine_start.KINDS,
    *python_trace.KINDS,
)
    *kmsg_rings.KINDS,
    *kmsg_reset.KINDS,
    *kmsg_ras.KINDS,
    *kmsg_xgmi.KINDS,
    *kmsg_smu.KINDS,
    *kmsg_host.KINDS,
    *amd_smi.KINDS,
)
"""All kinds, in the order of the list above."""
