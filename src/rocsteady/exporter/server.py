"""The exporter over HTTP: /metrics, /healthz, /v1/gpu-health and its stream, /."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from rocsteady.exporter.exporter import Exporter
from rocsteady.exporter.exposition import CONTENT_TYPE
from rocsteady.exporter.notify import notify, watchdog_seconds
from rocsteady.exporter.pages import front_page
from rocsteady.model import InputError

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HEALTH_EVERY = 5.0
"""Seconds between two looks at the health while somebody listens to the stream."""
GLANCE_EVERY = 0.5
"""Seconds between two looks at the kernel log while somebody listens. It costs a read of a file that did not grow; what
is new there is followed by a look at the health at once, so that a listener acts within two seconds of a fault."""
BEAT = 15.0
"""Seconds after which a quiet stream gets a comment, so that proxies do not cut it."""
MOST_STREAMS = 64
OPEN_PATHS = ("/healthz",)
"""What is answered without the token: a probe has none."""
EXPORTER = web.AppKey("exporter", Exporter)


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how to serve."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    token: str | None = None


async def _in_thread(call: Callable[[], T]) -> T:
    """Run a blocking call beside the loop."""
    return await asyncio.get_running_loop().run_in_executor(None, call)


def application(exporter: Exporter, token: str | None = None) -> web.Application:
    """The HTTP application."""
    app = web.Application(middlewares=[_guard(token)] if token else [], client_max_size=4096)
    app[EXPORTER] = exporter
    app.add_routes(
        [
            web.get("/", _front),
            web.get("/metrics", _metrics),
            web.get("/healthz", _healthz),
            web.get("/v1/gpu-health", _gpu_health),
            web.get("/v1/gpu-health/stream", _stream),
        ]
    )
    return app


def _guard(token: str) -> Any:
    wanted = f"Bearer {token}".encode()

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="replace")
        if request.path not in OPEN_PATHS and not hmac.compare_digest(given, wanted):
            return web.Response(status=401, text="a bearer token is wanted\n", headers={"WWW-Authenticate": "Bearer"})
        return await handler(request)

    return guard


async def _metrics(request: web.Request) -> web.Response:
    text = await _in_thread(request.app[EXPORTER].scrape)
    response = web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    return response


async def _healthz(request: web.Request) -> web.Response:
    """200 while the exporter answers. What hangs in a collector is the collector's, and shows in its metrics."""
    return web.json_response({"status": "paused" if request.app[EXPORTER].paused else "ok"})


def _document(exporter: Exporter, younger: float) -> Callable[[], dict[str, Any]]:
    return lambda: exporter.health(younger)


async def _gpu_health(request: web.Request) -> web.Response:
    exporter = request.app[EXPORTER]
    document = await _in_thread(_document(exporter, 1.0))
    return web.Response(body=msgspec.json.encode(document), content_type="application/json")


async def _front(request: web.Request) -> web.Response:
    exporter = request.app[EXPORTER]
    document = await _in_thread(_document(exporter, HEALTH_EVERY))
    return web.Response(text=front_page(document, exporter.notes), content_type="text/html")


async def _stream(request: web.Request) -> web.StreamResponse:
    """The document now, then each time that a state, reason or advice changes."""
    exporter = request.app[EXPORTER]
    if exporter.streams >= MOST_STREAMS:
        return web.Response(status=503, text="too many listeners\n")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    exporter.streams += 1
    try:
        async for event in _changes(exporter):
            await response.write(event)
    except ConnectionError:
        pass  # the listener went away
    finally:
        exporter.streams -= 1
    return response


async def _changes(exporter: Exporter) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    shown: list[object] | None = None
    number, spoke = 0, loop.time()
    told, looked = await _in_thread(exporter.glance), float("-inf")
    while True:
        events = await _in_thread(exporter.glance)
        if events == told and loop.time() - looked < HEALTH_EVERY:
            await asyncio.sleep(GLANCE_EVERY)
            continue
        fresh = events != told
        told, looked = events, loop.time()
        document = await _in_thread(_document(exporter, 0.0 if fresh else HEALTH_EVERY))
        digest = [(g["bdf"], g["partition"], g["state"], g["reasons"], g["advice"]) for g in document["gpus"]]
        if digest != shown:
            number += 1
            shown, spoke = list(digest), loop.time()
            yield b"id: %d\nevent: gpu-health\ndata: " % number + msgspec.json.encode(document) + b"\n\n"
        elif loop.time() - spoke >= BEAT:
            spoke = loop.time()
            yield b": still here\n\n"


def tls(serving: Serving) -> ssl.SSLContext | None:
    """The TLS context, where a certificate was given.

    Raises:
        InputError: the files cannot be used.
    """
    if serving.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(serving.certificate, serving.key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{serving.certificate}: {error}") from error
    return context


async def serve(exporter: Exporter, serving: Serving, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. SIGUSR1 lets go of the node, SIGUSR2 takes it up again."""
    runner = web.AppRunner(
        application(exporter, serving.token), access_log=None, handle_signals=False, shutdown_timeout=2.0
    )
    await runner.setup()
    site = web.TCPSite(runner, serving.host, serving.port, ssl_context=tls(serving))
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise InputError(f"--listen {serving.host}:{serving.port}: {error.strerror}") from error
    loop = asyncio.get_running_loop()
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: loop.run_in_executor(None, exporter.pause))
    loop.add_signal_handler(signal.SIGUSR2, exporter.resume)
    address = runner.addresses[0] if runner.addresses else (serving.host, serving.port)
    ready(f"{'https' if serving.certificate else 'http'}://{address[0]}:{address[1]}/metrics")
    notify("READY=1")
    beat = watchdog_seconds()
    while not end.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(end.wait(), beat)
        notify("WATCHDOG=1")
    notify("STOPPING=1")
    await runner.cleanup()
    exporter.close()


def run(exporter: Exporter, serving: Serving, ready: Callable[[str], None]) -> None:
    """Serve on an event loop of its own: uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(serve(exporter, serving, ready))
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(exporter, serving, ready))
