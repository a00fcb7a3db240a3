"""Processes that opened /dev/kfd: their memory, evictions and occupancy per GPU.

Source: /sys/class/kfd/kfd/proc/<pid>/
Docs:   https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_process.c
Sample: ``vram_41657`` = ``2907979776``; ``stats_41657/evicted_ms`` = ``0``.
The pid is that of the initial PID namespace. ``sdma_<gpu_id>`` is not read: reading it schedules work on the GPU.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, gap_of
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

PROC = "sys/class/kfd/kfd/proc"
VRAM = re.compile(r"vram_(\d{1,10})")
QUEUE_KINDS = {0: "compute", 1: "sdma", 2: "compute-aql", 3: "sdma-xgmi", 4: "sdma-by-engine"}


class ProcessOnGpu(msgspec.Struct, frozen=True, kw_only=True):
    """One process on one GPU: bytes of VRAM, milliseconds evicted, CUs with its waves, SVM migrations."""

    vram: int | None = None
    evicted_ms: int | None = None
    cu_occupancy: int | None = None
    faults: int | None = None
    page_in: int | None = None
    page_out: int | None = None


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """One user queue; ``size`` in bytes."""

    gpu_id: int | None
    kind: str | None
    size: int | None


class KfdProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process by its pid in the initial PID namespace; ``gpus`` by ``gpu_id``."""

    pid: int
    pasid: int | None
    gpus: dict[int, ProcessOnGpu]
    queues: tuple[Queue, ...] = ()


def read_kfd_processes(fs: HostFS) -> tuple[KfdProcess, ...] | Gap:
    """All processes that hold /dev/kfd open, by pid. A process that ends meanwhile is left out."""
    try:
        names = fs.names(PROC)
    except ReadError as error:
        return gap_of(PROC, error)
    pids = sorted(int(n) for n in names if n.isascii() and n.isdigit() and len(n) < 10)
    return tuple(process for pid in pids if (process := _process(Folder(fs, f"{PROC}/{pid}"), pid)) is not None)


def _process(folder: Folder, pid: int) -> KfdProcess | None:
    names = folder.names()
    if not names:
        return None
    gpus: dict[int, ProcessOnGpu] = {}
    for name in names:
        if match := VRAM.fullmatch(name):
            key = match[1]
            gpus[int(key)] = ProcessOnGpu(
                vram=folder.integer(name),
                evicted_ms=folder.integer(f"stats_{key}/evicted_ms"),
                cu_occupancy=folder.integer(f"stats_{key}/cu_occupancy"),
                faults=folder.integer(f"counters_{key}/faults"),
                page_in=folder.integer(f"counters_{key}/page_in"),
                page_out=folder.integer(f"counters_{key}/page_out"),
            )
    queues = tuple(
        Queue(
            gpu_id=folder.integer(f"queues/{q}/gpuid"),
            kind=QUEUE_KINDS.get(number) if (number := folder.integer(f"queues/{q}/type")) is not None else None,
            size=folder.integer(f"queues/{q}/size"),
        )
        for q in folder.names("queues")
    )
    return KfdProcess(pid=pid, pasid=folder.integer("pasid"), gpus=gpus, queues=queues)
