"""HTTP of the healer: Alertmanager's webhook, diagnoses, status. Everything but /healthz asks for the token."""

from __future__ import annotations

import asyncio
import hmac
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from rocsteady.heal import incoming
from rocsteady.heal.journal import Inbox
from rocsteady.model import InputError

LARGEST = 4 << 20
"""Bytes of a message: a diagnosis of a node with thousands of findings has about one MiB."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Receiver:
    """What the routes need. ``post`` returns when the events are on disk; ``wake`` starts a round."""

    def __init__(
        self, node_of: Callable[[str], str], post: Callable[[list[Inbox]], None], wake: Callable[[], None],
        status: Callable[[], dict[str, Any]], clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self.node_of = node_of
        self.post = post
        self.wake = wake
        self.status = status
        self.clock = clock


RECEIVER = web.AppKey("receiver", Receiver)


def application(receiver: Receiver, token: str) -> web.Application:
    """The HTTP application."""
    app = web.Application(middlewares=[_guard(token)], client_max_size=LARGEST)
    app[RECEIVER] = receiver
    app.add_routes(
        [
            web.get("/healthz", _healthz),
            web.post("/v1/alerts", _alerts),
            web.post("/v1/findings", _findings),
            web.get("/v1/status", _status),
        ]
    )
    return app


def _guard(token: str) -> Any:
    wanted = f"Bearer {token}".encode()

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="replace")
        if request.path != "/healthz" and not hmac.compare_digest(given, wanted):
            return web.Response(status=401, text="a bearer token is wanted\n", headers={"WWW-Authenticate": "Bearer"})
        return await handler(request)

    return guard


async def _healthz(request: web.Request) -> web.Response:
    del request
    return web.json_response({"status": "ok"})


async def _alerts(request: web.Request) -> web.Response:
    """200 once the alerts are on disk: Alertmanager sends again what was not answered so."""
    receiver = request.app[RECEIVER]
    try:
        found, left = incoming.parse_webhook(await request.read(), receiver.node_of)
    except InputError as error:
        return web.json_response({"error": str(error)[:500]}, status=400)
    if not await _posted(receiver, [*found]):
        return web.json_response({"error": "the database cannot be written"}, status=503)
    return web.json_response({"taken": len(found), "ignored": left})


async def _findings(request: web.Request) -> web.Response:
    receiver = request.app[RECEIVER]
    node = receiver.node_of(request.query.get("node", ""))
    if not node:
        return web.json_response({"error": "?node= does not name a configured node"}, status=400)
    try:
        found = incoming.findings(await request.read(), node, receiver.clock())
    except InputError as error:
        return web.json_response({"error": str(error)[:500]}, status=400)
    if not await _posted(receiver, [*found]):
        return web.json_response({"error": "the database cannot be written"}, status=503)
    return web.json_response({"taken": len(found)})


async def _posted(receiver: Receiver, events: list[Inbox]) -> bool:
    try:
        await asyncio.to_thread(receiver.post, events)
    except sqlite3.Error:
        return False
    receiver.wake()
    return True


async def _status(request: web.Request) -> web.Response:
    return web.json_response(await asyncio.to_thread(request.app[RECEIVER].status))
