"""Presets, samples, the watch over a signal, and the real Prometheus on loopback."""

from __future__ import annotations

import json
import math
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rocsteady.alerts.forecast.presets import HISTOGRAMS, names, preset
from rocsteady.alerts.forecast.prometheus import Server, query_range
from rocsteady.alerts.forecast.report import Document
from rocsteady.alerts.forecast.samples import Samples, add
from rocsteady.alerts.forecast.server import Server as Pages
from rocsteady.alerts.forecast.signals import Signal, duration, quantity
from rocsteady.alerts.forecast.watch import Watch, Watched
from rocsteady.metrics import BY_NAME
from rocsteady.model import InputError
from tests.alerts.forecast.series import START, climbing, wandering

STEP = 60.0


class Source:
    """Points as a server would give them, and a count of the questions."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = list(values)
        self.asked: list[tuple[float, float]] = []
        self.down = False

    def __call__(self, start: float, end: float) -> list[tuple[float, float]]:
        self.asked.append((start, end))
        if self.down:
            raise InputError("http://prometheus: Connection refused")
        times = [START + STEP * at for at in range(len(self.values))]
        return [(at, value) for at, value in zip(times, self.values, strict=True) if start <= at <= end]


def watching(source: Callable[[float, float], Sequence[tuple[float, float]]], objective: float = 2.55) -> Watch:
    signal = Signal(name="ttft_p95", unit="seconds", objective=objective)
    return Watch(
        Watched(signal=signal, source="test", fetch=source, step=STEP, history=200 * STEP, horizon=8, refit=1800)
    )


def now_of(source: Source) -> float:
    return START + STEP * (len(source.values) - 1) + 5


def test_a_watch_fits_once_and_then_takes_points_in() -> None:
    source = Source(climbing(200))
    watch = watching(source)
    first = watch.look(now_of(source))
    assert first.status == "forecast" and first.update_seconds is None
    source.values += [2.5, math.nan, 2.52]
    again = watch.look(now_of(source))
    assert again.status == "forecast" and again.update_seconds is not None and again.newest == 2.52
    assert source.asked[-1][0] == START + STEP * 200
    assert again.breach is not None and again.breach.expected_seconds is not None


def test_a_watch_says_why_not_and_comes_back() -> None:
    source = Source(wandering(200))
    watch = watching(source)
    source.down = True
    gone = watch.look(now_of(source))
    assert gone.refusal is not None and gone.refusal.reason == "unreachable"
    source.down = False
    assert watch.look(now_of(source)).status == "forecast"
    silent = watch.look(now_of(source) + 5 * STEP)
    assert silent.refusal is not None and silent.refusal.reason == "stale"
    long = watch.look(now_of(source) + 50 * STEP)
    assert long.refusal is not None and long.refusal.reason == "stale"


def samples_of(document: Document, now: float) -> Samples:
    samples: Samples = {}
    add(samples, document, now)
    return samples


def test_samples_count_the_time_from_now_on() -> None:
    source = Source(climbing(200))
    document = watching(source).look(now_of(source))
    assert document.breach is not None and document.breach.expected_seconds is not None
    samples = samples_of(document, now_of(source) + 20)
    eta = samples[BY_NAME["forecast_breach_eta_seconds"]]
    assert eta[("ttft_p95", "expected")] == document.breach.expected_seconds - 25
    assert samples[BY_NAME["forecast_usable"]] == {("ttft_p95",): 1}
    for metric, series in samples.items():
        for labels in series:
            assert len(labels) == len(metric.labels)


def test_no_forecast_has_no_sample_but_its_reason() -> None:
    source = Source([0.5] * 200)
    samples = samples_of(watching(source).look(now_of(source)), now_of(source))

    assert sorted(metric.name for metric in samples) == [
        "forecast_newest_point_age_seconds",
        "forecast_refused",
        "forecast_usable",
    ]
    assert samples[BY_NAME["forecast_refused"]] == {("ttft_p95", "constant"): 1}
    assert samples[BY_NAME["forecast_usable"]] == {("ttft_p95",): 0}


def test_quantities() -> None:
    assert quantity("2s", "seconds", "--slo") == 2
    assert quantity("500 ms", "seconds", "--slo") == 0.5
    assert quantity("12GiB", "bytes", "--slo") == 12 * 2**30
    assert quantity("90%", "ratio", "--slo") == pytest.approx(0.9)
    assert duration("2h", "--history") == 7200
    for text, unit in (
        ("2 s x", "seconds"),
        ("2GiB", "seconds"),
        ("nan", "none"),
        ("120%", "ratio"),
        ("1e999", "none"),
    ):
        with pytest.raises(InputError, match="--slo"):
            quantity(text, unit, "--slo")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        duration("0s", "--step")


def test_presets_refuse_what_they_do_not_know() -> None:
    for name, engine, match in (
        ("nonsense", "vllm", ""),
        ("ttft_p95", "tgi", ""),
        ("ttft_p95", "vllm", 'a="b"}) or up'),
    ):
        with pytest.raises(InputError):
            preset(name, engine, match, "300s")


@pytest.mark.parametrize("engine", list(HISTOGRAMS))
def test_presets_are_promql(engine: str, tmp_path: Path) -> None:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool (Debian package prometheus) is not installed")
    rules = ["groups:", "- name: presets", "  rules:"]
    for name in names():
        query = preset(name, engine, 'model_name="a\\"b",job=~"v.*"', "300s").query
        rules += [f"  - record: forecast:{name}", f"    expr: {json.dumps(query)}"]
    file = tmp_path / "rules.yml"
    file.write_text("\n".join(rules) + "\n", encoding="utf-8")
    done = subprocess.run([tool, "check", "rules", str(file)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_and_their_token() -> None:
    pages = Pages(
        "127.0.0.1", 0, {"/metrics": lambda: ("text/plain", b"a 1\n"), "/healthz": lambda: ("text/plain", b"ok")}, "s"
    )
    try:
        request = urllib.request.Request(pages.url, headers={"Authorization": "Bearer s"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            assert answer.read() == b"a 1\n"
        for url, status in ((pages.url, 401), (pages.url.replace("metrics", "other"), 401)):
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(url, timeout=5)
            assert error.value.code == status
            error.value.close()
        with urllib.request.urlopen(pages.url.replace("metrics", "healthz"), timeout=5) as answer:
            assert answer.status == 200
    finally:
        pages.close()


def test_a_taken_port_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="--listen"):
            Pages("127.0.0.1", taken.getsockname()[1], {})


def test_the_real_prometheus_gives_the_percentile(tmp_path: Path) -> None:
    """A histogram under vLLM's name is loaded into Prometheus; the preset's query gives its P95 back."""
    server, tool = shutil.which("prometheus"), shutil.which("promtool")
    if server is None or tool is None:
        pytest.skip("prometheus (Debian package) is not installed")
    begin = (int(time.time()) - 7200) // 60 * 60
    name = HISTOGRAMS["vllm"]["ttft"][0]
    lines = [f"# TYPE {name} histogram"]
    for bucket, share in (("0.25", 0.5), ("0.5", 0.9), ("1.0", 1.0), ("+Inf", 1.0)):
        lines += [
            f'{name}_bucket{{le="{bucket}",model_name="m"}} {share * 600 * at} {begin + 60 * at}' for at in range(100)
        ]
    (tmp_path / "in.om").write_text("\n".join([*lines, "# EOF"]) + "\n", encoding="utf-8")
    data = tmp_path / "data"
    subprocess.run(
        [tool, "tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "in.om"), str(data)],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    (tmp_path / "p.yml").write_text("global: {}\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [server, f"--config.file={tmp_path / 'p.yml'}", f"--storage.tsdb.path={data}", f"--web.listen-address=127.0.0.1:{port}",
         "--storage.tsdb.retention.time=30d"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        query = preset("ttft_p95", "vllm", 'model_name="m"', "300s").query
        points: list[tuple[float, float]] = []
        for _ in range(150):
            try:
                points = query_range(Server(url=f"http://127.0.0.1:{port}"), query, begin + 600, begin + 5400, 60)
                if points:
                    break
            except InputError:
                pass
            time.sleep(0.2)
        assert len(points) == 81
        assert [value for _, value in points] == pytest.approx([0.75] * 81)
        with pytest.raises(InputError, match="parse error"):
            query_range(Server(url=f"http://127.0.0.1:{port}"), "sum(", begin, begin + 60, 60)
    finally:
        running.terminate()
        running.wait(20)
