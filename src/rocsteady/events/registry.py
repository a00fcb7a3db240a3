"""All event kinds, from one module per log format. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.events import (
    amd_smi,
    containers,
    disk,
    engine_memory,
    engine_start,
    host_oom,
    housekeeping,
    kmsg_faults,
    kmsg_host,
    kmsg_ras,
    kmsg_reset,
    kmsg_rings,
    kmsg_smu,
    kmsg_xgmi,
    kubernetes,
    kubernetes_amd,
    limits,
    process_group,
    python_trace,
    rccl,
    services,
)
from rocsteady.events.kinds import Kind

KINDS: tuple[Kind, ...] = (
    *amd_smi.KINDS,
    *containers.KINDS,
    *disk.KINDS,
    *engine_memory.KINDS,
    *engine_start.KINDS,
    *host_oom.KINDS,
    *housekeeping.KINDS,
    *kmsg_faults.KINDS,
    *kmsg_host.KINDS,
    *kmsg_ras.KINDS,
    *kmsg_reset.KINDS,
    *kmsg_rings.KINDS,
    *kmsg_smu.KINDS,
    *kmsg_xgmi.KINDS,
    *kubernetes.KINDS,
    *kubernetes_amd.KINDS,
    *limits.KINDS,
    *process_group.KINDS,
    *python_trace.KINDS,
    *rccl.KINDS,
    *services.KINDS,
)
"""All kinds."""
