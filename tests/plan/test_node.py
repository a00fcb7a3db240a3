"""``plan --node``: GPU, memory and count come from a tree, here from synthetic nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "rocsteady", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("shape", "tp", "total"), [("mi210x4", 2, 63.98), ("mi300x8", 8, 191.98)])
def test_the_tree_supplies_gpu_and_memory(tmp_path: Path, shape: str, tp: int, total: float) -> None:
    tree = tmp_path / shape
    assert run("lab", "write", shape, str(tree)).returncode == 0
    done = run(
        "plan", "--model", "meta-llama/Llama-3.1-8B-Instruct", "--node", str(tree), "--tp", str(tp), "--format", "json"
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["schema"] == "rocsteady.plan/1" and document["fits"]
    assert abs(document["per_gpu"]["total_gib"] - total) < 0.02


def test_a_node_without_a_gpu_is_one_clear_line(tmp_path: Path) -> None:
    tree = tmp_path / "no-gpu"
    assert run("lab", "write", "no-gpu", str(tree)).returncode == 0
    done = run("plan", "--model", "meta-llama/Llama-3.1-8B-Instruct", "--node", str(tree))
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.strip().splitlines()) == 1


def test_partitions_of_a_node_are_devices(tmp_path: Path) -> None:
    tree = tmp_path / "cpx"
    assert run("lab", "write", "mi300x8-cpx", str(tree)).returncode == 0
    done = run(
        "plan", "--model", "Qwen3-8B", "--node", str(tree), "--tp", "4", "--dp", "3", "--engine-version", "0.26",
        "--format", "json",
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert abs(document["per_gpu"]["total_gib"] - 191.98 / 8) < 0.02, "an eighth of the card"
    assert [len(cards) for cards in document["layout"]["cards"]] == [1, 1, 1], "each TP group inside one card"
    assert not document["layout"]["tp_crosses_pcie"]
