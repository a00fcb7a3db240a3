"""Routes and inhibition: accepted by amtool, without a circle, and never silencing what is more urgent."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rocsteady.alerts.alertmanager import alertmanager_file
from rocsteady.alerts.inhibition import SEVERITIES, SOONEST, inhibitions
from rocsteady.alerts.settings import load_settings
from rocsteady.alerts.write import write

SETTINGS = load_settings()
BY_ALERT = {choice.rule.alert: choice for choice in SETTINGS.rules}
needs_amtool = pytest.mark.skipif(
    shutil.which("amtool") is None, reason="needs amtool (package prometheus-alertmanager)"
)
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (package prometheus)")
HOOKS = """[alertmanager]
now_url = "http://127.0.0.1:9/now"
soon_url = "http://127.0.0.1:9/soon"
later_url = "https://127.0.0.1:9/later"
heal_url = "http://127.0.0.1:9/heal"
heal_token_file = "/etc/rocsteady/heal.token"
"""


@pytest.fixture
def hooked(tmp_path: Path) -> Path:
    config = tmp_path / "t.toml"
    config.write_text(HOOKS, encoding="utf-8")
    write(tmp_path / "out", load_settings(config))
    return tmp_path / "out"


@needs_amtool
def test_amtool_accepts_it(hooked: Path) -> None:
    for path in (hooked / "alertmanager.yml", hooked.parent / "default.yml"):
        if not path.exists():
            path.write_text(alertmanager_file(SETTINGS), encoding="utf-8")
        done = subprocess.run(
            ["amtool", "check-config", str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr


@needs_amtool
@pytest.mark.parametrize(
    ("rule", "receivers"),
    [
        ("hbm-gradient", "heal,now"),
        ("xcd-saturated", "heal,now"),
        ("xgmi-errors", "heal,soon"),
        ("ecc-off", "heal,later"),
    ],
)
def test_an_alert_reaches_its_receiver(hooked: Path, rule: str, receivers: str) -> None:
    choice = next(c for c in SETTINGS.rules if c.rule.id == rule)
    labels = [f"alertname={choice.rule.alert}", f"respond={choice.rule.respond}", f"severity={choice.severity}"]
    command = ["amtool", "config", "routes", "test", f"--config.file={hooked / 'alertmanager.yml'}", *labels]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.strip() == receivers, done.stderr


@needs_promtool
def test_promtool_accepts_the_configuration_of_prometheus(hooked: Path) -> None:
    command = ["promtool", "check", "config", str(hooked / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_circle_and_nothing_urgent_is_held_back_by_something_that_is_not() -> None:
    edges: dict[str, set[str]] = {}
    for entry in inhibitions(SETTINGS):
        edges.setdefault(entry.source, set()).update(entry.targets)
        source = BY_ALERT[entry.source]
        for name in entry.targets:
            target = BY_ALERT[name]
            assert SEVERITIES.index(source.severity) >= SEVERITIES.index(target.severity), (entry.source, name)
            if entry.why == "cause and symptom":
                assert SOONEST.index(source.rule.respond) >= SOONEST.index(target.rule.respond), (entry.source, name)
    for start in edges:
        seen: set[str] = set()
        left = [start]
        while left:
            for name in edges.get(left.pop(), ()):
                assert name != start, f"{start} holds back itself by way of others"
                if name not in seen:
                    seen.add(name)
                    left.append(name)


def test_what_is_held_back() -> None:
    found = {(entry.source, name): entry for entry in inhibitions(SETTINGS) for name in entry.targets}
    blind = found["RocsteadyExporterDown", "RocsteadyHbmTemperatureGradient"]
    assert blind.equal == ("job", "instance")
    assert ("RocsteadyExporterDown", "RocsteadyExporterFlaps") not in found
    assert found["RocsteadyRasFatalEvent", "RocsteadyGpuReset"].equal == ("job", "instance", "gpu")
    assert found["RocsteadyGpuNearThermalShutdown", "RocsteadyGpuNearCriticalTemperature"].why == "the worse of two"
    assert not [
        pair for pair in found if pair[1] == "RocsteadyHbmUncorrectedErrors" and pair[0] != "RocsteadyExporterDown"
    ]
    assert not [pair for pair in found if BY_ALERT[pair[0]].rule.unknown and not BY_ALERT[pair[1]].rule.unknown]
    assert yaml.safe_load(alertmanager_file(SETTINGS))["route"]["receiver"] == "later"
