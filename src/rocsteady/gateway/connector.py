"""Connections to workers: HTTP/1.1 over TCP or TLS, kept open between requests.

Closing an exchange that is not finished closes its connection: that is how an engine learns that nobody waits any more.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol, cast
from urllib.parse import urlsplit

from rocsteady.gateway.health import Failure
from rocsteady.gateway.http1 import MOST_HEAD, Chunks, Head, Malformed, parse_head

HIGH_WATER = 262144
"""Bytes that wait for a slow client before the worker is held back."""
MOST_CONNECTING = 64
"""Connections being made to one worker at a time: of 2,000 at once, many would time out in the worker's backlog (128 for
uvicorn under a burst) while none is at fault."""
MOST_IDLE = 256
"""Idle connections kept for each worker."""


class Broken(Exception):
    """A try failed. ``kind``: what it says about the worker; ``stale``: a kept connection had been closed meanwhile;
    ``innocent``: it says nothing about the worker (the client's own deadline passed).
    """

    def __init__(self, kind: Failure, reason: str, *, stale: bool = False, innocent: bool = False) -> None:
        self.kind: Failure = kind
        self.reason = reason
        self.stale = stale
        self.innocent = innocent
        super().__init__(f"{kind}: {reason}")


class Exchange(Protocol):
    """One request and what comes back."""

    async def head(self) -> Head:
        """Status and headers. Raises Broken."""
        ...

    async def read(self) -> bytes:
        """What has come of the body, at least one byte; b"" at its end. Raises Broken."""
        ...

    def fail(self, error: Broken) -> None:
        """End it from outside: whoever waits gets ``error``."""
        ...

    def close(self) -> None:
        """Done with it; more than once does no harm."""
        ...


class Connector(Protocol):
    """How requests get to workers. A simulation has its own."""

    async def send(
        self, url: str, method: str, path: str, headers: bytes, body: bytes, timeout: float, *, fresh: bool = False
    ) -> Exchange:
        """Send one request; ``headers``: ready lines, each with its line end. ``timeout``: seconds for connecting.

        Raises:
            Broken: no connection.
        """
        ...

    def close(self) -> None:
        """Close what is idle."""
        ...


class Connection(asyncio.Protocol):
    """One connection, one exchange at a time."""

    __slots__ = (
        "_chunks", "_error", "_head", "_left", "_parts", "_paused", "_raw", "_release", "_size", "_waiter", "busy",
        "ended", "served", "transport",
    )  # fmt: skip

    def __init__(self, release: Callable[[Connection], None]) -> None:
        self._release = release
        self.transport: asyncio.Transport | None = None
        self.served = 0
        self.busy = False
        self.ended = True
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self._reset()

    def _reset(self) -> None:
        self._raw = b""
        self._head: Head | None = None
        self._chunks: Chunks | None = None
        self._left: int | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._error: Broken | None = None

    # from the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A connection is there."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self.ended:  # bytes nobody asked for: the next answer could not be trusted
            self._drop()
            return
        try:
            self._take(data)
        except Malformed as error:
            self._stop(Broken("reset", f"no proper HTTP: {error}"))
            self._drop()

    def _take(self, data: bytes) -> None:
        if self._head is None:
            self._raw += data
            stop = self._raw.find(b"\r\n\r\n")
            while 0 <= stop <= MOST_HEAD:
                head = parse_head(self._raw[:stop])
                data, self._raw = self._raw[stop + 4 :], b""
                if head.status >= 200:
                    break
                self._raw = data  # 1xx: the real head follows
                stop = data.find(b"\r\n\r\n")
            else:
                if len(self._raw) > MOST_HEAD:
                    raise Malformed("endless head")
                return
            self._head = head
            if head.chunked:
                self._chunks = Chunks()
            else:
                self._left = head.length
            self._wake()
            if self._left == 0:
                self._complete(data)
                return
            if not data:
                return
        if self._chunks is not None:
            part = self._chunks.feed(data)
            if part:
                self._keep(part)
            if self._chunks.done:
                self._complete(self._chunks.extra)
        elif self._left is None:
            self._keep(data)
        else:
            part = data[: self._left]
            self._left -= len(part)
            self._keep(part)
            if not self._left:
                self._complete(data[len(part) :])

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > HIGH_WATER and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def _complete(self, extra: bytes) -> None:
        self.ended = True
        if extra or self._head is None or not self._head.keep_alive:
            self._drop()
        self._wake()

    def eof_received(self) -> None:
        """Close."""

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self.transport = None
        if not self.ended:
            head = self._head
            if head is not None and not head.chunked and self._left is None and exc is None:
                self.ended = True  # a body that lasts until the end
                self._wake()
            else:
                what = "before its answer" if head is None else "in the middle of its answer"
                stale = head is None and self.served > 0
                self._stop(Broken("reset", f"connection closed {what}", stale=stale))
        self._release(self)

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _stop(self, error: Broken) -> None:
        self.ended = True
        if self._error is None:
            self._error = error
        self._wake()

    def _drop(self) -> None:
        if self.transport is not None:
            self.transport.close()
            self.transport = None

    # for the caller

    def start(self, request: bytes) -> None:
        """Send a request."""
        assert self.transport is not None
        self._reset()
        self.busy, self.ended = True, False
        self.transport.write(request)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def head(self) -> Head:
        """Status and headers."""
        while self._head is None:
            if self._error is not None:
                raise self._error
            await self._wait()
        return self._head

    async def read(self) -> bytes:
        """The next bytes of the body."""
        while not self._parts:
            if self._error is not None:
                raise self._error
            if self.ended:
                return b""
            await self._wait()
        parts, self._parts, self._size = self._parts, [], 0
        if self._paused:
            self._paused = False
            if self.transport is not None:
                self.transport.resume_reading()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def fail(self, error: Broken) -> None:
        """End it from outside."""
        if not self.ended:
            self._stop(error)
            self._drop()

    def close(self) -> None:
        """Done."""
        if not self.busy:
            return
        self.busy = False
        self.served += 1
        if not self.ended:
            self.ended = True
            self._drop()
        elif self._paused and self.transport is not None:
            self._paused = False
            self.transport.resume_reading()
        self._parts = []
        self._release(self)


class HttpConnector:
    """The real connector."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Connection]] = {}
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._targets: dict[str, tuple[str, int, bool, bytes, str]] = {}
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    def _target(self, url: str) -> tuple[str, int, bool, bytes, str]:
        found = self._targets.get(url)
        if found is None:
            parts = urlsplit(url)
            secure = parts.scheme == "https"
            port = parts.port or (443 if secure else 80)
            host = parts.hostname or ""
            name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            prefix = parts.path.rstrip("/")
            found = (host, port, secure, f" HTTP/1.1\r\nHost: {name}\r\n".encode(), prefix)
            self._targets[url] = found
        return found

    async def send(
        self, url: str, method: str, path: str, headers: bytes, body: bytes, timeout: float, *, fresh: bool = False
    ) -> Exchange:
        """Send one request."""
        host, port, secure, lines, prefix = self._target(url)
        idle = self._idle.get(url)
        connection: Connection | None = None
        while idle and not fresh:
            last = idle.pop()
            if last.transport is not None and not last.transport.is_closing():
                connection = last
                break
        if connection is None:
            connection = await self._connect(url, host, port, secure, timeout)
        start = f"{method} {prefix}{path}".encode()
        if body or method == "POST":
            headers = b"%sContent-Length: %d\r\n" % (headers, len(body))
        connection.start(b"%s%s%s\r\n%s" % (start, lines, headers, body))
        return connection

    async def _connect(self, url: str, host: str, port: int, secure: bool, timeout: float) -> Connection:
        loop = asyncio.get_running_loop()
        context: ssl.SSLContext | None = None
        if secure:
            if self._tls is None:
                self._tls = ssl.create_default_context()
            context = self._tls
        gate = self._gates.get(url)
        if gate is None:
            gate = self._gates[url] = asyncio.Semaphore(MOST_CONNECTING)
        try:
            async with gate, asyncio.timeout(timeout):
                _, connection = await loop.create_connection(
                    lambda: Connection(lambda done: self._release(url, done)), host, port, ssl=context
                )
        except TimeoutError:
            raise Broken("timeout", f"no connection within {timeout:g} s") from None
        except (OSError, ssl.SSLError) as error:
            raise Broken("connect", f"no connection: {error.strerror or error}") from None
        return connection

    def _release(self, url: str, connection: Connection) -> None:
        if connection.busy:
            return
        idle = self._idle.setdefault(url, [])
        if connection.transport is None or connection.transport.is_closing():
            if connection in idle:
                idle.remove(connection)
        elif self._closed or len(idle) >= MOST_IDLE:
            connection.transport.close()
        elif connection not in idle:
            idle.append(connection)

    def close(self) -> None:
        """Close what is idle."""
        self._closed = True
        for connections in self._idle.values():
            for connection in list(connections):
                if connection.transport is not None:
                    connection.transport.close()
        self._idle.clear()
