"""Follows the gpu-health documents: a look every few seconds, and the stream for what changes in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from rocsteady.heal.view import NodeView, parse_health
from rocsteady.model import InputError

LARGEST = 4 << 20
"""Bytes of a document: 64 partitions have about 60 KiB."""
ANSWER = 5.0
"""Seconds that an exporter gets for its document; its own deadline for a scrape is 4."""
QUIET = 45.0
"""Seconds without a byte after which the stream is opened anew: it sends a comment every 15."""
AGAIN = 1.0
Taken = Callable[[NodeView], None]


class Follower:
    """One node."""

    def __init__(
        self, name: str, url: str, token: str | None, every: float, taken: Taken, clock: Callable[[], float]
    ) -> None:  # fmt: skip
        self._name = name
        self._url = url.rstrip("/") + "/v1/gpu-health"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._every = every
        self._taken = taken
        self._clock = clock
        self.error = ""

    async def run(self) -> None:
        """Until cancelled."""
        async with (
            aiohttp.ClientSession(headers=self._headers, trust_env=False) as session,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(self._poll(session))
            group.create_task(self._stream(session))

    def _take(self, data: bytes) -> None:
        view = parse_health(data, self._clock())
        if view.node != self._name:
            # the exporter names its node as the host does; ours is the name in the configuration
            view = NodeView(
                node=self._name, boot_id=view.boot_id, at=view.at, taken_at=view.taken_at, devices=view.devices
            )  # fmt: skip
        self._taken(view)
        self.error = ""

    async def _poll(self, session: aiohttp.ClientSession) -> None:
        limit = aiohttp.ClientTimeout(total=ANSWER)
        while True:
            try:
                async with session.get(self._url, timeout=limit) as answer:
                    if answer.status != 200:
                        raise InputError(f"{self._url}: HTTP {answer.status}")
                    self._take(await answer.content.read(LARGEST))
            except (aiohttp.ClientError, TimeoutError, OSError, InputError) as error:
                self.error = f"{type(error).__name__}: {error}"
            await asyncio.sleep(self._every)

    async def _stream(self, session: aiohttp.ClientSession) -> None:
        limit = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER, sock_read=QUIET)
        while True:
            try:
                async with session.get(self._url + "/stream", timeout=limit, read_bufsize=LARGEST) as answer:
                    if answer.status == 200:
                        async for line in answer.content:
                            if line.startswith(b"data: "):
                                self._take(line.removeprefix(b"data: "))
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError, InputError) as error:
                self.error = f"{type(error).__name__}: {error}"
            await asyncio.sleep(AGAIN)
