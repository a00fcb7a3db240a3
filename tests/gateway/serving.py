"""A gateway in the test's event loop."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec

from rocsteady.gateway.config import Config
from rocsteady.gateway.listening import Serving, open_socket
from rocsteady.gateway.runtime import Runtime
from tests.gateway.engine import Engine


def worker(engine: Engine, **more: Any) -> dict[str, Any]:
    return {"name": engine.name, "url": engine.url, "model": engine.model} | more


def configuration(workers: list[dict[str, Any]], **more: Any) -> Config:
    return msgspec.convert({"worker": workers} | more, Config)


class Client:
    """A client of the gateway."""

    def __init__(self, runtime: Runtime, port: int, session: aiohttp.ClientSession) -> None:
        self.runtime = runtime
        self.port = port
        self.session = session
        self.base = f"http://127.0.0.1:{port}"

    async def post(
        self, path: str = "/v1/completions", headers: dict[str, str] | None = None, **body: Any
    ) -> tuple[int, dict[str, str], bytes]:
        asked = {"model": "m", "prompt": "Is all well?"} | body
        async with self.session.post(self.base + path, json=asked, headers=headers) as answer:
            return answer.status, dict(answer.headers), await answer.read()

    async def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        async with self.session.get(self.base + path, headers=headers) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if answer.content_type == "application/json" else text


@contextlib.asynccontextmanager
async def gateway(config: Config, *, proven: bool = True, **more: Any) -> AsyncIterator[Client]:
    """Serve on a free port. ``proven``: workers count as healthy from the start."""
    runtime = Runtime(config, dice=random.Random(1), **more)
    if proven:
        for one in runtime.router.workers.values():
            one.health.proof(runtime.clock.now())
    serving = Serving(runtime)
    made = open_socket("127.0.0.1", 0)
    port = made.getsockname()[1]
    await serving.start([made])
    try:
        async with aiohttp.ClientSession() as session:
            yield Client(runtime, port, session)
    finally:
        await serving.stop(2.0)


def text_of(stream: bytes) -> str:
    """The text of a completion stream."""
    out = ""
    for line in stream.splitlines():
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            if "choices" in event:
                out += event["choices"][0]["text"]
    return out
