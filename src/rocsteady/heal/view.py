"""The gpu-health document and the workers, as the decisions see them. Malformed documents are refused whole."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from rocsteady.model import InputError, Severity

SCHEMA = "rocsteady.gpu-health/1"
WorkerState = Literal["starting", "serving", "unresponsive", "draining", "stopped", "failed", "unknown"]


class Reason(msgspec.Struct, frozen=True):
    """Why a GPU is in its state."""

    id: str
    text: str = ""
    severity: Severity = "warning"


class Link(msgspec.Struct, frozen=True):
    """One XGMI link of a GPU; ``peer`` is the BDF at the other end where it is known."""

    link: int
    up: bool
    peer: str = ""


class Memory(msgspec.Struct, frozen=True):
    """Bytes; None = could not be read."""

    used_bytes: int | None = None
    total_bytes: int | None = None


class Process(msgspec.Struct, frozen=True):
    """A process that holds memory of the GPU."""

    pid: int
    vram_bytes: int = 0


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One row: a GPU or a partition of one."""

    bdf: str
    unique_id: str | None = None
    partition: int | None = None
    hip_index: int | None = None
    render_node: str | None = None
    hive: str | None = None
    links: tuple[Link, ...] = ()
    state: Literal["healthy", "suspect", "unhealthy", "unknown"]
    since: str | None = None
    last_evidence_at: str | None = None
    reasons: tuple[Reason, ...] = ()
    advice: Literal["none", "stop-new", "drain", "reset-hive", "reboot", "replace"] = "none"
    memory: Memory = Memory()
    processes: tuple[Process, ...] = ()

    @property
    def name(self) -> str:
        """How a configuration names it: ``0000:05:00.0`` or ``0000:05:00.0/3``."""
        return self.bdf if self.partition is None else f"{self.bdf}/{self.partition}"

    @property
    def links_down(self) -> bool:
        """Some link of it is down."""
        return any(not link.up for link in self.links)


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node as its newest document shows it. ``at`` is the document's own time, ``taken_at`` ours."""

    node: str
    boot_id: str
    at: float
    taken_at: float
    devices: tuple[Device, ...]

    def device(self, name: str) -> Device | None:
        """By name (``bdf`` or ``bdf/partition``)."""
        return next((d for d in self.devices if d.name == name), None)

    def gpu(self, bdf: str) -> tuple[Device, ...]:
        """All rows of one GPU."""
        return tuple(d for d in self.devices if d.bdf == bdf)

    def hive_of(self, bdf: str) -> str:
        """The hive of a GPU, '' where it is in none."""
        return next((d.hive or "" for d in self.devices if d.bdf == bdf), "")

    def hive_members(self, bdf: str) -> tuple[str, ...]:
        """BDFs that a reset of this GPU resets with it: its hive, or itself alone."""
        hive = self.hive_of(bdf)
        if not hive:
            return (bdf,)
        return tuple(sorted({d.bdf for d in self.devices if d.hive == hive}))


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as its executor shows it. ``generation``: id of the action that started it, '' at first start."""

    name: str
    node: str
    state: WorkerState
    devices: tuple[str, ...] = ()
    generation: str = ""
    since: float = 0.0
    pid: int | None = None
    model: str = ""
    restarts: int = 0
    requests: float | None = None
    fragmentation: float | None = None
    spare_of: str = ""
    executor: str = "supervisor"
    movable: bool = True
    topology_file: bool = False
    detail: str = ""


class _Document(msgspec.Struct, frozen=True):
    schema: str
    node: str
    boot_id: str
    at: str
    gpus: tuple[Device, ...]


def moment(text: str) -> float:
    """Seconds since 1970 of an RFC 3339 time.

    Raises:
        ValueError: it is none, or it has no zone.
    """
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if found.tzinfo is None:
        raise ValueError(f"{text}: a time zone is wanted")
    return found.timestamp()


def parse_health(data: bytes, taken_at: float) -> NodeView:
    """The document ``rocsteady.gpu-health/1``.

    Raises:
        InputError: it is no such document.
    """
    try:
        document = msgspec.json.decode(data, type=_Document)
        if document.schema != SCHEMA:
            raise InputError(f"gpu-health: schema {document.schema!r}, {SCHEMA} was wanted")
        at = moment(document.at)
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"gpu-health: {error}") from error
    if not document.node:
        raise InputError("gpu-health: no node name")
    return NodeView(
        node=document.node, boot_id=document.boot_id, at=at, taken_at=taken_at, devices=document.gpus
    )  # fmt: skip
