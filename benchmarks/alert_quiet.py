"""No alert during 24 simulated healthy hours of each node shape.

A synthetic node lives in simulated time and is scraped once a simulated minute; the scrapes become blocks of the real
Prometheus (promtool tsdb create-blocks-from openmetrics), and every rule is evaluated over the whole time with its
default thresholds. Alerts of severity info are listed apart: they say that something is unknown or worth a note.
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
from rocsteady.lab.live import LivingNode
from rocsteady.lab.live.metrics_server import serving

HOUR = 3600.0
NOT_SIMULATED = frozenset({"collector-hangs", "values-stale", "scrape-slow", "exporter-cpu", "exporter-memory"})
"""Rules on the exporter's own time and memory, which are real while the node's time is simulated."""


def watch(shape: str, hours: float, step: float, settings: Settings, folder: Path) -> tuple[list[Firing], int]:
    """Alerts that fired on a healthy node, and the number of samples that were written."""
    start = (time.time() // 7200) * 7200 - (hours + 2) * HOUR
    node = LivingNode(shape, folder / "node", seed=7, start=start)
    with serving(node.engine, 0) as port, Recorder(folder / "scrapes.om", settings, shape) as recorder:
        engines = (f"http://127.0.0.1:{port}/metrics",) if port else ()
        options = Options(root=node.directory, engines=engines, find_engines=False)
        exporter = Exporter(options, node.open, node.wall, lambda: node.now)
        told = 0.0
        while node.now < hours * HOUR:
            recorder.add(exporter.scrape(), start + node.now)
            node.advance(step)
            if node.now - told >= 2 * HOUR:
                told = node.now
                print(f"{shape}: {node.now / HOUR:.0f} h", file=sys.stderr, flush=True)
        node.close()
        exporter.close()
    make_blocks(folder / "scrapes.om", folder / "tsdb")
    with playing(folder / "tsdb") as address:
        return firings(address, settings, start, start + hours * HOUR, step), recorder.samples


def main() -> int:
    """Run all or some shapes; exit code 1 when an alert above info fired."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only this one (repeatable)")
    parser.add_argument("--hours", type=float, default=24.0, help="simulated hours (24)")
    parser.add_argument("--step", type=float, default=60.0, help="simulated seconds between two scrapes (60)")
    arguments = parser.parse_args()
    settings = load_settings()
    rows: list[dict[str, Any]] = []
    for shape in arguments.shape or list(SHAPES):
        with tempfile.TemporaryDirectory() as folder:
            found, samples = watch(shape, arguments.hours, arguments.step, settings, Path(folder))
        loud = sorted({firing.rule for firing in found if firing.severity != "info"} - NOT_SIMULATED)
        notes = sorted({firing.rule for firing in found if firing.severity == "info"} - NOT_SIMULATED)
        rows.append(
            {"shape": shape, "hours": arguments.hours, "rules": len(settings.rules) - len(NOT_SIMULATED), "samples": samples,
             "alerts": loud, "notes": notes}
        )  # fmt: skip
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"schema": "rocsteady.alert-quiet/1", "step_seconds": arguments.step, "shapes": rows}))
    else:
        for entry in rows:
            print(f"{entry['shape']:<12} alerts: {entry['alerts'] or 'none'}; notes: {entry['notes'] or 'none'}")
    return 1 if any(entry["alerts"] for entry in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
