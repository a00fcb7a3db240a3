"""The admin routes: look at workers, drain them, read the configuration again. A bearer token is needed.

::

    GET  /admin/workers                 state of each worker (of the process that answers)
    GET  /admin/changes                 the last changes of health, with reasons
    POST /admin/workers/NAME/drain      {"reason": "..."}; all processes follow within a second
    POST /admin/workers/NAME/undrain
    POST /admin/reload
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from urllib.parse import unquote

import msgspec
from aiohttp import web

from rocsteady.gateway.answers import JSON, problem
from rocsteady.gateway.runtime import STATE_EVERY, Runtime
from rocsteady.gateway.worker import Worker
from rocsteady.model import InputError

WORKERS = "/admin/workers/"
LONGEST_REASON = 200


class _Wish(msgspec.Struct):
    reason: str = "by hand"


class Admin:
    """Answers below /admin/. ``reload``: asks the supervisor, so that every process reads the configuration."""

    def __init__(self, runtime: Runtime, token: str, reload: Callable[[], str]) -> None:
        self._runtime = runtime
        self._token = token.encode()
        self._reload = reload

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request."""
        if not self._token:
            return _say(404, {"error": {"message": "no admin token is configured", "code": "not_found"}})
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, b"Bearer " + self._token):
            answer = _say(401, {"error": {"message": "the admin token is wanted", "code": "unauthorized"}})
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        path = request.rel_url.raw_path
        if request.method == "GET" and path == "/admin/workers":
            counts = await self._runtime.inflight()
            workers = self._runtime.router.workers.values()
            return _say(
                200,
                {
                    "schema": "rocsteady.gateway-workers/1",
                    "workers": [row(worker, counts.get(worker.name, 0)) for worker in workers],
                    "problems": self._runtime.registry.problems,
                    "gpu_health": [watch.problem for watch in self._runtime.gpu_watches],
                },
            )  # fmt: skip
        if request.method == "GET" and path == "/admin/changes":
            return _say(200, {"schema": "rocsteady.gateway-changes/1", "changes": self._runtime.changes})
        if request.method == "POST" and path == "/admin/reload":
            trouble = self._reload()
            return _say(422 if trouble else 200, {"reloaded": not trouble, "problem": trouble})
        if request.method == "POST" and path.startswith(WORKERS):
            return await self._worker(request, path)
        return _say(404, {"error": {"message": "no such route", "code": "not_found"}})

    async def _worker(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        name, _, verb = path.removeprefix(WORKERS).rpartition("/")
        name = unquote(name)
        try:
            if verb == "drain":
                async with asyncio.timeout(5):
                    text = await request.read()
                wish = msgspec.json.decode(text or b"{}", type=_Wish)
                self._runtime.drain(name, wish.reason[:LONGEST_REASON] or "by hand")
            elif verb == "undrain":
                self._runtime.undrain(name)
            else:
                return _say(404, {"error": {"message": "drain or undrain was wanted", "code": "not_found"}})
        except InputError as error:
            return web.Response(status=404, body=problem(str(error), "not_found", ""), content_type=JSON)
        except (msgspec.DecodeError, RecursionError, TimeoutError, web.HTTPException) as error:
            return web.Response(status=400, body=problem(f"body: {error}", "bad_request", ""), content_type=JSON)
        if self._runtime.siblings is not None:  # answered when the other processes have seen it too
            await self._runtime.clock.sleep(2 * STATE_EVERY)
        counts = await self._runtime.inflight()
        return _say(200, row(self._runtime.router.workers[name], counts.get(name, 0)))


def row(worker: Worker, in_flight: int) -> dict[str, object]:
    """One worker as a document. ``in_flight``: requests of all processes; the rest is of this process."""
    spec, load = worker.spec, worker.load
    return {
        "name": spec.name, "url": spec.url, "node": spec.node, "gpus": list(spec.gpus), "model": spec.model,
        "precision": spec.precision, "tier": spec.tier, "source": spec.source, "state": worker.health.state,
        "blocked": worker.blocked, "draining": bool(worker.drained), "drained": worker.drained, "in_flight": in_flight,
        "gpu": {"state": worker.gpu_state, "advice": worker.gpu_advice, "reason": worker.gpu_reason,
                "memory_ratio": worker.gpu_memory_ratio},
        "load": None if load is None else {"running": load.running, "waiting": load.waiting, "kv_usage": load.kv_usage},
        "ttft_seconds": worker.ttft,
    }  # fmt: skip


def _say(status: int, value: object) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type=JSON)
