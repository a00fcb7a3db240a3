"""The stub answers as the real vLLM did: same status, events, keys, order of keys, and null where it was null."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.drill.support import documents, events, post, recording, stub

RECORDED = recording()
POSTS = [e for e in RECORDED["exchanges"] if e["method"] == "POST"]
GETS = [e for e in RECORDED["exchanges"] if e["method"] == "GET"]
FREE = {"permission", "metadata"}
"""Objects whose inside nobody reads."""


def shape(value: Any) -> Any:
    """Types in place of values; the keys of an object keep their order."""
    if isinstance(value, dict):
        return [(k, "free" if k in FREE else shape(v)) for k, v in value.items()]
    if isinstance(value, list):
        return sorted({json.dumps(shape(v)) for v in value})
    if value is None or isinstance(value, bool):
        return value
    return "number" if isinstance(value, int | float) else "text"


def body_of(exchange: Any) -> Any:
    body = dict(exchange["request"])
    if isinstance(body.get("prompt"), dict):
        body["prompt"] = [body["prompt"]["repeat"]] * body["prompt"]["times"]
    return body


@pytest.mark.parametrize("exchange", POSTS, ids=[f"{i}{e['path']}" for i, e in enumerate(POSTS)])
def test_post(exchange: Any) -> None:
    async def run() -> None:
        async with (
            stub(model="tiny", max_model_len=1024) as (_, session),
            session.post(exchange["path"], json=body_of(exchange)) as response,
        ):
            got = await response.text()
            assert response.status == exchange["status"]
            assert response.headers["Content-Type"].replace(" ", "") == exchange["content_type"].replace(" ", "")
        if exchange["content_type"].startswith("text/event-stream"):
            assert [shape(d) for d in documents(got)] == [shape(d) for d in documents(exchange["body"])]
            assert events(got)[-1] == events(exchange["body"])[-1] == "[DONE]"
        else:
            assert shape(json.loads(got)) == shape(json.loads(exchange["body"]))
            if exchange["status"] != 200:
                ours, theirs = json.loads(got)["error"], json.loads(exchange["body"])["error"]
                assert (ours["type"], ours["param"], ours["code"]) == (theirs["type"], theirs["param"], theirs["code"])

    asyncio.run(run())


@pytest.mark.parametrize("exchange", GETS, ids=[e["path"] for e in GETS])
def test_get(exchange: Any) -> None:
    async def run() -> None:
        async with (
            stub(model="tiny", max_model_len=1024) as (_, session),
            session.get(exchange["path"]) as response,
        ):
            got = await response.text()
            assert response.status == exchange["status"]
            if exchange["body"]:
                assert shape(json.loads(got)) == shape(json.loads(exchange["body"]))

    asyncio.run(run())


def test_engine_that_dies() -> None:
    """The last events of a stream and a whole answer, as recorded when the engine was killed."""
    killed = RECORDED["engine_killed_in_mid_stream"]

    async def run() -> None:
        async with stub() as (server, session):
            server.worker.faults.set_json(b'{"exit_after_tokens": 3}')
            body = {"prompt": "a", "max_tokens": 9, "temperature": 0, "ignore_eos": True, "stream": True}
            status, got, proper = await post(session, "/v1/completions", body)
            assert (status, proper) == (200, True)
            assert events(got)[-2:] == events(killed["last_events"])[-2:]
            assert len(events(got)) == 5
            status, got, _ = await post(session, "/v1/completions", {**body, "stream": False})
            assert (status, got.decode()) == (500, killed["whole_body"])
            async with session.get("/health") as response:
                assert response.status == 503

    asyncio.run(run())


def test_metrics() -> None:
    """Names, labels and types of the series are the real ones."""

    async def run() -> str:
        async with stub(model="tiny") as (_, session):
            await post(session, "/v1/completions", {"prompt": "a", "max_tokens": 3, "ignore_eos": True})
            async with session.get("/metrics") as response:
                return await response.text()

    ours = [line.rsplit(" ", 1)[0] for line in asyncio.run(run()).splitlines()]
    theirs = {line.rsplit(" ", 1)[0] for line in RECORDED["metrics"]}
    assert {o for o in ours if "cache_config" not in o and "_bucket" not in o} <= theirs
    info = next(t for t in theirs if t.startswith("vllm:cache_config_info"))
    assert all(label in info for label in ("block_size=", "num_gpu_blocks=", "engine="))
