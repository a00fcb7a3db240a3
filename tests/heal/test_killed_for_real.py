"""The process ``heal run`` gets SIGKILL while it works; what it began is ended once, and nothing is orphaned."""

from __future__ import annotations

import os
import random
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.heal.made import gpu
from tests.heal.running import FakeExporter, Healing, until


@pytest.fixture
def exporter() -> Iterator[FakeExporter]:
    made = FakeExporter()
    yield made
    made.close()


@pytest.fixture
def healing(quick: Path, exporter: FakeExporter) -> Iterator[Healing]:
    made = Healing(quick, exporter)
    yield made
    made.clean()


def answer(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as got:
            return str(got.read().decode())
    except (OSError, urllib.error.URLError):
        return "nobody"


def test_sigkill_while_a_worker_moves(healing: Healing, exporter: FakeExporter) -> None:
    healing.start()
    until(lambda: answer(healing.port) == "0", "the worker serves on its own GPU")
    first = healing.marked()
    exporter.devices = (gpu(0, "unhealthy", "RAS-0008"), gpu(1))
    moments = random.Random(7)
    for _ in range(4):
        time.sleep(moments.uniform(0.0, 1.2))
        healing.kill()
        healing.start()
    with healing.journal() as journal:
        until(lambda: [a for a in journal.receipts(100) if a.rung == "move-worker"], "a receipt of the move")
        until(lambda: [a for a in journal.receipts(100) if a.rung == "people"], "the end of the ladder")
        moves = [a for a in journal.receipts(100) if a.rung == "move-worker"]
        wish = journal.desired("w0")
        starts = [line.detail for line in journal.audit_lines(1000) if line.what == "worker-started"]
    assert [a.outcome for a in moves] == ["succeeded"]
    assert answer(healing.port) == "1"
    assert wish is not None
    assert [(one.worker, one.generation) for one in healing.marked()] == [("w0", wish.generation)]
    assert len(starts) <= 2, starts
    assert not {one.pid for one in first} & {one.pid for one in healing.marked()}
    assert healing.kill(signal.SIGTERM) == 0
    assert healing.marked() == []


def test_worker_outlives_the_healer_and_is_taken_over(healing: Healing) -> None:
    healing.start()
    until(lambda: answer(healing.port) == "0", "the worker serves")
    before = healing.marked()
    healing.kill()
    assert healing.marked() == before
    healing.start()
    with healing.journal() as journal:
        until(lambda: answer(healing.port) == "0", "it serves on")
        time.sleep(1.5)
        assert len([line for line in journal.audit_lines(1000) if line.what == "worker-started"]) == 1
    assert healing.marked() == before


def test_frozen_worker_is_restarted(healing: Healing) -> None:
    healing.start()
    until(lambda: answer(healing.port) == "0", "the worker serves")
    with healing.journal() as journal:
        until(lambda: journal.audit_lines(100, "w0"), "the start is in the audit log")
        time.sleep(1.0)
        (frozen,) = healing.marked()
        os.kill(frozen.pid, signal.SIGSTOP)
        until(lambda: [a for a in journal.receipts(10) if a.rung == "restart-worker"], "a receipt of the restart")
        (done,) = [a for a in journal.receipts(10) if a.rung == "restart-worker"]
    assert (done.outcome, done.mode, done.subject) == ("succeeded", "worker-unresponsive", "w0")
    assert answer(healing.port) == "0"
    assert [one.pid for one in healing.marked()] != [frozen.pid]
