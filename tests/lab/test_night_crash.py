"""The night crash: the planted cause comes first, for every seed, and the log rotation is cleared of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rocsteady.catalog import load_catalog
from rocsteady.cli.app import app
from rocsteady.cli.gather import diagnose_input
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.lab import SCENARIOS, SHAPES, build_node, play
from rocsteady.model import InputError
from tests.support import NOW


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_cause_is_first(seed: int) -> None:
    scenario = SCENARIOS["night-crash"]
    node = build_node(SHAPES[scenario.shape], seed)
    play(node, scenario)
    source = Input(HostFS(MemoryStore(node.tree.contents()), live=False), "tree", "synthetic")
    answer = diagnose_input(source, load_catalog(), NOW)
    assert answer.findings[0].slug == scenario.planted and answer.findings[0].role == "cause"
    assert len([f for f in answer.findings if f.role == "cause"]) == 1
    assert len(answer.crash_timeline.crashes) == len(scenario.nights)
    rotation = next(c for c in answer.crash_timeline.coincidences if c.activity == "log-rotation")
    assert rotation.followed == 1 and rotation.p_value is not None and rotation.p_value > 0.05


def test_scenario_needs_its_shape() -> None:
    with pytest.raises(InputError, match="mi210x4"):
        play(build_node(SHAPES["no-gpu"]), SCENARIOS["night-crash"])


def test_demo() -> None:
    answer = CliRunner().invoke(app, ["demo"])
    assert answer.exit_code == 0 and "named first" in answer.output
    answer = CliRunner().invoke(app, ["demo", "--format", "json"])
    assert json.loads(answer.output)["findings"][0]["slug"] == "memory-grows-over-hours"


def test_lab_commands(tmp_path: Path) -> None:
    runner = CliRunner()
    shown = runner.invoke(app, ["lab", "shapes"])
    assert shown.exit_code == 0 and all(name in shown.output for name in SHAPES)
    listed = json.loads(runner.invoke(app, ["lab", "shapes", "--format", "json"]).output)
    assert {s["name"]: s["partitions"] for s in listed["shapes"]}["mi300x8-cpx"] == 64
    target = str(tmp_path / "node")
    assert runner.invoke(app, ["lab", "write", "no-gpu", target]).exit_code == 0
    again = runner.invoke(app, ["lab", "write", "no-gpu", target])
    assert isinstance(again.exception, InputError)
