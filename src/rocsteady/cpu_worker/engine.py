"""Runs generations of an executor in threads: so many at a time, a bounded number waiting, stopped when nobody listens."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec

from rocsteady.cpu_worker.executor import Executor, Token
from rocsteady.cpu_worker.requests import BadRequest, Wanted
from rocsteady.cpu_worker.stops import StopFilter


class Piece(msgspec.Struct, frozen=True):
    """What one token adds to an answer. ``finish``: stop or length, at the last one."""

    text: str
    tokens: list[int]
    finish: str | None = None
    stop: str | None = None


class Busy(BadRequest):
    """Too many wait already."""

    def __init__(self) -> None:
        super().__init__("the CPU worker is busy", None, 429)


class Engine:
    """One executor and its threads."""

    def __init__(self, executor: Executor, concurrency: int, most_waiting: int) -> None:
        self.executor = executor
        self.running = 0
        self.waiting = 0
        self._most_waiting = most_waiting
        self._slots = asyncio.Semaphore(concurrency)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="generate")

    async def run(self, wanted: Wanted) -> AsyncGenerator[Piece, None]:
        """The pieces of an answer. Closing it ends the work after the token that is under way.

        Raises:
            Busy: no slot is free and enough wait.
        """
        if self._slots.locked() and self.waiting >= self._most_waiting:
            raise Busy
        self.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            async with contextlib.aclosing(self._tokens(wanted)) as tokens:
                async for piece in _pieces(tokens, wanted, self.executor.eos):
                    yield piece
        finally:
            self.running -= 1
            self._slots.release()

    async def _tokens(self, wanted: Wanted) -> AsyncGenerator[Token, None]:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Token | Exception | None] = asyncio.Queue()
        stop = threading.Event()

        def put(item: Token | Exception | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            tokens: Iterator[Token] | None = None
            try:
                tokens = self.executor.generate(wanted.prompt, wanted.most, wanted.sampling)
                for token in tokens:
                    if stop.is_set():
                        break
                    put(token)
                put(None)
            except Exception as error:  # whatever the runtime raises belongs to this request alone
                put(error)
            finally:
                close = getattr(tokens, "close", None)
                if close is not None:
                    close()

        done = loop.run_in_executor(self._pool, work)
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            stop.set()
            await asyncio.shield(done)

    def close(self) -> None:
        """End the threads and let go of the model."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.executor.close()


async def _pieces(
    tokens: AsyncGenerator[Token, None], wanted: Wanted, eos: frozenset[int]
) -> AsyncGenerator[Piece, None]:
    """Stop strings, end tokens and the limit, over the raw tokens; the last piece says how it ended."""
    stops = StopFilter(wanted.stops, wanted.include_stop)
    count = 0
    async for token in tokens:
        count += 1
        if token.id in eos and not wanted.ignore_eos:
            yield Piece(stops.end(), [token.id], "stop")
            return
        text = stops.step(token.text)
        if stops.found is not None:
            yield Piece(text, [token.id], "stop", stops.found)
            return
        if count >= wanted.most:
            yield Piece(text + stops.end(), [token.id], "length")
            return
        yield Piece(text, [token.id])
    yield Piece(stops.end(), [], "stop")  # the runtime ended it without a token that says so
