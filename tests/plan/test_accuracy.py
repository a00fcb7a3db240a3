"""The published accuracy: own rows always, the shared rows where they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import SHARED

ROOT = Path(__file__).resolve().parents[2]
TRUTH = SHARED / "memory-truth.jsonl"


def scored(rows: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/plan_accuracy.py"), str(rows), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def test_what_did_not_fit_is_planned_so() -> None:
    """Four are not: docs/benchmarks.md names them and why."""
    result = scored(ROOT / "benchmarks/data/out-of-memory.jsonl")
    assert result["fits"]["rows"] == 26
    assert result["fits"]["wrong"] <= 4


def test_own_rows() -> None:
    result = scored(ROOT / "benchmarks/data/startups.jsonl")
    assert result["schema"] == "rocsteady.plan-accuracy/1"
    assert result["kv_tokens"]["median_abs_error"] < 0.01
    given = result["kv_tokens_given_kv_gib"]
    assert given["within_rounding"] == given["uniform_rows"]


@pytest.mark.shared
@pytest.mark.skipif(not TRUTH.is_file(), reason="the shared rows are not beside the checkout")
def test_shared_rows() -> None:
    result = scored(TRUTH)
    tokens = result["kv_tokens"]
    assert tokens["median_abs_error"] <= 0.01
    assert tokens["p90_abs_error"] <= 0.08
    assert tokens["coverage"] >= 0.9
    assert result["fits"]["wrong"] == 0


def test_a_broken_file_is_an_error(tmp_path: Path) -> None:
    bad = tmp_path / "rows.jsonl"
    bad.write_text("{")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/plan_accuracy.py"), str(bad)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
