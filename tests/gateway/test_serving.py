"""Requests through a gateway to small workers, in one event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable

from tests.gateway.engine import WORDS, Engine
from tests.gateway.serving import configuration, gateway, text_of, worker

TEXT = "".join(WORDS)


def run(work: Awaitable[None]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30):
            await work

    asyncio.run(main())


def test_answers_streams_and_bytes() -> None:
    async def main() -> None:
        async with Engine("a") as a, gateway(configuration([worker(a, precision="fp16")])) as client:
            status, headers, body = await client.post()
            assert (status, json.loads(body)["choices"][0]["text"]) == (200, TEXT)
            assert headers["X-Rocsteady-Worker"] == "a"
            assert headers["X-Rocsteady-Stage"] == "primary"
            assert headers["X-Rocsteady-Precision"] == "fp16"
            status, headers, body = await client.post(stream=True)
            assert headers["Content-Type"].startswith("text/event-stream")
            assert text_of(body) == TEXT
            assert body.endswith(b"data: [DONE]\n\n")
            raw = b'{ "model":"m",  "tools":[{"type":"function"}], "prompt": "\\u00e4", "unknown": 1e400 }'
            async with client.session.post(client.base + "/v1/chat/completions", data=raw) as answer:
                assert answer.status == 200
            assert a.bodies[-1] == raw, "untouched, byte for byte"

    run(main())


def test_the_model_name_is_the_only_thing_that_changes_for_a_worker_with_another_name() -> None:
    async def main() -> None:
        async with (
            Engine("a", model="m-awq") as a,
            gateway(configuration([worker(a, model="m", served="m-awq")])) as client,
        ):
            raw = b'{"prompt":"\\"model\\": \\"m\\"", "x": {"model": "m"}, "model" :\n"m" }'
            async with client.session.post(client.base + "/v1/completions", data=raw) as answer:
                assert answer.status == 200
            assert a.bodies[-1] == raw.replace(b'\n"m"', b'\n"m-awq"')

    run(main())


def test_a_failing_worker_is_masked_and_leaves_rotation() -> None:
    async def main() -> None:
        async with Engine("a", mode="500") as a, Engine("b") as b:
            config = configuration([worker(a, node="n1"), worker(b, node="n2")], probe={"every": 60.0, "busy": 0.1})
            async with gateway(config) as client:
                while client.runtime.router.workers["a"].health.state != "ejected":
                    status, _, body = await client.post(stream=True)
                    assert (status, text_of(body)) == (200, TEXT)
                found = {(await client.post())[1]["X-Rocsteady-Stage"] for _ in range(20)}
                assert found == {"primary", "node"}, "what home would have had is answered by the other node"

    run(main())


def test_error_events_in_a_stream_are_failures_not_output() -> None:
    async def main() -> None:
        async with (
            Engine("a", mode="error-event") as a,
            Engine("b") as b,
            gateway(configuration([worker(a), worker(b)])) as client,
        ):
            while not client.runtime.tally.counts.get(("retry", "", "")):
                _, headers, body = await client.post(stream=True)
                assert text_of(body) == TEXT
                assert headers["X-Rocsteady-Worker"] == "b"
            assert client.runtime.tally.counts[("worker-failure", "a", "stream-error")] >= 1

    run(main())


def test_a_stream_that_cannot_go_on_ends_with_an_error_event() -> None:
    async def main() -> None:
        for mode in ("cut", "error-later"):
            async with Engine("a", mode=mode) as a, gateway(configuration([worker(a)])) as client:
                status, _, body = await client.post(stream=True)
                assert status == 200
                assert text_of(body) == "".join(WORDS[:3])
                events = [line for line in body.splitlines() if line.startswith(b"data:")]
                error = json.loads(events[-2][5:])["error"]
                assert error["type"].startswith("stream_interrupted")
                assert events[-1] == b"data: [DONE]"

    run(main())


def test_the_clients_own_errors_pass_and_blame_nobody() -> None:
    async def main() -> None:
        async with Engine("a", mode="too-long") as a, gateway(configuration([worker(a)])) as client:
            for _ in range(8):
                status, _, body = await client.post()
                assert status == 500
                assert b"maximum context length" in body
            assert client.runtime.router.workers["a"].health.state == "healthy"
            status, body = (await client.post(model="nobody"))[::2]
            assert status == 404
            assert b"does not exist" in body

    run(main())


def test_a_busy_worker_hands_over_and_its_answer_is_passed_on_when_all_are() -> None:
    async def main() -> None:
        async with (
            Engine("a", mode="busy") as a,
            Engine("b") as b,
            gateway(configuration([worker(a), worker(b)])) as client,
        ):
            assert {(await client.post())[0] for _ in range(8)} == {200}
            b.mode = "busy"
            status, headers, _ = await client.post()
            assert (status, headers["Retry-After"]) == (429, "7")
            assert client.runtime.router.workers["a"].health.usable

    run(main())


def test_a_client_that_leaves_is_noticed_by_the_engine() -> None:
    async def main() -> None:
        async with Engine("a", pause=0.05) as a, gateway(configuration([worker(a)])) as client:
            async with client.session.post(
                client.base + "/v1/completions", json={"model": "m", "prompt": "x", "stream": True}
            ) as answer:
                await answer.content.readline()
                answer.close()
            while not a.cancelled:
                await asyncio.sleep(0.01)
            assert client.runtime.open_calls == 0 or await asyncio.sleep(0.2) is None
            assert client.runtime.router.workers["a"].inflight == 0

    run(main())


def test_the_last_capacity_is_never_dropped() -> None:
    async def main() -> None:
        async with Engine("a") as a, gateway(configuration([worker(a)], probe={"every": 60.0})) as client:
            one = client.runtime.router.workers["a"]
            one.health.failure("connect", "refused", client.runtime.clock.now())
            status, headers, _ = await client.post()
            assert (status, headers["X-Rocsteady-Stage"]) == (200, "last")
            client.runtime.drain("a", "maintenance")
            assert (await client.post())[0] == 503

    run(main())
