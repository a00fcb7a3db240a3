"""Load on a synthetic endpoint: what is counted, and how each failure is named."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec
import pytest
from aiohttp.test_utils import TestServer

from rocsteady.bench.arrivals import Load, due_times, parse_load
from rocsteady.bench.client import Target
from rocsteady.bench.lengths import Ask, parse_distribution, read_requests, synthetic
from rocsteady.bench.load import Driver, Plan
from rocsteady.bench.samples import Run, Sample
from rocsteady.bench.session import Session, first_model, perform
from rocsteady.bench.summary import Objective, summarise
from rocsteady.model import InputError
from tests.bench.server import application


def load(model: str, plan: Plan, endpoint: str = "completions", tokens: int = 5, **target: float) -> Run:
    async def main() -> Run:
        async with TestServer(application()) as server:
            session = Session(
                plan=plan,
                target=Target(url=str(server.make_url("")), model=model, endpoint=endpoint, **target),  # type: ignore[arg-type]
                lengths="fixed", seed=1,
            )  # fmt: skip
            asks = synthetic(
                parse_distribution("4", "--input"), parse_distribution(str(tokens), "-o"), random.Random(1)
            )
            return await perform(session, asks, random.Random(1))

    return asyncio.run(main())


FEW = Plan(load=Load("users", 2), seconds=30, requests=6)


@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_good_requests(endpoint: str) -> None:
    run = load("good", FEW, endpoint)
    assert [sample.failure for sample in run.samples] == [None] * 6
    assert all(s.output_tokens == 5 and s.input_tokens == 7 and s.finish == "length" for s in run.samples)
    for sample in run.samples:
        assert sample.first is not None and sample.last is not None
        assert sample.due <= sample.sent <= sample.first <= sample.last <= sample.ended
    figures = summarise(run, Objective(ttft=30))
    assert (figures.requests, figures.good, figures.goodput_share) == (6, 6, 1.0)
    assert any("closed loop" in note for note in figures.notes)


@pytest.mark.parametrize(
    ("model", "failure"),
    [("cut", "stream-cut"), ("error", "stream-error"), ("refuse", "server-error"), ("busy", "rate-limited")],
)
def test_failures_are_named_and_counted(model: str, failure: str) -> None:
    run = load(model, FEW)
    assert [sample.failure for sample in run.samples] == [failure] * 6
    figures = summarise(run)
    assert figures.good == 0
    assert figures.failures == {failure: 6}
    assert figures.ttft is None and figures.success == 0


def test_a_server_that_says_nothing() -> None:
    run = load("silent", Plan(load=Load("users", 1), seconds=30, requests=1), first_token=0.05)
    assert [sample.failure for sample in run.samples] == ["timeout-first-token"]


def test_nobody_there() -> None:
    target = Target(url="http://127.0.0.1:9", model="m")
    session = Session(plan=Plan(load=Load("users", 1), seconds=30, requests=2), target=target, lengths="", seed=0)
    run = asyncio.run(perform(session, iter([Ask("a", 1), Ask("b", 1)]), random.Random(0)))
    assert [sample.failure for sample in run.samples] == ["refused", "refused"]
    with pytest.raises(InputError):
        asyncio.run(first_model("http://127.0.0.1:9", None))


def test_an_open_loop_counts_waiting_from_when_a_request_was_due() -> None:
    """A server that stands still for a second makes the latencies of all requests due meanwhile long."""
    now = 0.0

    async def main() -> list[Sample]:
        nonlocal now
        blocked = asyncio.Event()

        async def ask(_ask: Ask, due: float) -> Sample:
            await blocked.wait()
            return Sample(due=due, sent=due, ended=now, first=now, last=now, output_tokens=1)

        def clock() -> float:
            nonlocal now
            now += 0.11  # each look at the clock costs more than the distance of two arrivals
            return now

        plan = Plan(load=Load("constant", 10), seconds=1.0)
        driver = Driver(plan, ask, iter([Ask("x", 1)] * 100), random.Random(0), clock)
        task = asyncio.create_task(driver.run())
        for _ in range(50):
            await asyncio.sleep(0)
        blocked.set()
        await task
        assert driver.lagging > 0, "what was sent late is said"
        return driver.samples

    samples = asyncio.run(main())
    assert len(samples) == 9
    assert max(s.e2e for s in samples) > min(s.e2e for s in samples) > 0


def test_arrivals() -> None:
    times = list(due_times(Load("poisson", 50), 200, random.Random(3)))
    assert 9_300 < len(times) < 10_700, "rate 50 over 200 s: 10,000, give or take seven sigma"
    assert times == sorted(times)
    assert list(due_times(Load("constant", 2), 2.4, random.Random(0))) == [0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize("text", ["", "poisson", "poisson:0", "users:1.5", "users:-1", "burst:3", "poisson:1e9"])
def test_bad_loads(text: str) -> None:
    with pytest.raises(InputError):
        parse_load(text)


@pytest.mark.parametrize("text", ["0", "-1", "uniform:9-3", "lognormal:100,0", "normal:1,2", "fixed:", "9999999999"])
def test_bad_lengths(text: str) -> None:
    with pytest.raises(InputError):
        parse_distribution(text, "--input")


def test_lognormal_has_the_mean_it_states() -> None:
    draw, rng = parse_distribution("lognormal:161,1.1", "--input"), random.Random(5)
    mean = sum(draw.draw(rng) for _ in range(40_000)) / 40_000
    assert 150 < mean < 172


def test_files_of_requests(tmp_path: Path) -> None:
    rng = random.Random(0)
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"timestamp": 2000, "input_length": 10, "output_length": 3}\n{"timestamp": 1500, "input_length": 5, "output_length": 2}\n')  # fmt: skip
    found = read_requests(trace, rng)
    assert [(ask.at, ask.output_tokens) for ask in found] == [(0.0, 2), (0.5, 3)]
    azure = tmp_path / "a.csv"
    azure.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,110,27\n")  # fmt: skip
    found = read_requests(azure, rng)
    assert len(found) == 2 and found[1].at == pytest.approx(0.052)
    chat = tmp_path / "s.json"
    chat.write_bytes(msgspec.json.encode([{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "x" * 40}]}]))  # fmt: skip
    assert read_requests(chat, rng) == [Ask("hi", 10)]
    for text in ("", "[]", "{}", "a,b\n1,2\n", '{"input_length": -5, "output_length": 1}'):
        bad = tmp_path / "bad"
        bad.write_text(text)
        with pytest.raises(InputError):
            read_requests(bad, rng)
