"""The CPU worker over HTTP: /v1/models, /v1/completions, /v1/chat/completions, /health. Loopback unless told."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import time
from collections.abc import Callable

import msgspec
from aiohttp import web

from rocsteady.cpu_worker.answers import DONE, Writer
from rocsteady.cpu_worker.engine import Engine
from rocsteady.cpu_worker.executor import Executor
from rocsteady.cpu_worker.requests import BadRequest, Wanted, parse
from rocsteady.model import InputError

LARGEST_BODY = 4 * 2**20
"""A prompt for a small model on a CPU is far below."""
NOTE = "last rung: a small model on the CPU, slow, with a cap on the output"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the worker gives at most. ``output_tokens`` a request, ``concurrency`` at a time, ``waiting`` in line."""

    output_tokens: int = 256
    concurrency: int = 1
    waiting: int = 16
    model_gib: float = 8.0


def check_size(executor: Executor, limits: Limits) -> None:
    """A model that is too large for a CPU rung is refused at the start, not found out by its clients.

    Raises:
        InputError: it is.
    """
    size = executor.about.size_bytes
    if size is not None and size > limits.model_gib * 2**30:
        raise InputError(
            f"the model has {size / 2**30:.1f} GiB, the limit is {limits.model_gib:g} (--max-model-gib): a CPU would take "
            "seconds a token"
        )


class CpuWorker:
    """The HTTP application of one executor."""

    def __init__(self, executor: Executor, limits: Limits, wall: Callable[[], float] = time.time) -> None:
        check_size(executor, limits)
        self.limits = limits
        self.engine = Engine(executor, limits.concurrency, limits.waiting)
        self._wall = wall

    def application(self) -> web.Application:
        """Routes."""
        app = web.Application(client_max_size=LARGEST_BODY)
        app.add_routes(
            [
                web.get("/health", self._health),
                web.get("/v1/models", self._models),
                web.post("/v1/completions", self._completions),
                web.post("/v1/chat/completions", self._chat),
            ]
        )
        return app

    def headers(self) -> dict[str, str]:
        """What every answer says about who gave it."""
        about = self.engine.executor.about
        return {
            "X-Rocsteady-Executor": f"cpu; runtime={about.runtime}; precision={about.precision}",
            "X-Rocsteady-Max-Output-Tokens": str(self.limits.output_tokens),
        }

    async def _health(self, request: web.Request) -> web.Response:
        del request
        return web.Response(headers=self.headers())

    async def _models(self, request: web.Request) -> web.Response:
        del request
        about = self.engine.executor.about
        row = {
            "id": about.model, "object": "model", "created": int(self._wall()), "owned_by": "rocsteady",
            "max_model_len": about.context,
            "rocsteady": {
                "tier": "cpu", "runtime": about.runtime, "precision": about.precision, "note": NOTE,
                "max_output_tokens": self.limits.output_tokens, "concurrency": self.limits.concurrency,
                "size_bytes": about.size_bytes,
            },
        }  # fmt: skip
        body = msgspec.json.encode({"object": "list", "data": [row]})
        return web.Response(body=body, content_type="application/json", headers=self.headers())

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=False)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=True)

    async def _answer(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        data = await request.read()
        headers = self.headers()
        try:
            executor = self.engine.executor
            loop = asyncio.get_running_loop()
            wanted = await loop.run_in_executor(None, parse, data, chat, executor, self.limits.output_tokens)
            if wanted.capped:
                headers["X-Rocsteady-Output-Capped"] = str(wanted.most)
            identity = f"{'chatcmpl' if chat else 'cmpl'}-{secrets.token_hex(8)}"
            writer = Writer(wanted, identity, int(self._wall()), executor.about.model)
            if wanted.stream:
                return await self._stream(request, wanted, writer, headers)
            return await self._whole(wanted, writer, headers)
        except BadRequest as bad:
            if bad.status == 429:
                headers["Retry-After"] = "2"
            return web.Response(status=bad.status, body=bad.body(), content_type="application/json", headers=headers)

    async def _whole(self, wanted: Wanted, writer: Writer, headers: dict[str, str]) -> web.Response:
        text, ids = "", list[int]()
        try:
            async with contextlib.aclosing(self.engine.run(wanted)) as pieces:
                async for piece in pieces:
                    text, last = text + piece.text, piece
                    ids += piece.tokens
        except BadRequest:
            raise
        except Exception as error:
            raise BadRequest(f"the runtime failed: {error}", None, 500) from None
        return web.Response(body=writer.whole(text, ids, last), content_type="application/json", headers=headers)

    async def _stream(
        self, request: web.Request, wanted: Wanted, writer: Writer, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream; charset=utf-8"})
        count = 0
        try:
            async with contextlib.aclosing(self.engine.run(wanted)) as pieces:
                async for piece in pieces:
                    if not response.prepared:
                        await response.prepare(request)
                    count += len(piece.tokens)
                    await response.write(writer.events(piece))
        except (BadRequest, ConnectionError):
            raise
        except Exception as error:
            failed = BadRequest(f"the runtime failed: {error}", None, 500)
            if not response.prepared:
                raise failed from None
            await response.write(b"data: " + failed.body() + b"\n\n" + DONE)
            return response
        if wanted.usage:
            await response.write(writer.usage(count))
        await response.write(DONE)
        return response


async def serve(worker: CpuWorker, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        InputError: the address cannot be used.
    """
    runner = web.AppRunner(worker.application(), access_log=None, handler_cancellation=True, shutdown_timeout=5.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise InputError(f"--listen {host}:{port}: {error.strerror}") from None
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    address = runner.addresses[0]
    ready(f"http://{address[0]}:{address[1]}/v1")
    await end.wait()
    await runner.cleanup()
    worker.engine.close()
