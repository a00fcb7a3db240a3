"""The threshold file: the default says the defaults, and what is wrong in one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

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
