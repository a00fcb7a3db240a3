"""A request that is sent again is not run again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.gateway.engine import Engine
from tests.gateway.serving import configuration, gateway, worker
from tests.gateway.test_serving import run


def test_the_same_key_runs_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with Engine("a", pause=0.2) as a:
            config = configuration([worker(a)], state=str(tmp_path / "state.sqlite"))
            head = {"Idempotency-Key": "order-1"}
            async with gateway(config) as client:
                first = asyncio.create_task(client.post(headers=head))
                while not a.bodies:
                    await asyncio.sleep(0.01)
                assert (await client.post(headers=head))[0] == 409
                status, _, body = await first
                assert status == 200
                assert (await client.post(headers=head, prompt="another"))[0] == 422
                assert (await client.post(headers={"Idempotency-Key": "a b"}))[0] == 400
            async with gateway(config) as client:
                status, headers, again = await client.post(headers=head)
                assert (status, again, headers["X-Rocsteady-Replayed"]) == (200, body, "true")
                assert len(a.bodies) == 1
                assert (await client.post(headers={"Idempotency-Key": "order-2"}))[0] == 200
                assert len(a.bodies) == 2

    run(main())


def test_a_failure_and_a_stream_free_the_key() -> None:
    async def main() -> None:
        async with Engine("a", mode="500") as a, gateway(configuration([worker(a)])) as client:
            head = {"Idempotency-Key": "k"}
            assert (await client.post(headers=head))[0] >= 500
            a.mode = "ok"
            assert (await client.post(headers=head))[0] == 200
            for _ in range(2):
                assert (await client.post(headers={"Idempotency-Key": "s"}, stream=True))[0] == 200

    run(main())
