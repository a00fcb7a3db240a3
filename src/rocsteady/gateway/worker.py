"""A worker: what the configuration says about it, and what is known of it now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from rocsteady.gateway.health import Health

if TYPE_CHECKING:
    from rocsteady.gateway.connector import Exchange
    from rocsteady.gateway.interfaces import Call

Tier = Literal["gpu", "cpu"]
BLOCKING = frozenset({"stop-new", "drain", "reset-hive", "reboot", "replace"})
"""Advice about a GPU with which nothing new is sent to it."""
Canary = Literal["completion", "embedding", "none"]


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One worker as a file names it.

    ``gpus``: PCI addresses, or ``ADDRESS/PARTITION``; empty: not bound (its GPUs then say nothing about it).
    ``model``: the name clients ask for. ``served``: the name the engine goes by (default: the same).
    ``context``: tokens of prompt and answer together, None: not known. ``max_concurrency`` and ``kv_tokens``: from
    `rocsteady plan`, None: admission decides by what the engine reports. ``metrics``: the engine has ``/metrics``.
    ``canary``: the smallest request that makes it work.
    """

    name: str
    url: str
    model: str
    served: str = ""
    node: str = ""
    gpus: tuple[str, ...] = ()
    precision: str = ""
    tier: Tier = "gpu"
    weight: float = 1.0
    context: int | None = None
    max_concurrency: int | None = None
    kv_tokens: int | None = None
    token_file: str = ""
    metrics: bool = True
    canary: Canary = "completion"
    source: str = "static"

    @property
    def upstream_model(self) -> str:
        """The name to put into a request."""
        return self.served or self.model


class Load(msgspec.Struct, frozen=True):
    """What an engine said about its load. A figure it does not give is None. ``at``: monotonic seconds."""

    at: float
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None


class Attempt:
    """One request that is with a worker now.

    ``sent``, ``last``: when it was sent and when the last byte came, monotonic seconds. ``first``: whether bytes of the
    body came. ``streams``: whether tokens come one by one; else silence until the end is normal.
    """

    __slots__ = ("call", "exchange", "first", "last", "sent", "streams")

    def __init__(self, call: Call, exchange: Exchange, now: float, *, streams: bool) -> None:
        self.call = call
        self.exchange = exchange
        self.sent = now
        self.last = now
        self.first = False
        self.streams = streams


class Worker:
    """One worker and its live state, of one gateway process.

    ``inflight``: requests now with it. ``drained``: taken out by a person (reason), '' otherwise. ``gpu_state``: worst
    state of its GPUs (see ``gpus``). ``last_bytes``: when it last sent anything, monotonic seconds. ``attempts``: what
    is out now. ``ttft``: moving average of the time to the first byte, seconds, None: nothing measured.
    """

    __slots__ = (
        "attempts", "drained", "gpu_advice", "gpu_memory_ratio", "gpu_reason", "gpu_state", "health", "inflight", "last_bytes",
        "load", "removed", "spec", "token", "ttft",
    )  # fmt: skip

    def __init__(self, spec: WorkerSpec, health: Health, token: str = "") -> None:
        self.spec = spec
        self.health = health
        self.token = token
        self.inflight = 0
        self.attempts: set[Attempt] = set()
        self.drained = ""
        self.removed = False
        self.gpu_state = "unknown"
        self.gpu_advice = "none"
        self.gpu_reason = ""
        self.gpu_memory_ratio: float | None = None
        self.load: Load | None = None
        self.last_bytes = 0.0
        self.ttft: float | None = None

    @property
    def name(self) -> str:
        """Its name in configuration, headers and metrics."""
        return self.spec.name

    @property
    def blocked(self) -> str:
        """Why no new request goes there; '' where one may."""
        if self.drained:
            return f"drained: {self.drained}"
        if self.gpu_state == "unhealthy" or self.gpu_advice in BLOCKING:
            return f"GPU {self.gpu_state}, advice {self.gpu_advice}: {self.gpu_reason}"
        if not self.health.usable:
            return f"{self.health.state}: {self.health.reason}"
        return ""

    @property
    def score(self) -> float:
        """Load for comparing two workers: requests per weight; doubts weigh as half the worker."""
        weight = self.spec.weight
        if self.gpu_state == "suspect" or self.health.state == "suspect":
            weight *= 0.5
        return (self.inflight + 1) / weight

    def __repr__(self) -> str:
        return f"<Worker {self.spec.name} {self.health.state}>"
