"""Continuation and admission inside the real gateway, with stub workers (synthetic) behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rocsteady.drill.stub import StubConfig, StubServer
from rocsteady.drill.stub_faults import Faults
from tests.gateway.serving import Client, configuration, gateway
from tests.gateway.streams import CHAT, COMPLETIONS, Seen, direct

GREEDY = {"model": "stub", "temperature": 0, "stream": True, "max_tokens": 40, "ignore_eos": True}
ASKED = {
    COMPLETIONS: {**GREEDY, "prompt": "The quick", "stream_options": {"include_usage": True}},
    CHAT: {**GREEDY, "messages": [{"role": "user", "content": "say more"}], "stop": ["never ever"]},
}


@contextlib.asynccontextmanager
async def behind(count: int = 2, more: dict[str, Any] | None = None, **config: Any) -> AsyncIterator[tuple[Client, list[StubServer]]]:  # fmt: skip
    async with contextlib.AsyncExitStack() as stack:
        stubs = [await stack.enter_async_context(StubServer(StubConfig(**config))) for _ in range(count)]
        rows = [
            {"name": f"w{i}", "url": s.url, "model": "stub", "precision": "bf16"} | (more or {})
            for i, s in enumerate(stubs)
        ]
        settings = {"probe": {"canary": 0}, "retry": {"least": 1000.0}}
        client = await stack.enter_async_context(gateway(configuration(rows, **settings)))
        yield client, stubs


async def ask(client: Client, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    return await client.post(path, **body)


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
@pytest.mark.parametrize(
    "fault", [{"cut_after_tokens": 17, "cut_bytes": 55}, {"error_after_tokens": 17}], ids=["cut", "error-event"]
)
def test_broken_stream_reads_like_a_whole_one(path: str, fault: dict[str, Any]) -> None:
    whole = direct(path, ASKED[path])

    async def main() -> None:
        async with behind() as (client, stubs):
            for stub in stubs:
                stub.worker.faults.set(Faults(times=1, **fault))
            for _ in range(2):
                status, _, got = await ask(client, path, ASKED[path])
                assert status == 200 and Seen(got).same_as(whole)
            assert sum(len(s.bodies) for s in stubs) >= 3

    asyncio.run(main())


def test_only_done_was_lost() -> None:
    """All the text came; the answer ends without a second worker."""

    whole = direct(COMPLETIONS, ASKED[COMPLETIONS])

    async def main() -> None:
        async with behind(1) as (client, stubs):
            answer = stubs[0].worker.answer

            async def without_end(path: str, data: bytes) -> Any:
                reply = await answer(path, data)
                assert reply.events is not None

                async def cut() -> AsyncIterator[bytes]:
                    async for event in reply.events:
                        if b'"choices":[]' in event:
                            return
                        yield event

                return type(reply)(events=cut(), content_type=reply.content_type)

            stubs[0].worker.answer = without_end  # type: ignore[method-assign]
            status, _, got = await ask(client, COMPLETIONS, ASKED[COMPLETIONS])
            assert status == 200 and Seen(got).same_as(whole) and len(stubs[0].bodies) == 1

    asyncio.run(main())


def test_what_cannot_go_on_says_so() -> None:
    async def main() -> None:
        async with behind() as (client, stubs):
            for stub in stubs:
                stub.worker.faults.set(Faults(cut_after_tokens=5, cut_bytes=30))
            _, _, got = await ask(client, COMPLETIONS, {**ASKED[COMPLETIONS], "presence_penalty": 1.0})
            seen = Seen(got)
            assert seen.error is not None and "presence_penalty" in seen.error["message"] and seen.finish is None
            assert seen.text and seen.done

    asyncio.run(main())


def test_no_room_is_429_with_retry_after_and_fair() -> None:
    async def main() -> None:
        async with behind(1, {"max_concurrency": 1}, token_s=3600.0) as (client, stubs):
            client.runtime.budgets.reconfigure(  # type: ignore[union-attr]
                type(client.runtime.budgets.rules)(queue=1, wait_seconds=0.5), {}  # type: ignore[union-attr]
            )  # fmt: skip
            running = asyncio.ensure_future(ask(client, COMPLETIONS, ASKED[COMPLETIONS]))
            while not stubs[0].worker.counters.running:
                await asyncio.sleep(0.01)
            answers = await asyncio.gather(*(ask(client, COMPLETIONS, ASKED[COMPLETIONS]) for _ in range(3)))
            assert [status for status, _, _ in answers] == [429] * 3
            assert all(int(headers["Retry-After"]) >= 1 for _, headers, _ in answers)
            assert {json.loads(body)["error"]["code"] for _, _, body in answers} == {"shed", "deadline"}
            assert stubs[0].worker.counters.running == 1
            running.cancel()

    asyncio.run(main())
