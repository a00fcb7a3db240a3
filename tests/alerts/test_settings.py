"""The threshold file: the default says the defaults, and what is wrong in one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.alerts.generate import rule_files, sources
from rocsteady.alerts.settings import default_file, load_settings
from rocsteady.model import InputError


def test_the_default_file_says_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text(default_file(), encoding="utf-8")
    read, built_in = load_settings(path), load_settings()
    assert (read.general, read.alertmanager) == (built_in.general, built_in.alertmanager)
    assert [(c.rule.id, c.severity, c.amounts) for c in read.rules] == [
        (c.rule.id, c.severity, c.amounts) for c in built_in.rules
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[rules.xcd-saturate]\nlimit = 1\n", "did you mean 'xcd-saturated'?"),
        ("[rules.xcd-saturated]\nlimits = 1\n", "unknown key 'limits'"),
        ("[rules.xcd-saturated]\nlimit = 95\n", "a share between 0 and 1"),
        ('[rules.xcd-saturated]\nlimit = "0.9"\n', "a number"),
        ("[rules.xcd-saturated]\nlimit = nan\n", "a number"),
        ("[rules.xcd-saturated]\nfor = 300\n", "a duration in quotes"),
        ('[rules.xcd-saturated]\nfor = "5 minutes"\n', "is not a duration"),
        ('[rules.xcd-saturated]\nsmooth = "0s"\n', "cannot be empty"),
        ('[rules.xcd-saturated]\nseverity = "high"\n', "critical, warning or info"),
        ("[rules.xcd-saturated]\nenabled = 1\n", "true or false"),
        ("rules = 3\n", "not a table"),
        ("[rules]\nxcd-saturated = 3\n", "not a table"),
        ('[general]\njob = "a\\"b"\n', "a name without quotes"),
        ('[general]\nscrape_interval = "soon"\n', "is not a duration"),
        ('[alertmanager]\nnow_url = "mail"\n', "an http or https address"),
        ("[generall]\n", "did you mean 'general'?"),
        ("[general\n", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "t.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_settings(path)
    assert named in str(caught.value) and str(path) in str(caught.value)


def test_a_rule_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text("[rules.engine-down]\nenabled = false\n", encoding="utf-8")
    assert "engine-down" not in {choice.rule.id for choice in load_settings(path).rules}


PLAN = (
    '{"schema": "rocsteady.plan/1", "guard": {"memory_watermark_ratio": 0.93, "kv_usage_ratio": 0.9, '
    '"admission_tokens": 1000, "admission_requests": 40, "reasons": []}}'
)


def test_a_memory_plan_sets_limits_and_the_file_wins(tmp_path: Path) -> None:
    plan, config = tmp_path / "plan.json", tmp_path / "t.toml"
    plan.write_text(PLAN, encoding="utf-8")
    config.write_text("[rules.kv-cache-full]\nlimit = 0.8\n", encoding="utf-8")
    chosen = {choice.rule.id: choice for choice in load_settings(config, plan).rules}
    assert chosen["gpu-memory-watermark"].amounts["limit"] == 0.93
    assert chosen["admission-exceeded"].amounts["limit"] == 40
    assert chosen["kv-cache-full"].amounts["limit"] == 0.8
    assert "limit 40: set by the memory plan" in sources(chosen["admission-exceeded"])
    assert "limit 0.8: set in the threshold file" in sources(chosen["kv-cache-full"])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"schema": "other", "guard": {}}', PLAN.replace("plan/1", "plan/2"), PLAN.replace("40", "0")],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=str(path)):
        load_settings(None, path)


def test_shared_goals_reach_their_rules(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text("[shared]\nttft_seconds = 1\n", encoding="utf-8")
    settings = load_settings(path)
    text = rule_files(settings)["rules/slo.rules.yml"]
    assert 'le=~"1(\\\\.0)?"' in text
    path.write_text("[shared]\nttft_seconds = 0.33\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"one of 0\.1, 0\.25"):
        load_settings(path)
