"""A healthy node raises no alert: one simulated hour and a half here, 24 h of each shape in benchmarks/alert_quiet.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rocsteady.alerts.check import known_series
from rocsteady.alerts.promql import names
from rocsteady.alerts.settings import load_settings
from rocsteady.drill.replay import Recorder, began, firings, inlined, make_blocks, playing, used_metrics
from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.lab.live import LivingNode
from rocsteady.lab.live.metrics_server import serving

MISSING = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
START = 1764547200.0
STEP, HEALTHY, FAULTY = 60.0, 90 * 60.0, 20 * 60.0


def test_an_alert_fires_after_its_wait_and_begins_anew_after_a_gap() -> None:
    assert began([0, 5, 10, 15], 0, 5) == [0]
    assert began([0, 5, 10, 15], 10, 5) == [10]
    assert began([0, 5, 20, 25, 30], 10, 5) == [30]
    assert began([0, 5, 10, 60], 0, 5) == [0, 60]
    assert began([], 0, 5) == [] and began([0, 5], 10, 5) == []


def test_recording_rules_are_put_in_their_place() -> None:
    replaced = {"a:b": "up == bool 1", "a:c:ratio_5m": "avg_over_time(a:b[5m])"}
    assert inlined("a:c:ratio_5m > 0.1", replaced, 60) == "(avg_over_time((up == bool 1)[5m:60s])) > 0.1"
    settings = load_settings()
    assert used_metrics(settings) <= set(known_series(settings))
    assert names("a:b").selectors[0].metric == "a:b"


@pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)} (package prometheus)")
def test_healthy_hours_are_quiet_and_a_fault_is_not(tmp_path: Path) -> None:
    settings = load_settings()
    node = LivingNode("mi210x4", tmp_path / "node", seed=3, start=START)
    with serving(node.engine, 0) as port, Recorder(tmp_path / "scrapes.om", settings, "n") as recorder:
        options = Options(root=node.directory, engines=(f"http://127.0.0.1:{port}/metrics",), find_engines=False)
        exporter = Exporter(options, node.open, node.wall, lambda: node.now)
        while node.now < HEALTHY + FAULTY:
            if node.now == HEALTHY:
                node.inject("ras-ue", gpu=2)
            recorder.add(exporter.scrape(), START + node.now)
            node.advance(STEP)
        node.close()
        exporter.close()
    make_blocks(tmp_path / "scrapes.om", tmp_path / "tsdb")
    with playing(tmp_path / "tsdb") as address:
        found = firings(address, settings, START, START + HEALTHY + FAULTY, STEP)
    # memory and time of the exporter are those of this test process, which holds many other tests' things
    real = {"collector-hangs", "values-stale", "scrape-slow", "exporter-cpu", "exporter-memory"}
    loud = [firing for firing in found if firing.severity != "info" and firing.rule not in real]
    assert [firing for firing in loud if firing.at < START + HEALTHY] == []
    assert {firing.labels["gpu"] for firing in loud if firing.rule == "hbm-uncorrected"} == {node.slots[2]}
    assert "engine-down" in {firing.rule for firing in loud}
