"""An engine that froze is out, and nobody's request fails for it. Real time, short limits."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.gateway.engine import WORDS, Engine
from tests.gateway.serving import configuration, gateway, text_of, worker
from tests.gateway.test_serving import run

QUICK: dict[str, Any] = {
    "timeouts": {"suspect": 0.4, "verdict": 0.5, "prefill_tokens_per_second": 1e6}, "continuation": False,
    "probe": {"every": 0.2, "busy": 0.2, "canary": 0.0, "canary_timeout": 0.5, "canary_first": 0.5},
}  # fmt: skip
TEXT = "".join(WORDS)


def test_frozen_while_idle_with_health_200() -> None:
    async def main() -> None:
        async with (
            Engine("a") as a,
            Engine("b") as b,
            gateway(configuration([worker(a), worker(b)], **QUICK)) as client,
        ):
            a.mode = "frozen"  # /health stays 200, /metrics stands still
            asked = [client.post(stream=bool(number % 2)) for number in range(12)]
            answers = await asyncio.gather(*asked)
            assert [status for status, _, _ in answers] == [200] * 12
            one = client.runtime.router.workers["a"]
            assert one.health.state in ("ejected", "half-open")
            assert "canary" in one.health.reason
            for _ in range(6):
                assert (await client.post())[1]["X-Rocsteady-Worker"] == "b"
            assert one.inflight == 0

    run(main())


def test_an_idle_canary_finds_a_freeze_before_any_request_meets_it() -> None:
    async def main() -> None:
        more = QUICK | {"probe": QUICK["probe"] | {"canary": 0.2}}
        async with Engine("a") as a, Engine("b") as b, gateway(configuration([worker(a), worker(b)], **more)) as client:
            a.mode = "frozen"
            one = client.runtime.router.workers["a"]
            while one.health.usable:
                await asyncio.sleep(0.05)
            assert not a.bodies
            a.mode = "ok"
            a.tokens += 1

    run(main())


def test_a_busy_engine_is_not_frozen() -> None:
    async def main() -> None:
        async with Engine("a", pause=1.5) as a, gateway(configuration([worker(a)], **QUICK)) as client:

            async def work() -> None:  # tokens move, only not for our request
                while True:
                    await asyncio.sleep(0.1)
                    a.tokens += 1

            task = asyncio.create_task(work())
            status, _, _ = await client.post()
            task.cancel()
            assert status == 200
            assert client.runtime.router.workers["a"].health.state != "ejected"
            assert not client.runtime.tally.counts.get(("worker-failure", "a", "frozen"))

    run(main())


def test_a_repaired_engine_comes_back_through_one_canary() -> None:
    async def main() -> None:
        more = QUICK | {"health": {"pause": 0.3, "longest": 0.3}}
        async with Engine("a") as a, Engine("b") as b, gateway(configuration([worker(a), worker(b)], **more)) as client:
            one = client.runtime.router.workers["a"]
            one.health.failure("frozen", "test", client.runtime.clock.now())
            a.mode = "frozen"
            await asyncio.sleep(1.2)
            assert one.health.state in ("ejected", "half-open")
            a.mode = "ok"
            while one.health.state != "healthy":
                await asyncio.sleep(0.05)
            assert not a.bodies, "no client's request was the trial"

    run(main())


def test_a_stream_that_hangs_alone_ends_with_an_event_where_it_cannot_go_on() -> None:
    async def main() -> None:
        more = QUICK | {"timeouts": QUICK["timeouts"] | {"between_tokens": 1.0}}
        async with (
            Engine("a", mode="freeze-later") as a,
            Engine("b", mode="freeze-later") as b,
            gateway(configuration([worker(a), worker(b)], **more)) as client,
        ):
            _, _, body = await client.post(stream=True)
            assert text_of(body) == "".join(WORDS[:3])
            assert b'"error"' in body
            assert body.endswith(b"data: [DONE]\n\n")

    run(main())
