"""A worker as the configuration describes it."""

from __future__ import annotations

import msgspec


class Probing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[worker.probe]``: how a frozen engine is told from a busy one. Seconds.

    vLLM's ``/health`` says 200 while its engine is frozen, so tokens must move while requests run, and an idle engine must
    answer a canary of one token. Engine start-up is not probed: it may take ``start``. The defaults are a choice of ours;
    the figures beside which they stand: vLLM's own proposal waits 60 s, gonka about 2 min.
    """

    every: float = 2.0
    answer: float = 5.0
    """How long /metrics may take: a busy engine missed a 2 s probe and was killed for it (gonka PR 1421)."""
    stalled: float = 10.0
    """No token while requests run: then the canary is sent."""
    idle_canary: float = 10.0
    """An idle engine is asked for a token this often."""
    canary_answer: float = 10.0
    failures: int = 2
    """Canaries in a row that must fail, with no token of any request meanwhile."""


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[worker]]``. ``devices``: ``bdf`` or ``bdf/partition``; empty for a worker on the CPU.

    ``command`` is an argument vector, no shell. For docker and podman it is what follows ``run`` and may hold ``{visible}``,
    ``{devices}`` and ``{render_devices}``; for systemd ``unit`` and ``environment_file`` are wanted instead.
    """

    name: str
    executor: str = "supervisor"
    node: str = ""
    url: str
    model: str = ""
    served_model: str = ""
    devices: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    directory: str | None = None
    environment: dict[str, str] = {}
    unit: str = ""
    environment_file: str = ""
    user_unit: bool = False
    topology_file: str = ""
    """What RCCL wrote with NCCL_TOPO_DUMP_FILE on this machine; bad links are taken out of a copy."""
    movable: bool = True
    start: float = 600.0
    stop: float = 20.0
    reserved_metric: str = ""
    allocated_metric: str = ""
    """Gauges of the worker's /metrics that hold what its allocator reserved and what of it is in use, for recycling."""
    gateway: dict[str, str | int | float] = {}
    """More keys of this worker for the file that the gateway reads: precision, tier, context, max_concurrency ..."""
    probe: Probing = Probing()
