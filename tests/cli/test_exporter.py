"""The commands ``exporter`` and ``metrics``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rocsteady.lab import SHAPES, build_node

WITHOUT = "import sys; sys.modules.update(aiohttp=None, prometheus_client=None, uvloop=None); from rocsteady.__main__ import main; main()"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As in a base install: the packages of the extra cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_once_prints_one_scrape_without_the_extra(tmp_path: Path) -> None:
    build_node(SHAPES["no-gpu"], 0, None).tree.write(tmp_path / "node")
    done = run("exporter", "--root", str(tmp_path / "node"), "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# HELP rocsteady_")
    assert "rocsteady_node_gpus 0\n" in done.stdout


def test_serving_names_the_missing_extra(tmp_path: Path) -> None:
    done = run("exporter", "--root", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'rocsteady[agent]'" in done.stderr


def test_bad_usage(tmp_path: Path) -> None:
    for arguments in (
        ("--root", str(tmp_path / "absent"), "--once"),
        ("--root", str(tmp_path), "--collector", "nonsense", "--once"),
        ("--root", str(tmp_path), "--engine", "http://10.0.0.1/metrics", "--once"),
    ):
        done = run("exporter", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr.count("\n") == 1


def test_metrics_list() -> None:
    done = run("metrics", "list", "--format", "json")
    document = json.loads(done.stdout)
    assert document["schema"] == "rocsteady.metrics/1"
    assert all(metric["name"].startswith("rocsteady_") for metric in document["metrics"])
