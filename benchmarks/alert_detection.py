"""Time from an injected fault to the alert that fires, for each scenario of the lab, with default thresholds.

A synthetic node lives in simulated time; its exporter is scraped every 5 simulated seconds; the scrapes are played to
the real Prometheus and the rules are evaluated every 5 s. Needs promtool and prometheus.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rocsteady.alerts.settings import Settings, load_settings
from rocsteady.drill.replay import Firing, Recorder, firings, make_blocks, playing
from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.lab import SHAPES
from rocsteady.lab.live import HEALTHY, LivingNode, living_scenarios
from rocsteady.lab.live.metrics_server import serving

STEP = 5.0
BEFORE = 60.0
"""Simulated seconds without a fault, in which no alert may fire."""
AFTER = 390.0
"""Simulated seconds beyond the time at which the scenario says that it shows."""
GPU = 1
NOT_SIMULATED = frozenset({"collector-hangs", "values-stale", "scrape-slow", "exporter-cpu", "exporter-memory"})
"""Rules on the exporter's own time and memory, which are real while the node's time is simulated."""


def run(scenario: str, shape: str, settings: Settings, folder: Path) -> dict[str, Any]:
    """One scenario: when it began, and the alerts that fired."""
    start = (time.time() // 7200 - 2) * 7200
    node = LivingNode(shape, folder / "node", scenario, gpu=GPU, delay=BEFORE, start=start)
    until = BEFORE + living_scenarios()[scenario].shows_after + AFTER
    deadline = 0.5 if scenario == "stale-sysfs" else 10.0
    with serving(node.engine, 0) as port, Recorder(folder / "scrapes.om", settings, shape) as recorder:
        engines = (f"http://127.0.0.1:{port}/metrics",)
        options = Options(root=node.directory, deadline=deadline, engines=engines, find_engines=False)
        exporter = Exporter(options, node.open, node.wall, lambda: node.now)
        while node.now < until:
            recorder.add(exporter.scrape(), start + node.now)
            node.advance(STEP)
        node.close()
        exporter.close()
    make_blocks(folder / "scrapes.om", folder / "tsdb")
    with playing(folder / "tsdb") as address:
        found = firings(address, settings, start, start + until, STEP)
    return {"began": start + BEFORE, "found": found, "samples": recorder.samples}


def row(scenario: str, shape: str, began: float, found: list[Firing]) -> dict[str, Any]:
    """Delays by rule; the first of each."""
    delays: dict[str, float] = {}
    for firing in found:
        if firing.at >= began and firing.severity != "info" and firing.rule not in NOT_SIMULATED:
            delays.setdefault(firing.rule, round(firing.at - began, 1))
    early = sorted({f.rule for f in found if f.at < began} - NOT_SIMULATED)
    return {
        "scenario": scenario, "shape": shape, "first_seconds": min(delays.values(), default=None), "rules": delays,
        "before_the_fault": early,
    }  # fmt: skip


def main() -> int:
    """Run all or some."""
    faults = [name for name in living_scenarios() if name != HEALTHY]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--scenario", action="append", choices=faults, help="only this one (repeatable)")
    arguments = parser.parse_args()
    settings = load_settings()
    rows = []
    for scenario in arguments.scenario or faults:
        shape = next(s for s in ("mi210x4", "mi300x8", "w7900x2") if living_scenarios()[scenario].fits(SHAPES[s]))
        with tempfile.TemporaryDirectory() as folder:
            result = run(scenario, shape, settings, Path(folder))
        rows.append(row(scenario, shape, result["began"], result["found"]))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"schema": "rocsteady.alert-detection/1", "scrape_seconds": STEP, "scenarios": rows}))
        return 0
    for entry in rows:
        print(f"{entry['scenario']:<22} {entry['first_seconds']!s:>8} s  {entry['rules']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
