"""A small worker for tests: speaks vLLM's dialect, and breaks on demand."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

WORDS = ["All", " is", " well", " on", " eight", " GPUs", "."]


class Engine:
    """``mode``: ok, frozen, error-event, cut, 500, too-long, busy, slow. Runs in the test's loop."""

    def __init__(self, name: str, model: str = "m", mode: str = "ok", pause: float = 0.0) -> None:
        self.name = name
        self.model = model
        self.mode = mode
        self.pause = pause
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.cancelled = 0
        self.running = 0
        self.tokens = 0
        self.canaries = 0
        self.url = ""
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def __aenter__(self) -> Engine:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        for path in ("/v1/completions", "/v1/chat/completions", "/v1/embeddings"):
            app.router.add_post(path, self._generate)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self.mode == "500" else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            text=f'vllm:generation_tokens_total{{engine="0"}} {float(self.tokens)}\n'
            f"vllm:iteration_tokens_total_count {float(self.tokens)}\n"
            f'vllm:num_requests_running{{engine="0"}} {float(self.running)}\nvllm:kv_cache_usage_perc 0.25\n'
        )

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        watch = "X-Rocsteady-Watch" in request.headers
        if watch:
            self.canaries += 1
        else:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        asked: dict[str, Any] = json.loads(body)
        self.running += 1
        try:
            if self.mode == "frozen":
                await asyncio.Event().wait()
            return await self._answer(request, asked, watch)
        except asyncio.CancelledError:
            self.cancelled += not watch
            raise
        finally:
            self.running -= 1

    async def _answer(self, request: web.Request, asked: dict[str, Any], watch: bool) -> web.StreamResponse:
        if asked["model"] != self.model:
            text = f"The model `{asked['model']}` does not exist."
            return web.json_response({"object": "error", "message": text}, status=404)
        if self.mode == "500":
            return web.json_response({"error": {"message": "engine dead"}}, status=500)
        if self.mode == "too-long" and not watch:
            text = "This model's maximum context length is 1024 tokens. However, you requested 2000 tokens."
            return web.json_response({"error": {"message": text}}, status=500)
        if self.mode == "busy":
            return web.json_response({"error": {"message": "busy"}}, status=429, headers={"Retry-After": "7"})
        if not asked.get("stream"):
            await asyncio.sleep(self.pause)
            self.tokens += 1
            return web.json_response({"id": self.name, "choices": [{"text": "".join(WORDS)}]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for number, word in enumerate(WORDS):
            await asyncio.sleep(self.pause)
            if number == 3 and self.mode == "cut":
                assert request.transport is not None
                request.transport.abort()
                return response
            if number == 3 and self.mode == "freeze-later":
                await asyncio.Event().wait()
            if self.mode == "error-event" or (number == 3 and self.mode == "error-later"):
                error = {"error": {"message": "EngineCore encountered an issue", "code": 500}}
                await response.write(b"data: " + json.dumps(error).encode() + b"\n\ndata: [DONE]\n\n")
                return response
            self.tokens += 1
            event = {"id": self.name, "choices": [{"index": 0, "text": word}]}
            await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response
