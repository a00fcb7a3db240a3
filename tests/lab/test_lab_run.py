"""The loop, the control file and the command."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rocsteady.cli.app import app
from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.engines import EngineCollector
from rocsteady.lab.live import LivingNode, living_scenarios
from rocsteady.lab.live.control import ORDERS, STATE, Control, obey, order
from rocsteady.lab.live.metrics_server import serving
from rocsteady.lab.live.run import TICK, play_on
from rocsteady.metrics import engine as metrics
from rocsteady.model import InputError

ROOT = Path(__file__).resolve().parents[2]


class Time:
    """A clock that only moves when somebody waits, and a place to do something at a given moment."""

    def __init__(self) -> None:
        self.now = 0.0
        self.at: dict[float, Any] = {}

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if act := self.at.pop(self.now, None):
            act()

    def clock(self) -> float:
        return self.now


def state_of(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / STATE).read_text())
    return found


def test_time_runs_faster_and_faults_come_and_go_by_order(tmp_path: Path) -> None:
    root = tmp_path / "node"
    node, time, heard = LivingNode("w7900x2", root, clock=lambda: 4711.0), Time(), []
    time.at[10 * TICK] = lambda: order(root, "pcie-downtrain gpu=1")
    time.at[20 * TICK] = lambda: order(root, "clear pcie-downtrain")
    time.at[25 * TICK] = lambda: order(root, "nonsense")
    play_on(node, speed=10, duration=300, wait=time.wait, clock=time.clock, told=heard.append)
    assert node.now == 300 and time.now == 30 * TICK
    state = state_of(root)
    (fault,) = state["faults"]
    assert (state["schema"], state["running"], state["now"]) == ("rocsteady.lab-state/1", False, 300)
    assert (fault["scenario"], fault["gpu"], fault["bdf"]) == ("pcie-downtrain", 1, node.slots[1])
    assert (fault["at"], fault["ended"], fault["began"]) == (90, 190, 4711.0)
    assert len(state["errors"]) == 1 and "nonsense" in state["errors"][0] and "healthy" in state["errors"][0]
    assert [line.rsplit(" ", 1)[1] for line in heard] == ["began", "ended"]
    with pytest.raises(InputError, match="no lab runs here"):
        order(root, "clear")


def test_an_order_that_waits_is_not_lost(tmp_path: Path) -> None:
    node = LivingNode("no-gpu", tmp_path / "node")
    Control(node).write()
    order(node.directory, "clear")
    with pytest.raises(InputError, match="waits already"):
        order(node.directory, "clear")
    Control(node).poll()
    assert not (node.directory / ORDERS).exists()


@pytest.mark.parametrize(
    "line",
    ["ras-ue gpu=x", "ras-ue gpu=99", "ras-ue color=red", "nothing", "ras-ue delay=soon", "ras-ue gpu=-1",
     "ras-ue delay=nan", "ras-ue delay=-5"],
)  # fmt: skip
def test_orders_that_are_none(line: str) -> None:
    node = LivingNode("mi210x4", None)
    with pytest.raises(InputError):
        obey(node, line)
    assert not node.faults


def test_the_engine_is_asked_over_http() -> None:
    node = LivingNode("mi210x4", None)
    node.advance(60)
    assert node.engine is not None
    with serving(node.engine, 0) as port:
        collector = EngineCollector((f"http://127.0.0.1:{port}/metrics",))
        batch = Batch()
        collector.collect(batch)
        assert list(batch.samples[metrics.ENGINE_UP].values()) == [1]
        assert sum(batch.samples[metrics.ENGINE_TOKENS].values()) > 6_000_000
        node.engine.die()
        batch = Batch()
        collector.collect(batch)
        assert list(batch.samples[metrics.ENGINE_UP].values()) == [0]
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/other")
        with pytest.raises(InputError, match="--engine-port"), serving(node.engine, port):
            pass


def refused(*arguments: str) -> str:
    """The one line that ``main`` prints before it exits with 2."""
    answer = CliRunner().invoke(app, ["lab", *arguments])
    assert isinstance(answer.exception, InputError) and answer.stdout == ""
    return str(answer.exception)


def test_bad_usage_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    assert "not empty" in refused("run", "no-gpu", str(tmp_path / "full"))
    unknown = refused("run", "mi300x8", str(tmp_path / "a"), "--scenario", "nonsense")
    assert "xgmi-crc-storm" in unknown and "healthy" in unknown
    assert "mi300x8" in refused("run", "nothing", str(tmp_path / "a"))
    assert "GPU 8" in refused("run", "mi300x8", str(tmp_path / "a"), "--scenario", "ras-ue", "--gpu", "8")
    assert "--speed" in refused("run", "no-gpu", str(tmp_path / "a"), "--speed", "0")
    assert "--duration" in refused("run", "no-gpu", str(tmp_path / "a"), "--duration", "-1")
    assert "--delay" in refused("run", "no-gpu", str(tmp_path / "a"), "--delay", "nan")
    assert "1.3" in refused("run", "mi210x4", str(tmp_path / "a"), "--gpu-metrics", "1.8")
    assert "no lab runs" in refused("inject", str(tmp_path), "ras-ue")
    assert "ras-ue" in refused("inject", str(tmp_path), "nonsense")
    assert not (tmp_path / "a").exists()


def test_a_port_that_is_taken_is_found_before_a_file_is_written(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in refused("run", "no-gpu", str(tmp_path / "a"), "--engine-port", port)
    assert not (tmp_path / "a").exists()


def test_exit_code_of_an_unknown_scenario(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rocsteady", "lab", "run", "no-gpu", str(tmp_path / "a"), "--scenario", "x"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "hive-reset" in done.stderr and not (tmp_path / "a").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(how: signal.Signals, tmp_path: Path) -> None:
    root = tmp_path / "node"
    command = [sys.executable, "-m", "rocsteady", "lab", "run", "no-gpu", str(root)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert process.stderr is not None and "living" in process.stderr.readline()
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "") and "Traceback" not in err
    assert not (root / STATE).exists() or state_of(root)["running"] is False
    assert (root / "proc/uptime").is_file()


def test_shapes_lists_what_can_live() -> None:
    answer = CliRunner().invoke(app, ["lab", "shapes", "--format", "json"])
    rows = {row["name"]: row for row in json.loads(answer.stdout)["living"]}
    assert rows["ras-ue"]["planted"] == ["hbm-uncorrected-errors"] and rows["ras-ue"]["state"] == "unhealthy"
    assert "w7900x2" not in rows["hbm-gradient"]["shapes"] and "no-gpu" not in rows["driver-gone"]["shapes"]


def test_every_living_scenario_is_documented() -> None:
    page = (ROOT / "docs" / "lab.md").read_text()
    for scenario in living_scenarios().values():
        assert f"| `{scenario.name}` | {scenario.text} |" in page
