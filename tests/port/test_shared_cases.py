"""The shared conversion cases: every review place is named at its line with its category."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases-porting"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="needs the read-only material beside the checkout")
MOST_EXTRA = 4
"""Notes beyond the wanted ones, over all cases together."""


def sources() -> list[Path]:
    if not CASES.is_dir():
        return []
    return sorted(
        p for p in CASES.iterdir() if p.name[:2].isdigit() and p.suffix != ".yaml" and ".expected" not in p.name
    )


def score(source: Path, out: Path) -> tuple[set[tuple[int, str]], set[tuple[int, str]], bool]:
    """Missing places, extra notes, and whether the output is the expected text."""
    stem = source.name.split(".")[0]
    case = yaml.safe_load((CASES / f"{stem}.yaml").read_text(encoding="utf-8"))
    wanted = {(int(r["line"]), r["category"]) for r in case.get("review") or []}
    done = subprocess.run(
        [sys.executable, "-m", "rocsteady", "port", str(source), "-o", str(out), "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found = {(r["line"], r["category"]) for f in json.loads(done.stdout)["files"] for r in f["reviews"]}
    expected = next(p for p in CASES.glob(f"{stem}.expected*"))
    return wanted - found, found - wanted, out.read_text() == expected.read_text()


def test_review_places(tmp_path: Path) -> None:
    results = {s.name: score(s, tmp_path / s.name) for s in sources()}
    missing = {name: r[0] for name, r in results.items() if r[0]}
    extra = {name: r[1] for name, r in results.items() if r[1]}
    assert not missing, missing
    assert sum(len(e) for e in extra.values()) <= MOST_EXTRA, extra
