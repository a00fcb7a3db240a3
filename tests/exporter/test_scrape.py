"""One scrape of a synthetic node: format, values, what is counted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.exporter.registry import RegistryCollector
from rocsteady.metrics import METRICS, gpu_setup, own

VOLATILE = {metric.full_name for metric in (*own.METRICS, gpu_setup.STATE_AGE)}


def series(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): float(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name not in VOLATILE
    }


def test_text_is_what_prometheus_client_writes(mi300x8: Path) -> None:
    exporter = Exporter(Options(root=mi300x8))
    registry = CollectorRegistry()
    registry.register(RegistryCollector(exporter))
    theirs = series(generate_latest(registry).decode())
    assert series(exporter.scrape()) == theirs
    assert len(theirs) > 1000


def test_linter_of_prometheus(mi300x8: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    text = Exporter(Options(root=mi300x8)).scrape()
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_names_are_unique() -> None:
    assert len({m.name for m in METRICS}) == len(METRICS)
