"""The stub worker over HTTP: ``python -m rocsteady.drill.stub --port 8001``. Synthetic: it speaks vLLM's protocol, no more.

Routes of vLLM 0.32: /v1/models, /v1/completions, /v1/chat/completions, /v1/embeddings, /tokenize, /detokenize, /health,
/ping, /version, /metrics, /load. Its own: ``GET`` and ``POST /stub/faults`` (see ``stub_faults``), ``/stub/requests``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable

import msgspec
from aiohttp import web

from rocsteady.drill.stub_faults import Faults
from rocsteady.drill.stub_worker import Cut, Reply, StubConfig, StubWorker
from rocsteady.model import InputError

LARGEST_BODY = 64 * 2**20
EXIT_DELAY = 1.4
"""Seconds between the death of the engine and the end of the API server: measured on vLLM 0.32 (its /health is 503 then)."""
VERSION = "0.32.0"
"""The version whose protocol is imitated."""


class StubServer:
    """A stub worker on a port of the loopback interface.

    ``async with StubServer(StubConfig()) as stub: ... stub.url, stub.worker.faults.set(Faults(frozen=True))``
    """

    def __init__(
        self, config: StubConfig, host: str = "127.0.0.1", port: int = 0, worker: StubWorker | None = None
    ) -> None:
        self.worker = worker or StubWorker(config, on_exit=self._died)
        self.exited = asyncio.Event()
        self.bodies: list[tuple[str, bytes]] = []
        self.host, self.port = host, port
        self._runner: web.AppRunner | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._seen = 0

    @property
    def url(self) -> str:
        """Base address, without a path."""
        return f"http://{self.host}:{self.port}"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        app = web.Application(client_max_size=LARGEST_BODY)
        app.add_routes([web.get("/{path:.*}", self._get), web.post("/{path:.*}", self._post)])
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening; open streams break."""
        if self._ending is not None:
            self._ending.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> StubServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _died(self, log: str) -> None:
        sys.stderr.write(log)
        self._ending = asyncio.get_running_loop().call_later(EXIT_DELAY, self.exited.set)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        worker, path = self.worker, request.path
        if path in ("/health", "/ping"):
            return web.Response(status=worker.health())
        if path == "/metrics":
            return web.Response(text=worker.metrics(), content_type="text/plain")
        documents: dict[str, Callable[[], bytes]] = {
            "/v1/models": worker.models,
            "/version": lambda: msgspec.json.encode({"version": VERSION}),
            "/load": lambda: msgspec.json.encode({"server_load": worker.counters.running}),
            "/stub/faults": lambda: msgspec.json.encode(worker.faults.now),
            "/stub/requests": lambda: msgspec.json.encode({"seen": self._seen}),
        }
        make = documents.get(path)
        if make is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        return web.Response(body=make(), content_type="application/json")

    async def _post(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        if request.path == "/stub/faults":
            try:
                self.worker.faults.set_json(data)
            except InputError as error:
                return web.json_response({"error": str(error)}, status=400)
            return web.Response(body=msgspec.json.encode(self.worker.faults.now), content_type="application/json")
        self._seen += 1
        self.bodies.append((request.path, data))
        del self.bodies[:-100]
        try:
            reply = await self.worker.answer(request.path, data)
            return await self._send(request, reply)
        except Cut as cut:
            return await _cut(request, None, cut)

    async def _send(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if reply.events is None:
            return web.Response(status=reply.status, body=reply.body, headers={"Content-Type": reply.content_type})
        response = web.StreamResponse(headers={"Content-Type": reply.content_type})
        try:
            begun = False
            async for event in reply.events:
                if not begun:
                    await response.prepare(request)
                    begun = True
                await response.write(event)
        except Cut as cut:
            return await _cut(request, response, cut)
        await response.write_eof()
        return response


async def _cut(request: web.Request, response: web.StreamResponse | None, cut: Cut) -> web.StreamResponse:
    """Drop the connection, after what still gets out. What is returned cannot be written any more."""
    if response is not None and cut.last:
        if not response.prepared:
            await response.prepare(request)
        await response.write(cut.last)
        await asyncio.sleep(0)
    if request.transport is not None:
        request.transport.close()
    return response or web.Response()


async def _serve(server: StubServer) -> int:
    await server.start()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    sys.stderr.write(f"synthetic worker, serving {server.url}\n")
    sys.stderr.flush()
    waits = [asyncio.ensure_future(end.wait()), asyncio.ensure_future(server.exited.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if server.exited.is_set():
        os._exit(1)  # an engine that died takes the process with it, without a goodbye
    for wait in waits:
        wait.cancel()
    await server.stop()
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Command line of the stub."""
    parser = argparse.ArgumentParser(prog="python -m rocsteady.drill.stub", description=__doc__.splitlines()[0] if __doc__ else None)  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: any free port, named on standard error")
    for name, kind in StubConfig.__annotations__.items():
        default = getattr(StubConfig(), name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, metavar=str(kind))
    parser.add_argument(
        "--faults", default="{}", metavar="JSON", help='faults from the start, such as {"frozen": true}'
    )
    given = vars(parser.parse_args(arguments))
    host, port, faults = given.pop("host"), given.pop("port"), given.pop("faults")

    async def run() -> int:
        server = StubServer(StubConfig(**given), host, port)
        server.worker.faults.set_json(faults.encode())
        return await _serve(server)

    try:
        return asyncio.run(run())
    except (InputError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


__all__ = ["Faults", "StubConfig", "StubServer", "StubWorker", "main"]

if __name__ == "__main__":
    raise SystemExit(main())
