"""``rocsteady alerts``: exit codes and what is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rocsteady", "alerts", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_write_replaces_its_own_files_only(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("write", str(out)).returncode == 0
    assert list(yaml.safe_load((out / "rules/xgmi.rules.yml").read_text(encoding="utf-8"))["groups"][0])
    config = tmp_path / "t.toml"
    config.write_text("[rules.engine-down]\nenabled = false\n", encoding="utf-8")
    assert run("write", str(out), "--config", str(config)).returncode == 0
    assert "RocsteadyEngineDown" not in (out / "rules/engine.rules.yml").read_text(encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine", encoding="utf-8")
    refused = run("write", str(other))
    assert (refused.returncode, refused.stdout) == (2, "") and "not empty" in refused.stderr
    assert [p.name for p in other.iterdir()] == ["mine.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "out", "t.toml"]


def test_list_is_one_document() -> None:
    document = json.loads(run("list", "--format", "json").stdout)
    assert document["schema"] == "rocsteady.alerts/1"
    rule = next(r for r in document["rules"] if r["id"] == "xgmi-errors")
    assert rule["mode"] == "XGMI-0002" and rule["runbook"] == "docs/catalog/xgmi.md#xgmi-0002"
    assert {t["name"]: t["value"] for t in rule["thresholds"]} == {"for": "0s", "limit": 3, "window": "1h"}


def test_check_names_what_is_wrong(tmp_path: Path) -> None:
    rules = tmp_path / "r.yml"
    rules.write_text(
        "groups: [{name: x, rules: [{alert: A, expr: 'rocsteady_gpu_hotness > 1', labels: {severity: info}}]}]",
        encoding="utf-8",
    )
    done = run("check", str(rules))
    assert done.returncode == 1
    assert "no metric rocsteady_gpu_hotness" in done.stdout and "no annotation runbook_url" in done.stdout
    for content in ("[1]", "{", "groups: [{rules: 3}]", "\x00"):
        rules.write_text(content, encoding="utf-8")
        broken = run("check", str(rules))
        assert (broken.returncode, broken.stdout) == (2, "") and broken.stderr.count("\n") == 1, content
    assert run("check", str(tmp_path / "none.toml")).returncode == 2


def test_config_check_knows_the_threshold_file(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text("[rules.hbm-gradient]\nlimit = 20\n", encoding="utf-8")
    command = [sys.executable, "-m", "rocsteady", "config", "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and "1 with other numbers" in done.stdout
    path.write_text("[rules.hbm-gradient]\nlimits = 20\n", encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "unknown key 'limits'" in done.stderr
