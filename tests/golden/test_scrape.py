"""The series of a synthetic MI300X node, reduced to names and to the values of labels that say what is measured.

``ROCSTEADY_UPDATE_GOLDEN=1 python -m pytest tests/golden`` writes the file anew; review the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.lab import SHAPES, build_node
from rocsteady.metrics import WHAT

GOLDEN = Path(__file__).with_name("scrape-mi300x8.txt")


def test_names_and_labels(tmp_path: Path) -> None:
    build_node(SHAPES["mi300x8"], 0, None).tree.write(tmp_path / "node")
    samples = Exporter(Options(root=tmp_path / "node")).samples()
    lines = {
        f"{metric.full_name}{{{', '.join(_pair(*pair) for pair in zip(metric.labels, labels, strict=True))}}}"
        for metric, series in samples.items()
        for labels in series
    }
    text = "\n".join(sorted(lines)) + "\n"
    if os.environ.get("ROCSTEADY_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def _pair(name: str, value: str) -> str:
    return f"{name}={value}" if name in WHAT else name
