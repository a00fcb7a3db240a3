"""From the document ``rocsteady.gpu-health/1`` to what it means for a worker. Pure.

The worst GPU of a worker decides: a tensor-parallel group is as good as its worst member. What the document does not
say is ``unknown``: such a worker is kept.
"""

from __future__ import annotations

import msgspec

from rocsteady.gateway.worker import WorkerSpec

SEVERITY = {"healthy": 0, "unknown": 1, "suspect": 2, "unhealthy": 3}
STRENGTH = {"none": 0, "stop-new": 1, "drain": 2, "reset-hive": 3, "reboot": 4, "replace": 5}


class Reason(msgspec.Struct, frozen=True):
    """Why."""

    text: str = ""


class Memory(msgspec.Struct, frozen=True):
    """Bytes; None where they could not be read."""

    used_bytes: int | None = None
    total_bytes: int | None = None


class GpuRow(msgspec.Struct, frozen=True):
    """One GPU or partition of the document."""

    bdf: str
    state: str
    partition: int | None = None
    reasons: tuple[Reason, ...] = ()
    advice: str = "none"
    memory: Memory = Memory()


class Document(msgspec.Struct, frozen=True):
    """The parts of the document that routing needs."""

    schema: str
    node: str
    gpus: tuple[GpuRow, ...] = ()


class GpuVerdict(msgspec.Struct, frozen=True):
    """What the GPUs of one worker are like. ``memory_ratio``: fullest of them, None where not known."""

    state: str
    advice: str
    reason: str
    memory_ratio: float | None = None


UNKNOWN = GpuVerdict("unknown", "none", "no health document")


def parse_document(data: bytes) -> Document:
    """Decode a document.

    Raises:
        msgspec.DecodeError: it is none, or of another schema.
    """
    document = msgspec.json.decode(data, type=Document)
    if not document.schema.startswith("rocsteady.gpu-health/1"):
        raise msgspec.DecodeError(f"schema {document.schema[:40]!r}")
    return document


def verdict(spec: WorkerSpec, document: Document) -> GpuVerdict:
    """The verdict for one worker of the document's node."""
    wanted = [name.lower() for name in spec.gpus]
    rows = [row for row in document.gpus if _is_of(row, wanted)]
    if not rows or any(not any(_is_of(row, [name]) for row in rows) for name in wanted):
        missing = "the document does not show all of its GPUs" if wanted else "not bound to a GPU"
        if not rows:
            return GpuVerdict("unknown", "none", missing)
        rows.append(GpuRow(bdf="", state="unknown", reasons=(Reason(missing),)))
    worst = max(rows, key=lambda row: (SEVERITY.get(row.state, 1), STRENGTH.get(row.advice, 0)))
    advice = max((row.advice for row in rows), key=lambda word: STRENGTH.get(word, 0))
    shares = [
        row.memory.used_bytes / row.memory.total_bytes
        for row in rows
        if row.memory.used_bytes is not None and row.memory.total_bytes
    ]
    state = worst.state if worst.state in SEVERITY else "unknown"
    text = "; ".join(reason.text for reason in worst.reasons)[:200] or worst.bdf
    return GpuVerdict(state, advice, text, max(shares) if shares else None)


def _is_of(row: GpuRow, wanted: list[str]) -> bool:
    bdf = row.bdf.lower()
    return bdf in wanted or (row.partition is not None and f"{bdf}/{row.partition}" in wanted)
