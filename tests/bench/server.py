"""A small synthetic endpoint for the tests: streams as many words as asked for, and misbehaves on request."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web


def application(pace: float = 0.0) -> web.Application:
    """``model`` says what happens: good, cut, error, refuse, busy, silent."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        kind = body["model"]
        if kind == "busy":
            return web.json_response({"error": "later"}, status=429)
        if kind == "refuse":
            return web.Response(status=500, text="HIP out of memory. Tried to allocate")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if kind == "silent":
            await asyncio.sleep(60)
        count = body["max_tokens"]
        for number in range(count):
            await asyncio.sleep(pace)
            choice: dict[str, object] = {"index": 0, "finish_reason": None}
            choice |= {"text": " x"} if "prompt" in body else {"delta": {"content": " x"}}
            await send(response, {"choices": [choice]})
            if kind == "cut" and number == 1:
                assert request.transport is not None
                request.transport.abort()
                return response
            if kind == "error" and number == 1:
                await send(response, {"error": {"message": "EngineCore died", "code": 500}})
                await response.write(b"data: [DONE]\n\n")
                return response
        await send(response, {"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
        await send(response, {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": count}})
        await response.write(b"data: [DONE]\n\n")
        return response

    async def models(_request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "good"}]})

    app = web.Application()
    app.add_routes([web.post("/v1/completions", answer), web.post("/v1/chat/completions", answer)])
    app.add_routes([web.get("/v1/models", models)])
    return app


async def send(response: web.StreamResponse, event: object) -> None:
    """One event."""
    await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
