"""The stub's greedy text depends on all ids before it, its counters count, and each fault does what it says."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from rocsteady.drill.stub_faults import Faults
from rocsteady.drill.stub_tokens import VOCABULARY, Detokenizer, Generation, Sampling, decode, encode
from tests.drill.support import documents, post, stub, text_of

GREEDY = {"prompt": "The quick", "max_tokens": 60, "temperature": 0, "stream": True, "ignore_eos": True}


def run_tokens(prompt: list[int], count: int, **sampling: Any) -> list[int]:
    generation = Generation("m/bf16", prompt, Sampling(**sampling))
    return [generation.next(allow_eos=False) for _ in range(count)]


def test_tokens_go_on_from_any_place() -> None:
    prompt = encode("The quick brown fox")
    whole = run_tokens(prompt, 300)
    for cut in range(0, 300, 7):
        assert run_tokens(prompt + whole[:cut], 300 - cut) == whole[cut:]
    assert all(0 <= t < VOCABULARY for t in whole)
    text = decode(whole)
    assert "\ufffd" not in text.rstrip("\ufffd") and any(ord(c) > 127 for c in text)


def test_seed_repeats_and_does_not_go_on() -> None:
    prompt = encode("The quick")
    whole = run_tokens(prompt, 50, temperature=0.9, seed=3)
    assert whole == run_tokens(prompt, 50, temperature=0.9, seed=3)
    assert run_tokens(prompt + whole[:20], 30, temperature=0.9, seed=3) != whole[20:]


def test_penalties() -> None:
    prompt = encode("The quick")
    presence = run_tokens(prompt, 60, presence=True)
    assert presence != run_tokens(prompt, 60)
    assert run_tokens(prompt + presence[:50], 10, presence=True) != presence[50:]
    repetition = run_tokens(prompt, 60, repetition=True)
    assert run_tokens(prompt + repetition[:30], 30, repetition=True) == repetition[30:]


def test_round_trip_and_held_bytes() -> None:
    text = "Größe 世界 😀 the quick\n"
    assert decode(encode(text)) == text
    detokenizer = Detokenizer([])
    pieces = [detokenizer.step(t) for t in encode(text)]
    assert "".join(pieces) == text and "" in pieces


def test_frozen_looks_healthy_and_goes_on() -> None:
    async def run() -> None:
        async with stub() as (server, session):
            server.worker.faults.set(Faults(frozen=True))
            waiting = asyncio.ensure_future(post(session, "/v1/completions", GREEDY))
            async with session.get("/health") as response:
                assert response.status == 200
            async with session.get("/metrics") as response:
                metrics = await response.text()
            assert 'num_requests_running{engine="0",model_name="stub"} 0.0' in metrics
            assert not waiting.done()
            server.worker.faults.set(Faults())
            status, got, proper = await waiting
            assert (status, proper) == (200, True) and text_of(got)

    asyncio.run(run())


@pytest.mark.parametrize("size", [0, 1, 60, 10_000])
def test_cut(size: int) -> None:
    async def run() -> None:
        async with stub() as (server, session):
            _, whole, _ = await post(session, "/v1/completions", GREEDY)
            server.worker.faults.set(Faults(cut_after_tokens=4, cut_bytes=size, times=1))
            _, got, proper = await post(session, "/v1/completions", GREEDY)
            assert not proper
            assert text_of(whole).startswith(text_of(got)) and len(documents(got)) >= 4
            _, again, proper = await post(session, "/v1/completions", GREEDY)
            assert proper and text_of(again) == text_of(whole)
            assert server.worker.counters.running == 0 and server.worker.kv_usage() == 0

    asyncio.run(run())


def test_status_error_and_missing_ids() -> None:
    async def run() -> None:
        async with stub() as (server, session):
            server.worker.faults.set(Faults(status=503, times=1))
            assert (await post(session, "/v1/completions", GREEDY))[0] == 503
            server.worker.faults.set(Faults(error_after_tokens=2))
            status, got, proper = await post(session, "/v1/completions", GREEDY)
            assert (status, proper) == (200, True) and "error" in documents(got)[-1]
            server.worker.faults.set(Faults(no_token_ids=True))
            _, got, _ = await post(session, "/v1/completions", {**GREEDY, "return_token_ids": True})
            assert all(c["token_ids"] is None for d in documents(got) for c in d["choices"])

    asyncio.run(run())


def test_client_that_leaves_frees_its_slot() -> None:
    async def run() -> None:
        async with stub(token_s=3600.0) as (server, session):
            async with session.post("/v1/completions", json=GREEDY) as response:
                await response.content.readany()
                assert server.worker.counters.running == 1
            for _ in range(1000):
                if not server.worker.counters.running:
                    break
                await asyncio.sleep(0.01)
            assert server.worker.counters.finished == {"abort": 1}

    asyncio.run(run())


def test_stop_strings_do_not_leak() -> None:
    async def run() -> None:
        async with stub() as (_, session):
            _, got, _ = await post(session, "/v1/completions", GREEDY)
            text = text_of(got)
            stop = text[40:46]
            _, stopped, _ = await post(session, "/v1/completions", {**GREEDY, "stop": [stop]})
            assert text_of(stopped) == text[: text.index(stop)]
            last = documents(stopped)[-1]["choices"][0]
            assert (last["finish_reason"], last["stop_reason"]) == ("stop", stop)

    asyncio.run(run())


def test_process_dies_of_memory_as_an_engine_does() -> None:
    """Started as a process: the log of the death, then the end of the process."""
    command = [sys.executable, "-m", "rocsteady.drill.stub", "--port", "0", "--faults", '{"exit_after_tokens": 1}']
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ}, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]

        async def run() -> bytes:
            import aiohttp

            async with aiohttp.ClientSession(url) as session:
                return (await post(session, "/v1/completions", GREEDY))[1]

        assert b"EngineCore" in asyncio.run(run())
        assert "HIP out of memory" in process.stderr.read()
        assert process.wait(30) == 1


def test_process_bad_usage_and_clean_end() -> None:
    bad = subprocess.run(
        [sys.executable, "-m", "rocsteady.drill.stub", "--faults", '{"x": 1}'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert bad.returncode == 2 and bad.stderr.count("\n") == 1
    command = [sys.executable, "-m", "rocsteady.drill.stub", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and "synthetic" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0 and not process.stderr.read()


def test_faults_route_refuses_junk() -> None:
    async def run() -> None:
        async with stub() as (_, session), session.post("/stub/faults", data=b"{") as response:
            assert response.status == 400 and "error" in json.loads(await response.text())

    asyncio.run(run())
