"""The OpenAI routes over aiohttp's low-level server: what is parsed, refused, logged. The work is the dispatcher's."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http import HttpVersion11

from rocsteady.gateway.accesslog import redact
from rocsteady.gateway.answers import JSON, problem
from rocsteady.gateway.dispatch import Outcome
from rocsteady.gateway.interfaces import ANYBODY, CHAT, COMPLETIONS, EMBEDDINGS, Call, Key, View
from rocsteady.gateway.runtime import Runtime

ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
TRACE = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
LOWEST = 9
"""The last priority a client can give itself."""
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
_VIEW = msgspec.json.Decoder(View)


class ResponseSink:
    """The client's connection."""

    __slots__ = ("request", "response")

    def __init__(self, request: web.BaseRequest) -> None:
        self.request = request
        self.response: web.StreamResponse | None = None

    async def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """A whole answer; the server sends it when the handler returns it."""
        self.response = web.Response(status=status, headers=headers, body=body)

    async def start(self, headers: list[tuple[str, str]]) -> None:
        """Begin a stream."""
        self.response = response = web.StreamResponse(status=200, headers=headers)
        if self.request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        await response.prepare(self.request)

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """More of it."""
        assert self.response is not None
        if last:
            await self.response.write_eof(data)  # in one piece with the end of the body
        else:
            await self.response.write(data)


