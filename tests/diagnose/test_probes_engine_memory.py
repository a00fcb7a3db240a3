"""The kinds of GPU out-of-memory errors, told apart by what PyTorch prints and by the stage."""

from __future__ import annotations

import pytest

from rocsteady.diagnose.evaluate import World
from rocsteady.diagnose.probes_engine_memory import classify, gib
from rocsteady.model import Event, EventLog, Evidence, NodeFacts

READY = ("engine-ready", {}, 0.0)


def oom(
    tried: str, total: str, free: str, allocated: str, reserved: str, at: float = 60.0
) -> tuple[str, dict[str, str], float]:
    fields = {"tried": tried, "total": total, "free": free, "allocated": allocated, "reserved": reserved}
    return ("torch-out-of-memory", fields, at)


def trace(stage: str) -> tuple[str, dict[str, str], float]:
    return ("python-traceback", {"exception": "torch.OutOfMemoryError", "stage": stage}, 60.0)


FULL = oom("2.00 GiB", "63.98 GiB", "0.96 GiB", "60.96 GiB", "129.10 MiB")


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([oom("2.00 GiB", "63.98 GiB", "0.50 GiB", "20.96 GiB", "129.10 MiB")], "other-process"),
        ([oom("2.00 MiB", "287.98 GiB", "203.49 GiB", "68.63 GiB", "14.93 GiB")], "refused"),
        ([READY, oom("2.00 GiB", "63.98 GiB", "0.96 GiB", "50.96 GiB", "9.10 GiB")], "fragmentation"),
        ([trace("load_model"), FULL], "weights"),
        ([trace("profile_run"), FULL], "activations"),
        ([trace("capture_model"), FULL], "graphs"),
        ([READY, FULL], "serving"),
        ([READY, oom("2.00 GiB", "63.98 GiB", "0.96 GiB", "60.96 GiB", "129.10 MiB", at=30_000.0)], "long-running"),
        ([FULL], "unknown"),
    ],
)
def test_kind(events: list[tuple[str, dict[str, str], float]], kind: str) -> None:
    log = EventLog(
        tuple(
            Event(kind=name, subject=None, evidence=Evidence("log", i + 1, ""), fields=fields, at=at, order=i)
            for i, (name, fields, at) in enumerate(events)
        ),
        (),
        ("log",),
    )
    found = classify(World(NodeFacts(), log))
    assert found is not None and found.kind == kind


def test_no_error_no_kind() -> None:
    assert classify(World(NodeFacts(), EventLog((), (), ("log",)))) is None


def test_sizes() -> None:
    assert gib("512.00 MiB") == 0.5
    assert gib("1.5 GiB") == 1.5
    assert gib(None) is None
