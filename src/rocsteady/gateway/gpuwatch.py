"""Listens to the GPU health of each node: the stream, and while it is away the document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from rocsteady.gateway.config import GpuHealth, read_secret
from rocsteady.gateway.connector import Broken, Connector
from rocsteady.gateway.gpus import UNKNOWN, Document, parse_document, verdict
from rocsteady.gateway.interfaces import Clock
from rocsteady.gateway.routing import Router
from rocsteady.gateway.tally import Tally
from rocsteady.model import InputError

STREAM = "/v1/gpu-health/stream"
MOST_EVENT = 4_194_304
"""Bytes of one document; 64 partitions with their processes are some 60 KiB."""
AGAIN = 1.0
"""Seconds before the next try; a node that restarts its exporter is back in a few seconds."""
QUIET = 40.0
"""Seconds without a byte after which the stream counts as dead: the exporter sends a comment every 15 s."""


class GpuWatch:
    """One node's GPU health, applied to the workers of that node."""

    def __init__(
        self, source: GpuHealth, router: Router, connector: Connector, clock: Clock, tally: Tally,
        changed: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._source = source
        self._router = router
        self._connector = connector
        self._clock = clock
        self._tally = tally
        self._changed = changed
        self._document: Document | None = None
        self._at = 0.0
        self.problem = "not read yet"

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._listen()
            except Broken as error:
                self.problem = error.reason
            except (msgspec.DecodeError, InputError) as error:
                self.problem = str(error)
            self._tally.add("gpu-health-lost", self._source.node)
            await self._clock.sleep(AGAIN)

    async def _listen(self) -> None:
        lines = b"Accept: text/event-stream\r\n"
        if self._source.token_file:
            lines += b"Authorization: Bearer %s\r\n" % read_secret(self._source.token_file).encode()
        exchange = await self._connector.send(self._source.url, "GET", STREAM, lines, b"", 2.0, fresh=True)
        rest = b""
        try:
            async with asyncio.timeout(10.0):
                head = await exchange.head()
            if head.status != 200:
                raise Broken("status", f"{STREAM}: HTTP {head.status}")
            while True:
                async with asyncio.timeout(QUIET):
                    data = await exchange.read()
                if not data:
                    raise Broken("reset", "the stream ended")
                rest += data
                self._at = self._clock.now()
                *events, rest = rest.split(b"\n\n")
                if len(rest) > MOST_EVENT:
                    raise Broken("status", "an event without an end")
                for event in events:
                    for line in event.splitlines():
                        if line.startswith(b"data:"):
                            self.take(parse_document(line[5:].strip()))
        except TimeoutError:
            raise Broken("timeout", "nothing came on the stream") from None
        finally:
            exchange.close()

    def take(self, document: Document) -> None:
        """A new document."""
        self._document = document
        self._at = self._clock.now()
        self.problem = ""
        self.apply()

    def apply(self) -> None:
        """Put what is known onto the workers of this node; a document that got old says nothing any more."""
        document = self._document
        node = self._source.node or (document.node if document is not None else "")
        old = document is None or self._clock.now() - self._at > self._source.stale_seconds
        changed = False
        for worker in self._router.workers.values():
            if worker.spec.node != node or not worker.spec.gpus:
                continue
            found = UNKNOWN if old or document is None else verdict(worker.spec, document)
            changed = changed or (worker.gpu_state, worker.gpu_advice) != (found.state, found.advice)
            worker.gpu_state, worker.gpu_advice, worker.gpu_reason = found.state, found.advice, found.reason
            worker.gpu_memory_ratio = found.memory_ratio
        if changed:
            self._changed()