class Frontend:
    """Answers clients. ``admin``: what is below /admin/."""

    def __init__(self, runtime: Runtime, admin: Handler) -> None:
        self._runtime = runtime
        self._admin = admin
        self._prefix = f"{runtime.random_bits(40):010x}"
        self._number = 0
        self._routes: dict[str, Handler] = {
            "/v1/models": self._models, "/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics,
        }  # fmt: skip

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Every request."""
        path = request.rel_url.raw_path
        if path in (CHAT, COMPLETIONS, EMBEDDINGS):
            if request.method != "POST":
                return self._problem(405, "POST is wanted", "method", {"Allow": "POST"})
            return await self._generate(request, path)
        if path.startswith("/admin/"):
            return await self._admin(request)
        if request.method not in ("GET", "HEAD"):
            return self._problem(404, "no such route", "not_found")
        known = self._routes.get(path)
        if known is not None:
            return await known(request)
        if path.startswith("/v1/models/"):
            return await self._model(request)
        return self._problem(404, "no such route", "not_found")

    def _problem(self, status: int, message: str, code: str, headers: dict[str, str] | None = None) -> web.Response:
        body = problem(message, code, "")
        return web.Response(status=status, body=body, content_type=JSON, headers=headers)

    def _key(self, request: web.BaseRequest) -> Key | None:
        keys = self._runtime.keys
        if not keys:
            return ANYBODY
        given = request.headers.get("Authorization", "")
        if given[:7].lower() != "bearer ":
            return None
        return keys.get(hashlib.sha256(given[7:].strip().encode("utf-8", "surrogateescape")).digest())

    async def _generate(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        key = self._key(request)
        if key is None:
            return self._problem(401, "an API key is wanted", "invalid_api_key", {"WWW-Authenticate": "Bearer"})
        try:
            body = await self._body(request)
            view = _VIEW.decode(body)
        except web.HTTPException as error:
            return self._problem(error.status, error.text or error.reason, "bad_request", {"Connection": "close"})
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            return self._problem(400, f"the body is not usable JSON: {str(error)[:200]}", "bad_request")
        if not view.model:
            return self._problem(400, "model is missing", "bad_request")
        try:
            call = self._call(request, path, body, view, key)
        except ValueError as error:
            return self._problem(400, str(error), "bad_request")
        sink = ResponseSink(request)
        again = request.headers.get("Idempotency-Key")
        if again is not None:
            return await self._once(call, sink, again)
        return await self._run(call, sink)

    async def _once(self, call: Call, sink: ResponseSink, again: str) -> web.StreamResponse:
        """A request with an idempotency key: run it, or say what became of the first one."""
        keys, now = self._runtime.idempotency, self._runtime.clock.wall()
        try:
            name, found, same = keys.claim(call.key.name, again, call.path, call.body, now)
        except ValueError as error:
            return self._problem(400, str(error), "bad_request")
        if found is not None:
            self._runtime.tally.add("requests", call.path, "repeated")
            if not same:
                return self._problem(422, "this Idempotency-Key was used for another request", "idempotency_mismatch")
            if found.status is None:
                text = "a request with this Idempotency-Key is being answered"
                return self._problem(409, text, "idempotency_running", {"Retry-After": "1"})
            headers = {"Content-Type": found.type, "X-Request-Id": call.id, "X-Rocsteady-Replayed": "true"}
            return web.Response(status=found.status, body=found.body, headers=headers)
        kept: tuple[int, str, bytes] | None = None
        try:
            response = await self._run(call, sink)
            if isinstance(response, web.Response) and isinstance(response.body, bytes):
                kept = (response.status, response.headers.get("Content-Type", JSON), response.body)
        finally:
            keys.done(name, kept)
        return response

    async def _run(self, call: Call, sink: ResponseSink) -> web.StreamResponse:
        runtime = self._runtime
        runtime.opened(1)
        outcome: Outcome | None = None
        try:
            outcome = await runtime.dispatcher.run(call, sink)
        finally:
            runtime.opened(-1)
            self._record(call, outcome)
        if sink.response is None:  # cannot happen: each way through the dispatcher answers
            return self._problem(500, "no answer was made", "internal")
        return sink.response

    async def _body(self, request: web.BaseRequest) -> bytes:
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise web.HTTPUnsupportedMediaType(text="a compressed body is not taken")
        limits = self._runtime.config.limits
        length = request.content_length
        if length is not None and length > limits.body_bytes:
            raise web.HTTPRequestEntityTooLarge(limits.body_bytes, length)
        if request.content.is_eof():
            return await request.read()
        try:
            async with asyncio.timeout(limits.body_seconds):
                return await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text=f"the body took longer than {limits.body_seconds:g} s") from None

    def _call(self, request: web.BaseRequest, path: str, body: bytes, view: View, key: Key) -> Call:
        runtime, headers = self._runtime, request.headers
        now = runtime.clock.now()
        given = headers.get("X-Request-Id")
        if given is not None and ID.fullmatch(given):
            name = given
        else:
            self._number += 1
            name = f"{self._prefix}-{self._number:x}"
        trace = headers.get("Traceparent")
        found = TRACE.fullmatch(trace) if trace is not None else None
        root = found.group(1) if found else f"{runtime.random_bits(128):032x}"
        limit = _number(headers.get("X-Rocsteady-Deadline"), "X-Rocsteady-Deadline")
        wanted = _number(headers.get("X-Rocsteady-Priority"), "X-Rocsteady-Priority")
        return Call(
            id=name, path=path, body=body, view=view, key=key, headers=headers, arrived=now,
            deadline=None if limit is None else now + limit,
            priority=key.priority if wanted is None else max(key.priority, min(LOWEST, int(wanted))),
            prompt_tokens=int(len(body) / runtime.config.bytes_per_token),
            degrade=headers.get("X-Rocsteady-Degrade", "").lower() not in ("never", "no", "0", "false"),
            exactly_once=headers.get("X-Rocsteady-Retry", "").lower() in ("never", "no", "0", "false"),
            trace=f"00-{root}-{runtime.random_bits(64):016x}-01",
        )  # fmt: skip

    def _record(self, call: Call, outcome: Outcome | None) -> None:
        runtime = self._runtime
        if outcome is None:
            outcome = Outcome(status=499, result="left")
        now = runtime.clock.now()
        runtime.tally.add("requests", call.path, outcome.result)
        runtime.tally.add("stages", outcome.stage, outcome.worker)
        runtime.measure(call, outcome, now)
        log = runtime.log
        if log.on:
            first = outcome.first_byte
            log.add(
                {
                    "at": round(runtime.clock.wall(), 3), "id": call.id, "trace": call.trace[3:35], "key": call.key.name,
                    "path": call.path, "model": call.view.model, "stream": call.streams, "bytes": len(call.body),
                    "status": outcome.status, "result": outcome.result, "worker": outcome.worker,
                    "stage": outcome.stage, "reason": redact(outcome.reason), "tries": outcome.tries,
                    "continued": outcome.continued, "detail": redact(outcome.detail),
                    "first_byte_seconds": None if first is None else round(first - call.arrived, 6),
                    "seconds": round(now - call.arrived, 6),
                }
            )  # fmt: skip

    async def _models(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._key(request) is None:
            return self._problem(401, "an API key is wanted", "invalid_api_key", {"WWW-Authenticate": "Bearer"})
        rows = [self._row(name) for name in self._runtime.router.models()]
        return self._json({"object": "list", "data": rows})

    async def _model(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._key(request) is None:
            return self._problem(401, "an API key is wanted", "invalid_api_key", {"WWW-Authenticate": "Bearer"})
        name = request.path.removeprefix("/v1/models/")
        if name not in self._runtime.router.models():
            return self._problem(404, f"the model {name[:200]!r} does not exist", "model_not_found")
        return self._json(self._row(name))

    def _row(self, name: str) -> dict[str, object]:
        workers = [w for w in self._runtime.router.workers.values() if w.spec.model == name]
        contexts = [w.spec.context for w in workers if w.spec.context is not None]
        return {
            "id": name, "object": "model", "created": int(self._runtime.started_wall), "owned_by": "rocsteady",
            "max_model_len": max(contexts) if contexts else None,
            "precisions": sorted({w.spec.precision for w in workers if w.spec.precision}),
            "available": any(not w.blocked for w in workers),
        }  # fmt: skip

    async def _healthz(self, request: web.BaseRequest) -> web.StreamResponse:
        del request
        return self._json({"status": "ok"})

    async def _readyz(self, request: web.BaseRequest) -> web.StreamResponse:
        del request
        workers = self._runtime.router.workers.values()
        usable = sum(not worker.blocked for worker in workers)
        ready = usable > 0 and not self._runtime.stopping
        said = {"ready": ready, "workers": len(workers), "usable": usable, "stopping": self._runtime.stopping}
        return self._json(said, 200 if ready else 503)

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        del request
        body = await self._runtime.exposition()
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    def _json(self, value: Any, status: int = 200) -> web.Response:
        return web.Response(status=status, body=msgspec.json.encode(value), content_type=JSON)


def _number(text: str | None, name: str) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e6:
        raise ValueError(f"{name}: a number from 0 to 1000000 was wanted")
    return value
