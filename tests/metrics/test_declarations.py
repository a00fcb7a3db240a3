"""The declarations follow the conventions; what a synthetic MI300X node exports is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.exporter.exposition import TextWriter
from rocsteady.lab import SHAPES, build_node
from rocsteady.metrics import BY_NAME, METRICS, WHAT, WHICH, Metric, measurement
from rocsteady.metrics.comparison import ours, peers

SUFFIX = {
    "bytes": "_bytes", "seconds": "_seconds", "celsius": "_celsius", "watts": "_watts", "joules": "_joules",
    "volts": "_volts", "hertz": "_hertz", "ratio": "_ratio", "bytes per second": "_bytes_per_second",
    "transfers per second": "_transfers_per_second", "rotations per minute": "_rpm", "ticks": "_ticks",
}  # fmt: skip


@pytest.mark.parametrize("metric", [pytest.param(m, id=m.name) for m in METRICS])
def test_conventions(metric: Metric) -> None:
    assert BY_NAME[metric.name] is metric
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.name.endswith("_info") == (metric.kind == "info")
    if metric.unit in SUFFIX:
        assert metric.name.removesuffix("_total").endswith(SUFFIX[metric.unit])
    if metric.kind != "info":
        assert set(metric.labels) <= WHAT | WHICH, "identity belongs into an _info series"
    assert metric.help.endswith((".", ")")) and metric.source and metric.read
    for field in metric.fields:
        assert len(metric.labels) == 1 + len(field.labels) + field.each
    assert metric.renamed_to is None or metric.renamed_to in BY_NAME


def test_measurements_of_a_node(tmp_path: Path) -> None:
    """At least 360 things are measured, 240 of them of the GPU; which GPU, XCD or port does not count."""
    build_node(SHAPES["mi300x8"], 0, None).tree.write(tmp_path / "node")
    samples = Exporter(Options(root=tmp_path / "node")).samples()
    found = {
        measurement(metric.full_name, dict(zip(metric.labels, labels, strict=True))): metric
        for metric, series in samples.items()
        for labels in series
    }
    assert len(found) >= 360
    assert sum(1 for metric in found.values() if metric.of_gpu) >= 240


def test_old_names_stay() -> None:
    new = METRICS[0]
    old = Metric(name="old_celsius", kind="gauge", unit="celsius", source="-", help="-", read="-", renamed_to=new.name)
    text = TextWriter((*METRICS, old)).text({new: {("0000:c1:00.0", "edge"): 41.0}})
    assert f'rocsteady_{new.name}{{gpu="0000:c1:00.0",sensor="edge"}} 41.0' in text
    assert 'rocsteady_old_celsius{gpu="0000:c1:00.0",sensor="edge"} 41.0' in text


def test_each_metric_of_the_others_was_looked_at() -> None:
    names = peers()
    assert len(names["device-metrics-exporter"]) == 194
    for name in (*names["device-metrics-exporter"], *names["omnistat"]):
        row = ours(name)
        assert row is not None, name
        assert row.metric is not None or row.note, name
