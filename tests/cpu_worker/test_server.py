"""The HTTP side of the CPU worker, over a runtime without a model."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from rocsteady.cpu_worker.server import CpuWorker, Limits
from rocsteady.model import InputError
from tests.cpu_worker.fakes import FakeExecutor

Client = TestClient[Any, Any]


@asynccontextmanager
async def served(executor: FakeExecutor, **limits: Any) -> AsyncIterator[tuple[CpuWorker, Client]]:
    worker = CpuWorker(executor, Limits(**limits), wall=lambda: 7.0)
    async with TestClient(TestServer(worker.application(), handler_cancellation=True)) as client:
        yield worker, client
    worker.engine.close()


async def post(client: Client, path: str, **body: Any) -> tuple[int, Any, Any]:
    async with client.post(path, json=body) as response:
        text = await response.text()
        if response.content_type == "text/event-stream":
            parts = [p.removeprefix("data: ") for p in text.split("\n\n")[:-1]]
            assert parts[-1] == "[DONE]"
            return response.status, [json.loads(p) for p in parts[:-1]], response.headers
        return response.status, json.loads(text), response.headers


def test_models_and_headers_state_the_limits() -> None:
    async def main() -> None:
        async with served(FakeExecutor(), output_tokens=5) as (_, client):
            async with client.get("/v1/models") as response:
                row = (await response.json())["data"][0]
                assert response.headers["X-Rocsteady-Executor"] == "cpu; runtime=fake; precision=none"
                assert response.headers["X-Rocsteady-Max-Output-Tokens"] == "5"
            assert (row["id"], row["max_model_len"], row["rocsteady"]["tier"]) == ("fake", 200, "cpu")
            assert row["rocsteady"]["max_output_tokens"] == 5 and "cap" in row["rocsteady"]["note"]
            status, body, headers = await post(client, "/v1/completions", prompt="abc", max_tokens=50)
            assert status == 200 and body["choices"][0]["text"] == "cbacb"
            assert body["choices"][0]["finish_reason"] == "length" and headers["X-Rocsteady-Output-Capped"] == "5"
            _, _, headers = await post(client, "/v1/completions", prompt="abc", max_tokens=4)
            assert "X-Rocsteady-Output-Capped" not in headers

    asyncio.run(main())


def test_stream_equals_whole_with_stop_strings_and_usage() -> None:
    async def main() -> None:
        async with served(FakeExecutor()) as (_, client):
            for path, what in (
                ("/v1/completions", {"prompt": "abcdef"}),
                (
                    "/v1/chat/completions",
                    {"messages": [{"role": "user", "content": [{"type": "text", "text": "hey"}]}]},
                ),
            ):
                for more in (
                    {},
                    {"stop": "ed"},
                    {"stop": ["cb", "zz"], "include_stop_str_in_output": True},
                    {"stop": "ye"},
                ):
                    asked = {**what, **more, "max_tokens": 20, "return_token_ids": True}
                    _, whole, _ = await post(client, path, **asked)
                    _, events, _ = await post(
                        client, path, **asked, stream=True, stream_options={"include_usage": True}
                    )
                    choices = [c for e in events for c in e["choices"]]
                    text = "".join(c.get("text") or c.get("delta", {}).get("content") or "" for c in choices)
                    final = whole["choices"][0]
                    assert text == (final.get("text") if "text" in final else final["message"]["content"])
                    assert [t for c in choices for t in c.get("token_ids", [])] == final["token_ids"]
                    assert choices[-1]["finish_reason"] == final["finish_reason"]
                    assert choices[-1]["stop_reason"] == final["stop_reason"]
                    assert events[-1]["usage"] == whole["usage"] and not events[-1]["choices"]

    asyncio.run(main())


def test_end_token_ends() -> None:
    async def main() -> None:
        async with served(FakeExecutor()) as (_, client):
            _, body, _ = await post(client, "/v1/completions", prompt=[97, 0, 98], max_tokens=9)
            assert (body["choices"][0]["text"], body["choices"][0]["finish_reason"]) == ("b", "stop")
            assert body["usage"]["completion_tokens"] == 2

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/v1/completions", {"prompt": "a", "n": 2}, 400, "n"),
        ("/v1/completions", {"prompt": "a", "logprobs": 1}, 400, "logprobs"),
        ("/v1/completions", {"prompt": "a" * 300}, 400, "context length"),
        ("/v1/completions", {"prompt": ""}, 400, "empty"),
        ("/v1/completions", {"prompt": ["a", "b"]}, 400, "one prompt"),
        ("/v1/completions", {"prompt": [-1]}, 400, "negative"),
        ("/v1/completions", {"prompt": "a", "max_tokens": 0}, 400, "at least 1"),
        ("/v1/completions", {"prompt": "a", "temperature": -1}, 400, "range"),
        ("/v1/completions", {"prompt": "a", "model": "other"}, 404, "other"),
        ("/v1/chat/completions", {"messages": []}, 400, "empty"),
        ("/v1/chat/completions", {"messages": [{"role": "strange", "content": "x"}]}, 400, "role"),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            400,
            "text only",
        ),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "tools": [{}]}, 400, "tools"),
        ("/v1/chat/completions", {"messages": 3}, 400, "malformed"),
    ],
)
def test_refusals_are_clear(path: str, body: dict[str, Any], status: int, word: str) -> None:
    async def main() -> None:
        async with served(FakeExecutor()) as (_, client):
            got, answer, headers = await post(client, path, **body)
            assert got == status == answer["error"]["code"] and word in answer["error"]["message"]
            assert "X-Rocsteady-Executor" in headers

    asyncio.run(main())


def test_one_at_a_time_and_a_bounded_line() -> None:
    async def main() -> None:
        executor = FakeExecutor(gated=True)
        async with served(executor, concurrency=1, waiting=1) as (worker, client):
            first = asyncio.ensure_future(post(client, "/v1/completions", prompt="abc"))
            while not worker.engine.running:
                await asyncio.sleep(0.01)
            second = asyncio.ensure_future(post(client, "/v1/completions", prompt="abc"))
            while not worker.engine.waiting:
                await asyncio.sleep(0.01)
            status, _, headers = await post(client, "/v1/completions", prompt="abc")
            assert status == 429 and headers["Retry-After"]
            assert (await post(client, "/v1/completions", prompt="abc", stream=True))[0] == 429
            executor.gate.set()
            assert (await first)[0] == (await second)[0] == 200
            assert (worker.engine.running, worker.engine.waiting) == (0, 0)

    asyncio.run(main())


def test_a_client_that_leaves_stops_the_work() -> None:
    async def main() -> None:
        executor = FakeExecutor(context=100_000)
        async with served(executor, output_tokens=90_000) as (worker, client):
            async with client.post(
                "/v1/completions", json={"prompt": "abc", "max_tokens": 90_000, "stream": True}
            ) as response:
                await response.content.readany()
            for _ in range(2000):
                if not worker.engine.running:
                    break
                await asyncio.sleep(0.01)
            assert executor.made < 90_000 and executor.closed == 1 and worker.engine.running == 0
            assert (await post(client, "/v1/completions", prompt="abc"))[0] == 200

    asyncio.run(main())


def test_a_runtime_that_fails() -> None:
    async def main() -> None:
        executor = FakeExecutor(fails=True)
        async with served(executor) as (_, client):
            status, answer, _ = await post(client, "/v1/completions", prompt="abc")
            assert status == 500 and "out of luck" in answer["error"]["message"]
            assert (await post(client, "/v1/completions", prompt="abc", stream=True))[0] == 500

    asyncio.run(main())


def test_too_large_a_model_is_refused_at_the_start() -> None:
    with pytest.raises(InputError, match=r"9\.0 GiB"):
        CpuWorker(FakeExecutor(size=9 * 2**30), Limits())


def test_not_everything_is_a_route() -> None:
    async def main() -> None:
        async with served(FakeExecutor()) as (_, client):
            async with client.get("/health") as response:
                assert response.status == 200
            async with client.post("/v1/embeddings", json={}) as response:
                assert response.status == 404
            try:
                async with client.post("/v1/completions", data=io.BytesIO(b"x" * (5 * 2**20))) as response:
                    assert response.status == 413
            except aiohttp.ClientError:
                pass  # it hung up while we were still sending

    asyncio.run(main())
