"""Documents, workers and a world for the tests of heal. All of it is synthetic."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from rocsteady.heal.view import Device, Link, Memory, NodeView, Process, Reason, WorkerView, parse_health

GIB = 1 << 30
START = 1_790_000_000.0
"""Where the clocks of these tests begin."""


def bdf(number: int) -> str:
    return f"0000:{5 + 16 * number:02x}:00.0"


def gpu(
    number: int, state: Any = "healthy", *reasons: str, hive: str | None = "h0", advice: Any = None, used: float = 0.1,
    pids: tuple[int, ...] = (), links: tuple[Link, ...] = (), severity: Any = "critical", partition: int | None = None,
    index: int | None = -1, evidence_at: float | None = None,
) -> Device:  # fmt: skip
    return Device(
        bdf=bdf(number), partition=partition, hip_index=number if index == -1 else index,
        render_node=f"renderD{128 + number}", hive=hive, links=links, state=state,
        reasons=tuple(Reason(r, f"{r} holds", severity) for r in reasons),
        advice=advice or ("none" if state == "healthy" else "drain"),
        memory=Memory(int(used * 192 * GIB), 192 * GIB), processes=tuple(Process(p, 4 * GIB) for p in pids),
        last_evidence_at=None if evidence_at is None else rfc(evidence_at),
    )  # fmt: skip


def rfc(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def node(at: float, *devices: Device, name: str = "n1", boot: str = "boot-1") -> NodeView:
    return NodeView(node=name, boot_id=boot, at=at, taken_at=at, devices=devices)


def document(view: NodeView) -> bytes:
    raw = {
        "schema": "rocsteady.gpu-health/1", "node": view.node, "boot_id": view.boot_id, "at": rfc(view.at),
        "gpus": [msgspec.to_builtins(device) for device in view.devices],
    }  # fmt: skip
    return msgspec.json.encode(raw)


def seen(view: NodeView) -> NodeView:
    """The same through JSON."""
    return parse_health(document(view), view.taken_at)


def worker(name: str, *devices: str, state: Any = "serving", model: str = "m", **more: Any) -> WorkerView:
    return WorkerView(name=name, node=more.pop("node", "n1"), state=state, devices=devices, model=model, **more)
