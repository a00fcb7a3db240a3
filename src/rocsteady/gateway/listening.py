"""The listening side of one process: sockets, limits per connection, signals, drain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from rocsteady.gateway.admin import Admin
from rocsteady.gateway.config import Config, Limits, read_secret
from rocsteady.gateway.runtime import Runtime
from rocsteady.gateway.server import Frontend
from rocsteady.model import InputError

BACKLOG = 4096
"""Connections that wait to be accepted; the kernel cuts it to net.core.somaxconn."""
PARENT_EVERY = 2.0
"""Seconds between two looks whether the supervisor still lives."""


class Guarded(RequestHandler):
    """A client's connection that has to send its first head in time, and is dropped when there are too many."""

    head_seconds = 30.0
    most = 10_000

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came."""
        super().connection_made(transport)
        manager = self._manager
        if manager is not None and len(manager.connections) > self.most:
            self.force_close()
            return
        self._loop.call_later(self.head_seconds, self._head_due)

    def _head_due(self) -> None:
        if self._request_count == 0:
            self.force_close()


def make_server(frontend: Frontend, limits: Limits) -> web.Server:
    """aiohttp's low-level server with our limits."""
    settings = {
        "keepalive_timeout": limits.idle_seconds, "access_log": None, "max_line_size": limits.head_bytes,
        "max_field_size": limits.head_bytes, "max_headers": limits.head_count, "auto_decompress": False,
        "lingering_time": 0.0,
    }  # fmt: skip

    class Connection(Guarded):
        head_seconds = limits.head_seconds
        most = limits.connections

    class Server(web.Server):
        def __call__(self) -> RequestHandler:
            return Connection(self, loop=self._loop, **cast(Any, settings))

    def request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, protocol._loop, client_max_size=limits.body_bytes
        )

    return Server(frontend.handle, request_factory=request, handler_cancellation=True)


def listen(config: Config) -> tuple[str, int]:
    """Address and port of the configuration.

    Raises:
        InputError: it is none.
    """
    host, _, port = config.listen.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise InputError(f"listen = {config.listen!r}: HOST:PORT was wanted")
    return host.strip("[]") or "0.0.0.0", int(port)


def open_socket(host: str, port: int) -> socket.socket:
    """A listening socket that shares its port.

    Raises:
        InputError: the address cannot be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"listen {host}:{port}: {error.strerror}") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise InputError(f"listen {host}:{port}: {error.strerror}") from None
    return made


def tls(certificate: str, key: str) -> ssl.SSLContext | None:
    """The TLS context, where a certificate is configured.

    Raises:
        InputError: the files cannot be used.
    """
    if not certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key or None)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{certificate}: {error}") from None
    return context


class Serving:
    """A runtime with its sockets."""

    def __init__(self, runtime: Runtime, reload: Callable[[], str] | None = None) -> None:
        self.runtime = runtime
        path = runtime.config.admin_token_file
        token = read_secret(path) if path else ""
        self._admin = Admin(runtime, token, reload or runtime.reload)
        self._runner: web.ServerRunner | None = None
        self._sites: list[web.SockSite] = []

    async def start(self, sockets: list[socket.socket]) -> None:
        """Accept connections."""
        runtime = self.runtime
        context = tls(runtime.config.tls_cert, runtime.config.tls_key)
        server = make_server(Frontend(runtime, self._admin.handle), runtime.config.limits)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        for made in sockets:
            site = web.SockSite(self._runner, made, ssl_context=context, backlog=BACKLOG)
            await site.start()
            self._sites.append(site)
        runtime.start()
        if runtime.siblings is not None:
            await runtime.siblings.listen(runtime.figures)

    async def stop(self, drain: float | None = None) -> int:
        """Stop accepting, let open requests end, close. Returns how many did not end in time."""
        for site in self._sites:
            await site.stop()
        left = await self.runtime.stop(drain)
        if self._runner is not None:
            await self._runner.cleanup()
        if self.runtime.siblings is not None:
            self.runtime.siblings.close()
        return left


async def serve(
    serving: Serving, sockets: list[socket.socket], ready: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT, or until the supervisor is gone. SIGHUP reads the configuration again."""
    await serving.start(sockets)
    loop = asyncio.get_running_loop()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)

    def again() -> None:
        trouble = serving.runtime.reload()
        say(f"configuration not taken: {trouble}" if trouble else "configuration read again")

    loop.add_signal_handler(signal.SIGHUP, again)
    ready()
    parent = os.getppid()
    while not end.is_set() and os.getppid() == parent:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(end.wait(), PARENT_EVERY)
    left = await serving.stop()
    if left:
        say(f"{left} requests did not end within the drain time")
