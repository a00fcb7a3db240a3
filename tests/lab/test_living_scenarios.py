"""Every scenario, end to end: the exporter's state of the GPU and the first finding are what the scenario says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.cli.gather import diagnose_input
from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.store import DirectoryStore
from rocsteady.lab import SHAPES
from rocsteady.lab.live import HEALTHY, LivingNode, living_scenarios
from rocsteady.model import Diagnosis

FAULTS = [name for name in living_scenarios() if name != HEALTHY]
GPU, DELAY = 1, 30.0


class Watched:
    """A living node with an exporter that lives in its time."""

    def __init__(self, shape: str, root: Path, scenario: str, deadline: float = 10.0) -> None:
        self.node = LivingNode(shape, root, scenario, gpu=GPU, delay=DELAY)
        self.root = root
        self.exporter = Exporter(Options(root=root, deadline=deadline), self.node.open, self.node.wall)

    def states(self, until: float, steps: int = 4) -> dict[str, str]:
        """States after simulated time, looked at on the way as a scrape does."""
        rows: dict[str, str] = {}
        for _ in range(steps):
            self.node.advance((until - self.node.now) / 2 if _ < steps - 1 else until - self.node.now)
            rows = {row["bdf"]: row["state"] for row in self.health()}
        return rows

    def health(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.exporter.health()["gpus"]
        return found

    def diagnosis(self) -> Diagnosis:
        source = Input(HostFS(DirectoryStore(self.root), live=False), "tree", "synthetic")
        return diagnose_input(source, load_catalog(), self.node.wall())

    def close(self) -> None:
        self.node.close()
        self.exporter.close()


@pytest.fixture
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    name: str = request.param
    shape = "mi210x4" if living_scenarios()[name].fits(SHAPES["mi210x4"]) else "mi300x8"
    made = Watched(shape, tmp_path / "node", name, 1.0 if name == "stale-sysfs" else 10.0)
    yield made
    made.close()


@pytest.mark.parametrize("watched", FAULTS, indirect=True)
def test_state_and_first_finding(watched: Watched) -> None:
    node = watched.node
    (fault,) = node.faults
    scenario, own = fault.scenario, node.slots[GPU]
    assert (node.fault_at, fault.began, node.fault_end) == (DELAY, None, None)
    before = watched.states(DELAY - 1, 2)
    assert set(before.values()) == {"healthy"}
    after = watched.states(DELAY + scenario.shows_after, 6)
    assert fault.began is not None
    assert after[own] == scenario.state
    answer = watched.diagnosis()
    if scenario.planted:
        assert answer.findings[0].slug in scenario.planted
        assert answer.findings[0].subject.id in (own, "node", "engine")
    else:
        assert answer.verdict == "healthy" and not answer.findings
    assert not answer.unexplained


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("gpu-hang-and-reset", "healthy"),
        ("hive-reset", "healthy"),
        ("stale-sysfs", "healthy"),
        ("driver-gone", "healthy"),
    ],
)
def test_what_ends_is_over(name: str, state: str, tmp_path: Path) -> None:
    """After a reset that succeeded, or when the fault is cleared, the GPU is healthy again and serves."""
    made = Watched("mi210x4", tmp_path / "node", name, 1.0 if name == "stale-sysfs" else 10.0)
    try:
        scenario = made.node.faults[0].scenario
        made.states(DELAY + scenario.shows_after, 3)
        if scenario.lasts is None:
            assert made.node.clear(name) == 1
        after = made.states(made.node.now + (scenario.lasts or 60.0) + 660, 4)
        assert set(after.values()) == {state} and len(after) == 4
        assert made.node.fault_end is not None and made.node.engine is not None and made.node.engine.alive
        assert made.node.bodies[GPU].state.busy > 0
    finally:
        made.close()


def test_a_fault_is_put_in_and_taken_out_while_it_runs(tmp_path: Path) -> None:
    made = Watched("mi210x4", tmp_path / "node", HEALTHY)
    try:
        assert set(made.states(20, 2).values()) == {"healthy"}
        fault = made.node.inject("pcie-downtrain", gpu=3)
        assert fault.at == made.node.now and fault.began is None
        assert made.states(20 + 150, 5)[made.node.slots[3]] == "suspect"
        assert made.node.clear() == 1 and made.node.clear() == 0 and fault.ended == made.node.now
        assert made.states(20 + 150 + 120, 5)[made.node.slots[3]] == "healthy"
    finally:
        made.close()
