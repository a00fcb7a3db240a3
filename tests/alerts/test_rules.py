"""The rules: well formed, on metrics that exist, with a failure mode, a source for each number, and promtool tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rocsteady.alerts.amounts import duration
from rocsteady.alerts.check import check_rules, known_series
from rocsteady.alerts.generate import expression_of, rule_files
from rocsteady.alerts.load import load_rules, thresholds
from rocsteady.alerts.promql import strangers
from rocsteady.alerts.rule import Rule
from rocsteady.alerts.runbook import runbook
from rocsteady.alerts.settings import load_settings
from rocsteady.alerts.write import write
from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.lab import SHAPES, build_node

RULES = [rule for rules in load_rules().values() for rule in rules]
DOCS = Path(__file__).resolve().parents[2] / "docs"
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (package prometheus)")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("alerts") / "out"
    write(directory, load_settings())
    return directory


@pytest.mark.parametrize("rule", [pytest.param(r, id=r.id) for r in RULES])
def test_a_rule_is_complete(rule: Rule) -> None:
    page, _, fragment = runbook(rule.mode, "catalog").partition("#")
    assert f'<a id="{fragment}"></a>' in (DOCS / page).read_text(encoding="utf-8")
    assert rule.summary and rule.description and rule.action.endswith(".") and rule.tests.quiet
    for name, limit in thresholds(rule).items():
        assert limit.why and (limit.certainty in ("chosen", "requested") or limit.url), name
        assert name == "for" or f"%{name}%" in rule.expr, f"{name} is not used"
    assert rule.unknown <= (rule.severity == "info"), "unknown is an alert of low severity"


def test_rules_name_only_metrics_and_labels_that_exist() -> None:
    settings = load_settings()
    assert [p for text in rule_files(settings).values() for p in check_rules(text)] == []
    known = known_series(settings)
    for choice in settings.rules:
        assert strangers(expression_of(choice, settings.general), known) == [], choice.rule.id


def test_there_are_many_and_each_group_has_an_unknown() -> None:
    assert len(RULES) >= 75
    assert sum(1 for rule in RULES if rule.unknown) >= 8


def test_the_three_that_everybody_asks_for() -> None:
    by_id = {rule.id: rule for rule in RULES}
    xcd, heat, links = by_id["xcd-saturated"], by_id["hbm-gradient"], by_id["xgmi-errors"]
    assert (xcd.limits["limit"].value, xcd.wait.value, xcd.respond) == (0.95, "5m", "15m")
    assert (heat.limits["limit"].value, heat.wait.value, heat.respond) == (15, "0s", "now")
    assert (links.limits["limit"].value, links.limits["window"].value, links.respond) == (3, "1h", "1h")


@needs_promtool
def test_promtool_accepts_the_rules(written: Path) -> None:
    done = promtool("check", "rules", *files(written / "rules"))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("group", list(load_rules()))
def test_each_rule_fires_and_stays_quiet(written: Path, group: str) -> None:
    paths = sorted((written / "tests").glob(f"{group}.*.test.yml"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    alerts = [test["alert_rule_test"][-1] for text in texts for test in yaml.load(text, yaml.CSafeLoader)["tests"]]
    for rule in load_rules()[group]:
        mine = [bool(a["exp_alerts"]) for a in alerts if a["alertname"] == rule.alert]
        assert True in mine and False in mine
    done = promtool("test", "rules", *map(str, paths))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_a_rule_with_another_limit_fails_the_old_tests(written: Path, tmp_path: Path) -> None:
    """The unit tests can fail."""
    config = tmp_path / "t.toml"
    config.write_text("[rules.hbm-gradient]\nlimit = 40\n", encoding="utf-8")
    write(tmp_path / "out", load_settings(config))
    old = f"tests/gpu-heat.{duration(60)}.test.yml"
    shutil.copy(written / old, tmp_path / "out" / old)
    assert promtool("test", "rules", str(tmp_path / "out" / old)).returncode == 1


@needs_promtool
def test_other_thresholds_carry_their_tests_along(tmp_path: Path) -> None:
    config = tmp_path / "t.toml"
    config.write_text(
        '[rules.hbm-gradient]\nlimit = 22.5\nfor = "90s"\n[rules.xcd-saturated]\nlimit = 0.5\nfor = "10s"\nsmooth = "5s"\n'
        '[rules.xgmi-errors]\nlimit = 10\nwindow = "20m"\n[rules.engine-down]\nenabled = false\n',
        encoding="utf-8",
    )
    write(tmp_path / "out", load_settings(config))
    changed = [
        path
        for path in files(tmp_path / "out/tests")
        if Path(path).name.startswith(("gpu-heat.", "gpu-load.", "xgmi."))
    ]
    done = promtool("test", "rules", *changed)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_accepts_a_scrape(tmp_path: Path) -> None:
    build_node(SHAPES["mi210x4"], 0, None).tree.write(tmp_path / "node")
    exporter = Exporter(Options(root=tmp_path / "node"))
    text = exporter.scrape()
    exporter.close()
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=120)


def files(folder: Path) -> list[str]:
    return sorted(map(str, folder.iterdir()))
