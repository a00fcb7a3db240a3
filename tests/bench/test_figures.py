"""Figures from samples: percentiles, intervals, comparison, incidents, energy, formats."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.bench.compare import compare
from rocsteady.bench.energy import Meter, meter_of, used
from rocsteady.bench.formats import FORMATS, read_any, write_as
from rocsteady.bench.mtbf import chi_square, growth, incidents, mtbf_interval, soak
from rocsteady.bench.plots import picture
from rocsteady.bench.references import references, rows_for
from rocsteady.bench.samples import Energy, Reading, Run, Sample
from rocsteady.bench.summary import percentile, summarise, wilson
from rocsteady.model import InputError


def sample(due: float, ttft: float = 0.1, tokens: int = 11, tpot: float = 0.02, **more: object) -> Sample:
    last = due + ttft + tpot * (tokens - 1)
    made = Sample(
        due=due, sent=due, first=due + ttft, last=last, ended=last, input_tokens=5, output_tokens=tokens,
        gaps=[tpot] * (tokens - 1), finish="stop",
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


def made(samples: list[Sample], window: tuple[float, float] = (0, 100), **more: object) -> Run:
    run = Run(
        started="2026-12-01T00:00:00Z", target="http://127.0.0.1:1", model="m", endpoint="completions", load="poisson:1",
        lengths="", seed=0, window=window, samples=samples,
    )  # fmt: skip
    return msgspec.structs.replace(run, **more)


def failed(due: float, kind: str = "refused", detail: str = "") -> Sample:
    return Sample(due=due, sent=due, ended=due + 0.01, failure=kind, detail=detail)  # type: ignore[arg-type]


def test_figures() -> None:
    run = made([sample(float(i)) for i in range(100)] + [failed(50.5), failed(60.5, "rate-limited")])
    figures = summarise(run)
    assert (figures.requests, figures.good) == (102, 100)
    assert figures.failures == {"refused": 1, "rate-limited": 1}
    assert figures.ttft is not None and figures.ttft.p99 == pytest.approx(0.1)
    assert figures.tpot is not None and figures.tpot.p50 == pytest.approx(0.02)
    assert figures.output_tokens_per_second == pytest.approx(11.0, rel=0.01)


def test_no_token_counts_is_no_rate() -> None:
    figures = summarise(made([sample(1.0, output_tokens=None), sample(2.0)]))
    assert figures.output_tokens_per_second is None
    assert figures.output_tokens_unknown == 1


def test_an_empty_run_has_no_figures() -> None:
    figures = summarise(made([], (0, 0)))
    assert figures.success is None and figures.requests_per_second is None and figures.ttft is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.floats(0.1, 100))
def test_percentile_is_a_value_with_enough_below(values: list[float], percent: float) -> None:
    ordered = sorted(values)
    found = percentile(ordered, percent)
    assert found in ordered
    assert sum(v <= found for v in ordered) >= percent / 100 * len(ordered) - 1e-9


def test_intervals_against_published_values() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert chi_square(0.95, 2) == pytest.approx(5.9915, abs=1e-3)
    assert chi_square(0.975, 12) == pytest.approx(23.3367, abs=1e-3)
    assert chi_square(0.025, 10) == pytest.approx(3.2470, abs=1e-3)
    low, high = mtbf_interval(3000.0, 0)
    assert low == pytest.approx(3000 / 2.9957, rel=1e-3) and high is None


def test_incidents_and_recovery() -> None:
    samples = [sample(float(i)) for i in range(100) if not 40 <= i < 45]
    samples += [failed(float(i), "server-error", "HIP out of memory") for i in range(40, 45)]
    samples += [failed(90.5, "rate-limited")]
    found = soak(made(samples))
    assert len(found.incidents) == 1, "429 is an answer to the client"
    assert found.incidents[0].failed == 5
    assert found.incidents[0].recovery == pytest.approx(45 + 0.3 - 40)
    assert found.mtbf == 100 and found.out_of_memory == 5
    low, high = found.mtbf_interval
    assert high is not None and low < 100 < high


def test_an_incident_without_recovery() -> None:
    found = incidents([sample(1.0), failed(5.0), failed(6.0)])
    assert [(i.failed, i.recovery) for i in found] == [(2, None)]


def test_two_incidents_apart() -> None:
    samples = [failed(10.0), *(sample(float(i)) for i in range(11, 40)), failed(40.0), sample(41.0)]
    assert [i.start for i in incidents(samples)] == [10.0, 40.0]


def test_growth() -> None:
    rng = random.Random(1)
    rising = [Reading(at=i * 60.0, gpu_bytes=1e9 + i * 1e6 + rng.gauss(0, 1e5)) for i in range(60)]
    found = growth(rising, "gpu_bytes")
    assert found is not None and found[0] == pytest.approx(60e6, rel=0.02) and found[1] > 0
    flat = growth([Reading(at=i * 60.0, gpu_bytes=1e9 + rng.gauss(0, 1e5)) for i in range(60)], "gpu_bytes")
    assert flat is not None and flat[1] < 0 < flat[2]
    assert growth(rising[:5], "gpu_bytes") is None
    assert growth(rising, "host_bytes") is None


def test_comparison_finds_what_is_there_and_nothing_else() -> None:
    rng = random.Random(2)

    def run(mean: float) -> Run:
        return made([sample(i * 0.1, ttft=rng.expovariate(1 / mean)) for i in range(1000)])

    same = {row.name: row.verdict for row in compare(run(0.1), run(0.1))}
    assert same["ttft_p50"] == "no difference shown" and same["success"] == "no difference shown"
    slower = {row.name: row for row in compare(run(0.1), run(0.2))}
    assert slower["ttft_p50"].verdict == slower["ttft_p95"].verdict == "worse"
    assert slower["ttft_p50"].interval is not None and slower["ttft_p50"].interval[0] > 0.3
    few = {row.name: row.verdict for row in compare(made([sample(1.0)]), made([sample(1.0)]))}
    assert few["ttft_p99"] == "too few samples"


def test_comparison_of_shares() -> None:
    good = made([sample(i * 0.1) for i in range(1000)])
    bad = made([sample(i * 0.1) if i % 10 else failed(i * 0.1) for i in range(1000)])
    row = next(r for r in compare(good, bad) if r.name == "success")
    assert row.verdict == "worse" and row.change == pytest.approx(-0.1)


SCRAPE = 'rocsteady_gpu_energy_joules_total{{gpu="0000:05:00.0"}} {a}\nrocsteady_gpu_energy_joules_total{{gpu="0000:26:00.0"}} {b}\n'


def test_energy() -> None:
    one, two = meter_of(SCRAPE.format(a=100, b=200), 0.0), meter_of(SCRAPE.format(a=150.5, b=300), 10.0)
    found = used(one, two, 5.0, "x")
    assert found.valid and found.joules == pytest.approx(150.5) and found.gpus == 2
    run = made([sample(float(i)) for i in range(100)], energy=found)
    assert summarise(run).tokens_per_joule == pytest.approx(1100 / 150.5, rel=0.01)
    assert summarise(run).tokens_per_joule_above_idle == pytest.approx(1100 / 100.5, rel=0.01)


@pytest.mark.parametrize(
    ("one", "two", "word"),
    [
        (Meter(0, {"a": 5.0}), Meter(1, {"a": 4.0}), "went back"),
        (Meter(0, {"a": 5.0}), Meter(1, {"a": 6.0, "b": 1.0}), "missing"),
        (Meter(0, {"a": 5.0}), Meter(1, {"a": 5.0}), "did not move"),
        (Meter(0, {}, "HTTP 500"), Meter(1, {"a": 5.0}), "HTTP 500"),
    ],
)
def test_no_energy_is_made_up(one: Meter, two: Meter, word: str) -> None:
    found = used(one, two, None, "x")
    assert not found.valid and word in found.why
    assert summarise(made([sample(1.0)], energy=found)).tokens_per_joule is None
    assert isinstance(found, Energy)


@pytest.mark.parametrize("form", FORMATS)
def test_formats_go_there_and_back(form: str, tmp_path: Path) -> None:
    run = made([sample(i * 0.5, ttft=0.1 + i * 0.01) for i in range(50)] + [failed(30.0)])
    path = tmp_path / "run.json"
    path.write_text(write_as(run, form))
    (back,) = read_any(path)
    one, two = summarise(run), summarise(back)
    assert (two.requests, two.good) == (one.requests, one.good)
    assert one.ttft is not None and two.ttft is not None
    assert two.ttft.p95 == pytest.approx(one.ttft.p95)
    assert one.tpot is not None and two.tpot is not None and two.tpot.p50 == pytest.approx(one.tpot.p50)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(["benchmarks", "ttfts", "requests", "successful", "itls", "output_lens", "schema", "duration"]), x, max_size=4)))  # fmt: skip
def test_any_document_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, document: object) -> None:
    path = tmp_path_factory.mktemp("any") / "x.json"
    path.write_bytes(msgspec.json.encode(document))
    try:
        runs = read_any(path)
    except InputError:
        return
    for run in runs:
        summarise(run)


def test_picture() -> None:
    text = picture(made([sample(float(i)) for i in range(50)] + [failed(20.2)]))
    assert text.startswith("<svg") and "good (50)" in text and "failed (1)" in text
    assert "no request was answered" in picture(made([failed(1.0)]))


def test_references_are_compared_within_a_precision_only() -> None:
    assert all(row.source.startswith("https://") for row in references().rows)
    same, others = rows_for("meta-llama/Llama-2-70B-chat-hf", "fp8")
    assert same and {row.precision for row in same} == {"fp8"}
    assert "fp8" not in {row.precision for row in others}
    assert rows_for("meta-llama/Llama-2-70B-chat-hf", None)[0] == []
