"""A metric's name stands in its declaration and nowhere else in the product."""

from __future__ import annotations

import ast
from pathlib import Path

from rocsteady.metrics import METRICS

SOURCE = Path(__file__).resolve().parents[2] / "src/rocsteady"


def test_no_metric_name_is_a_literal_elsewhere() -> None:
    names = {metric.full_name for metric in METRICS} | {m.name for m in METRICS if m.name.count("_") > 2}
    wrong: list[str] = []
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "metrics" and path.parent.parent == SOURCE:
            continue
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value in names:
                wrong.append(f"{path.relative_to(SOURCE)}:{part.lineno}: {part.value}")
    assert wrong == []
