"""Greedy streams of a real vLLM, cut after every event and continued, read like unbroken ones."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from rocsteady.gateway.continuation import Continuation
from rocsteady.gateway.interfaces import UpstreamRequest
from tests.drill.real import real_url
from tests.gateway.streams import CHAT, COMPLETIONS, Seen

GREEDY = {"model": "tiny", "temperature": 0, "stream": True, "max_tokens": 40}
PROMPT = {"prompt": "The quick brown 世界"}
MESSAGES = {"messages": [{"role": "user", "content": "Größe 😀"}]}
USAGE = {"stream_options": {"include_usage": True}}

__all__ = ["real_url"]


async def ask(session: aiohttp.ClientSession, path: str, body: bytes) -> bytes:
    async with session.post(path, data=body, headers={"Content-Type": "application/json"}) as response:
        data = await response.read()
        assert response.status == 200, data
        return data


async def cut_everywhere(url: str, path: str, body: dict[str, Any]) -> int:
    """Returns how many cuts were made."""
    async with aiohttp.ClientSession(url) as session:
        whole = Seen(await ask(session, path, json.dumps(body).encode()))
        first = Continuation(path, json.dumps(body).encode()).request()
        answer = await ask(session, path, first.body)
        ends = [i + 2 for i in range(len(answer)) if answer.startswith(b"\n\n", i)]

        async def one(cut: int) -> None:
            relay = Continuation(path, json.dumps(body).encode())
            out = relay.feed(answer[:cut])
            closing = relay.closing()
            if closing is not None:
                out += closing
            elif not relay.finished:
                request = relay.resume_request()
                assert isinstance(request, UpstreamRequest), request
                relay.resumed()
                out += relay.feed(await ask(session, request.path, request.body))
            seen = Seen(out)
            assert relay.failure is None and seen.text == whole.text, (cut, seen.text, whole.text)
            assert seen.same_as(whole), cut

        step = 1 + len(ends) // 25
        await asyncio.gather(*(one(end + 7) for end in ends[:-1:step]))
        return len(ends) - 1


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"ignore_eos": True, "max_tokens": 60},
        {"repetition_penalty": 1.3},
        {"min_tokens": 20, "stop_token_ids": list(range(260, 300))},
        {"return_token_ids": True, "ignore_eos": True},
        {"logit_bias": {"290": 3.0}, "top_p": 0.9},
    ],
    ids=["plain", "long", "repetition", "stop-ids", "with-ids", "bias"],
)
@pytest.mark.parametrize(("path", "what"), [(COMPLETIONS, PROMPT), (CHAT, MESSAGES)], ids=["completions", "chat"])
def test_every_cut(real_url: str, path: str, what: dict[str, Any], more: dict[str, Any]) -> None:
    body = {**GREEDY, **what, **USAGE, **more}
    assert asyncio.run(cut_everywhere(real_url, path, body)) > 3


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize(("path", "what"), [(COMPLETIONS, PROMPT), (CHAT, MESSAGES)], ids=["completions", "chat"])
def test_stop_string_across_the_seam(real_url: str, path: str, what: dict[str, Any], include: bool) -> None:
    async def run() -> None:
        body = {**GREEDY, **what, "ignore_eos": True, "max_tokens": 60}
        async with aiohttp.ClientSession(real_url) as session:
            text = Seen(await ask(session, path, json.dumps(body).encode())).text
        for width in (1, 5, 9):
            at = len(text) * 2 // 3
            body |= {"stop": [text[at : at + width]], "include_stop_str_in_output": include}
            await cut_everywhere(real_url, path, body)

    asyncio.run(run())
