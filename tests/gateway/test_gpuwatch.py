"""The GPU health of a node steers requests: stream of the exporter to routing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from aiohttp import web

from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.exporter.server import application
from rocsteady.lab import SHAPES, build_node
from tests.gateway.engine import Engine
from tests.gateway.serving import configuration, gateway, worker
from tests.gateway.test_serving import run

GPU = "0000:05:00.0"


def document(state: str, advice: str) -> bytes:
    gpu = {"bdf": GPU, "partition": None, "state": state, "advice": advice, "memory": {"used_bytes": 1, "total_bytes": 2},
           "reasons": [{"id": "RAS-0003", "text": "uncorrectable errors", "severity": "critical"}]}  # fmt: skip
    row = {"schema": "rocsteady.gpu-health/1", "node": "n1", "boot_id": "b", "at": "", "gpus": [gpu]}
    return b"event: gpu-health\ndata: " + json.dumps(row).encode() + b"\n\n"


def test_an_unhealthy_gpu_gets_no_new_request_and_comes_back() -> None:
    async def main() -> None:
        states: asyncio.Queue[bytes] = asyncio.Queue()

        async def stream(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            while True:
                await response.write(await states.get())

        app = web.Application()
        app.router.add_get("/v1/gpu-health/stream", stream)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with Engine("a") as a, Engine("b") as b:
            workers = [worker(a, node="n1", gpus=[GPU]), worker(b, node="n2")]
            async with gateway(configuration(workers, gpu_health=[{"url": url}])) as client:
                one = client.runtime.router.workers["a"]
                for state, advice, blocked in (("unhealthy", "drain", True), ("healthy", "none", False)):
                    states.put_nowait(b": still here\n\n" + document(state, advice))
                    while one.gpu_state != state:
                        await asyncio.sleep(0.01)
                    assert bool(one.blocked) is blocked
                    assert one.gpu_memory_ratio == 0.5
                    before = len(a.bodies)
                    for _ in range(8):
                        assert (await client.post())[0] == 200
                    assert (len(a.bodies) == before) is blocked
        await runner.cleanup()

    run(main())


def test_the_real_exporter_is_understood(tmp_path: Path) -> None:
    build_node(SHAPES["mi300x8"], 0, None).tree.write(tmp_path / "node")

    async def main() -> None:
        exporter = Exporter(Options(root=tmp_path / "node"))
        runner = web.AppRunner(application(exporter), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        name = exporter.health(0.0)["node"]
        async with Engine("a") as a:
            config = configuration([worker(a, node=name, gpus=[GPU])], gpu_health=[{"url": url}])
            async with gateway(config) as client:
                one = client.runtime.router.workers["a"]
                while one.gpu_state != "healthy":
                    await asyncio.sleep(0.02)
                assert one.gpu_memory_ratio is not None
        await runner.cleanup()
        exporter.close()

    run(main())
