"""The command ``forecast``."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from rocsteady.__main__ import main
from tests.alerts.forecast.series import START, climbing, wandering


def run(*arguments: str, without: str | None = None) -> subprocess.CompletedProcess[str]:
    code = "from rocsteady.__main__ import main; main()"
    if without is not None:
        code = f"import sys; sys.modules[{without!r}] = None; {code}"
    return subprocess.run(
        [sys.executable, "-c", code, "forecast", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def climb(tmp_path: Path) -> Path:
    path = tmp_path / "ttft.csv"
    rows = [f"{START + 60 * at:.0f},{value:.5f}" for at, value in enumerate(climbing(200))]
    path.write_text("time,value\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


USUAL = ("--unit", "seconds", "--now", "newest")


def test_a_breach_is_exit_code_1_and_a_document(climb: Path) -> None:
    done = run(str(climb), *USUAL, "--slo", "2550ms", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    assert document["schema"] == "rocsteady.forecast/1"
    assert document["status"] == "forecast"
    assert document["breach"]["expected_seconds"] > 0
    assert set(document["scores"]["methods"]) > {"last value", "seasonal naive", "linear", "ets", "arima"}
    assert len(document["forecast"]) == 15


def test_no_breach_is_exit_code_0_and_text(climb: Path) -> None:
    done = run(str(climb), *USUAL, "--slo", "1min")
    assert (done.returncode, done.stderr) == (0, "")
    assert "breach: none expected within 15 min" in done.stdout
    assert re.search(r"^\* \w+ .*", done.stdout, re.MULTILINE)


def test_metrics_are_declared_ones(climb: Path) -> None:
    done = run(str(climb), *USUAL, "--slo", "2550ms", "--format", "metrics", "--name", "ttft_p95")
    assert done.returncode == 1
    assert re.search(
        r'^rocsteady_forecast_breach_eta_seconds\{signal="ttft_p95",class="expected"\} ', done.stdout, re.MULTILINE
    )
    assert 'rocsteady_forecast_usable{signal="ttft_p95"} 1\n' in done.stdout


def test_a_refusal_is_one_line_and_exit_code_2(climb: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat.jsonl"
    flat.write_text("".join(f"[{START + 60 * at}, 0.5]\n" for at in range(200)), encoding="utf-8")
    for path, said in ((flat, "constant"), (climb, "stale")):
        done = run(str(path), *(USUAL if path == flat else ()))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1 and said in done.stderr
    done = run(str(flat), *USUAL, "--format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["refusal"]["reason"] == "constant"


def test_without_the_extra_one_line_names_it(climb: Path) -> None:
    for package in ("numpy", "statsmodels"):
        done = run(str(climb), without=package)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1 and "pip install 'rocsteady[forecast]'" in done.stderr


def test_bad_usage(climb: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        (),
        (str(climb), "--serve"),
        (str(climb), "--prometheus", "http://127.0.0.1:9"),
        (str(climb), "--slo", "soon"),
        (str(climb), "--horizon", "0s"),
        (str(climb), *USUAL, "--horizon", "9d"),
        (str(climb), "--now", "later"),
        (f"{climb}.absent",),
        ("--prometheus", "http://127.0.0.1:9"),
        ("--prometheus", "http://127.0.0.1:9", "--signal", "nonsense"),
        ("--prometheus", "http://127.0.0.1:9", "--signal", "ttft_p95", "--signal", "ttft_p95"),
        ("--prometheus", "http://127.0.0.1:9", "--signal", "ttft_p95"),
    ):
        monkeypatch.setattr(sys, "argv", ["rocsteady", "forecast", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        assert (end.value.code, shown.out) == (2, ""), arguments
        assert shown.err.count("\n") == 1, shown.err


def test_serving_until_interrupted() -> None:
    """Prometheus is not there: that is what the metrics say, and SIGINT ends it cleanly."""
    command = [sys.executable, "-m", "rocsteady", "forecast", "--prometheus", "http://127.0.0.1:9", "--signal"]
    running = subprocess.Popen(
        [*command, "ttft_p95=2s", "--serve", "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    try:
        assert running.stderr is not None
        url = running.stderr.readline().split()[1]
        text = ""
        for _ in range(100):
            with urllib.request.urlopen(url, timeout=10) as answer:
                text = answer.read().decode()
            if text:
                break
        assert 'rocsteady_forecast_refused{signal="ttft_p95",reason="unreachable"} 1\n' in text
    finally:
        running.send_signal(signal.SIGINT)
        _, rest = running.communicate(timeout=30)
    assert (running.returncode, rest) == (0, "")


def test_calm_series_in_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "kv.jsonl"
    rows = [{"time": START + 60 * at, "value": float(value) / 10} for at, value in enumerate(wandering(150))]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = run(str(path), "--unit", "ratio", "--now", "newest", "--slo", "99%", "--horizon", "5min")
    assert (done.returncode, done.stderr) == (0, "")
