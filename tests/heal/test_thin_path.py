"""From an unhealthy GPU in the document to a worker that serves on the spare one, with real processes."""

from __future__ import annotations

import os
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocsteady.heal.healer import Healer
from rocsteady.heal.journal import Journal
from rocsteady.heal.policy import ClassPolicy, Policy
from rocsteady.heal.state import HealthSeen
from rocsteady.heal.supervisor import processes
from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.supervisor.supervisor import Supervisor
from rocsteady.heal.supervisor.surroundings import Documents
from rocsteady.heal.supervisor.vitals import HttpProber
from tests.heal.made import bdf, gpu, node, seen

STUB = Path(__file__).with_name("stub_worker.py")
PATIENCE = 60.0
"""Seconds after which a test gives up; nothing is asserted about time."""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "heal.sqlite")
    yield made
    for one in processes.find(made.instance()):
        processes.send(one, made.instance(), 9)  # type: ignore[arg-type]
    made.close()


def test_worker_moves_to_the_spare_gpu(journal: Journal, tmp_path: Path) -> None:
    port = free_port()
    spec = WorkerSpec(
        name="w0", node="n1", url=f"http://127.0.0.1:{port}", devices=(bdf(0),), stop=10.0,
        command=(sys.executable, str(STUB), str(port)),
    )  # fmt: skip
    policy = Policy(dry_run=False, classes={"move": ClassPolicy(mode="auto"), "reset": ClassPolicy(mode="off")})
    holder: list[Healer] = []
    supervisor = Supervisor(
        (spec,), journal, journal.instance(), tmp_path / "logs", HttpProber(time.monotonic),
        Documents(lambda: holder[0].state.nodes if holder else {}, time.time, 30.0), time.time, dict(os.environ),
    )  # fmt: skip
    healer = Healer(journal, {"supervisor": supervisor}, (supervisor,), policy, time.time)
    holder.append(healer)

    def rounds(state: str, done: object) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            healer.take(
                HealthSeen(
                    seen(node(time.time(), gpu(0, state, *(["RAS-0002"] if state == "unhealthy" else [])), gpu(1)))
                )
            )
            healer.tick()
            if done():  # type: ignore[operator]
                return
            time.sleep(0.05)
        pytest.fail(f"not reached: {healer.state}")

    rounds("healthy", lambda: healer.state.workers[0].state == "serving")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
        assert answer.read() == b"0"
    rounds("unhealthy", lambda: any(a.rung == "move-worker" and not a.open for a in healer.state.actions))
    move = next(a for a in journal.receipts(10) if a.rung == "move-worker")
    assert (move.outcome, move.subject) == ("succeeded", bdf(0))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
        assert answer.read() == b"1"
    assert len({one.pid for one in processes.find(journal.instance()) if one.leader}) == 1
    while not supervisor.stop_all():
        time.sleep(0.05)
    assert processes.find(journal.instance()) == []
