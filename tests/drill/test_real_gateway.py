"""Two real vLLM workers behind the real gateway; the engine of one is killed while both stream."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rocsteady.drill.tiny_model import write_tiny_model
from rocsteady.drill.vllm_worker import PYTHON_VARIABLE, VllmOptions, VllmWorker, vllm_python
from tests.gateway.serving import Client, configuration, gateway
from tests.gateway.streams import CHAT, COMPLETIONS, Seen

GREEDY = {"model": "tiny", "temperature": 0, "stream": True, "max_tokens": 300, "ignore_eos": True}
ASKED: list[tuple[str, dict[str, Any]]] = [
    (COMPLETIONS, {**GREEDY, "prompt": f"The quick {n}", "stream_options": {"include_usage": True}}) for n in range(4)
] + [(CHAT, {**GREEDY, "messages": [{"role": "user", "content": f"go on {n}"}]}) for n in range(4)]


def two(folder: Path) -> list[VllmWorker]:
    python = vllm_python()
    if python is None:
        pytest.skip(f"no vLLM: tools/vllm_env.sh makes an environment; {PYTHON_VARIABLE} names its python")
    model = write_tiny_model(folder / "model")
    return [VllmWorker(VllmOptions(python=python, model_dir=model, log=folder / f"{n}.log")) for n in range(2)]


async def all_of(client: Client) -> list[Seen]:
    answers = await asyncio.gather(*(client.post(path, **body) for path, body in ASKED))
    assert all(status == 200 for status, _, _ in answers)
    return [Seen(body) for _, _, body in answers]


def test_kill_of_an_engine_in_mid_stream(tmp_path: Path) -> None:
    workers = two(tmp_path)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.wait_ready()
        rows = [{"name": f"w{n}", "url": w.url, "model": "tiny", "precision": "fp32"} for n, w in enumerate(workers)]

        async def main() -> None:
            async with gateway(configuration(rows, retry={"least": 1000.0}, timeouts={"first_token": 300.0})) as client:
                whole = await all_of(client)
                assert all(len(seen.text) > 100 and seen.finish == "length" for seen in whole)
                broken = asyncio.ensure_future(all_of(client))
                victim = client.runtime.router.workers["w1"]
                while sum(attempt.first for attempt in victim.attempts) < 3:
                    await asyncio.sleep(0.01)
                workers[1].kill_engine()
                again = await broken
                for before, after in zip(whole, again, strict=True):
                    assert after.same_as(before), after.error
                assert client.runtime.tally.counts[("continued", "", "")] >= 3

        asyncio.run(main())
    finally:
        for worker in workers:
            worker.stop()
