"""Drives the load: starts requests when they are due, watches what is to be watched, and ends in time."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime

import msgspec

from rocsteady.bench.arrivals import Load, due_times
from rocsteady.bench.lengths import Ask
from rocsteady.bench.samples import Energy, Reading, Run, Sample
from rocsteady.model import InputError

LATE = 0.05
"""A request sent later than this after it was due says that the client is the bottleneck. wrk2 and vLLM's own client
have no such count; 50 ms is ours: well below the first-token limits of MLPerf (450 ms and more)."""
MOST_OPEN = 20_000
"""Requests open at once. An open loop against a server that stands still would otherwise grow without end."""
Asker = Callable[[Ask, float], Awaitable[Sample]]
"""Makes one request that is due at the given second, and returns its sample."""
Watcher = Callable[[], Awaitable[Reading | None]]


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """What is to be run. seconds: of arrivals; warmup: of those, the part that is not counted; requests: at most."""

    load: Load
    seconds: float
    warmup: float = 0.0
    requests: int | None = None
    watch_every: float = 5.0

    def checked(self) -> Plan:
        """Itself.

        Raises:
            InputError: the times do not fit together.
        """
        if not 0 <= self.warmup < self.seconds:
            raise InputError(f"--warmup {self.warmup:g}: less than the {self.seconds:g} s of the run was wanted")
        return self


class Driver:
    """Runs one plan. ``clock`` gives seconds after the start; ``done`` is told of each finished request."""

    def __init__(
        self,
        plan: Plan,
        ask: Asker,
        asks: Iterator[Ask],
        rng: random.Random,
        clock: Callable[[], float],
        done: Callable[[Sample], None] = lambda _sample: None,
    ) -> None:
        self._plan = plan.checked()
        self._ask = ask
        self._asks = iter(asks)
        self._rng = rng
        self._clock = clock
        self._done = done
        self._open: set[asyncio.Task[Sample]] = set()
        self.samples: list[Sample] = []
        self.lagging = 0
        self.started = 0

    async def run(self) -> tuple[float, float]:
        """Run to the end; the steady window in seconds. Cancelling it keeps the samples that are there."""
        try:
            if self._plan.load.kind == "users":
                await self._closed()
            else:
                await self._opened()
            await asyncio.gather(*self._open)
        finally:
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
        end = min(self._plan.seconds, max((sample.due for sample in self.samples), default=0.0))
        return self._plan.warmup, max(end, self._plan.warmup)

    def _next(self) -> Ask | None:
        if self._plan.requests is not None and self.started >= self._plan.requests:
            return None
        ask = next(self._asks, None)
        if ask is not None:
            self.started += 1
        return ask

    async def _opened(self) -> None:
        load = self._plan.load
        times = itertools.repeat(0.0) if load.kind == "trace" else due_times(load, self._plan.seconds, self._rng)
        for drawn in times:
            ask = self._next()
            if ask is None:
                return
            due = (ask.at or 0.0) / load.value if load.kind == "trace" else drawn
            if due >= self._plan.seconds:
                return
            wait = due - self._clock()
            if wait > 0:
                await asyncio.sleep(wait)
            elif -wait > LATE:
                self.lagging += 1
            if len(self._open) >= MOST_OPEN:
                await asyncio.wait(self._open, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.create_task(self._one(ask, due))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    async def _closed(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(int(self._plan.load.value)):
                group.create_task(self._user())

    async def _user(self) -> None:
        while (now := self._clock()) < self._plan.seconds:
            ask = self._next()
            if ask is None:
                return
            sample = await self._one(ask, now)
            if not sample.good:
                await asyncio.sleep(BACK_OFF)

    async def _one(self, ask: Ask, due: float) -> Sample:
        sample = await self._ask(ask, due)
        self.samples.append(sample)
        self._done(sample)
        return sample


BACK_OFF = 0.1
"""Seconds a user of the closed loop waits after a failure: a server that is down is not asked ten thousand times a
second. Shorter than any failure that people notice."""


async def execute(
    driver: Driver, watch: Watcher | None, every: float, energy: Callable[[], Awaitable[object]] | None, warmup: float
) -> tuple[tuple[float, float], list[Reading], list[object], bool]:
    """Run the driver with its watchers: the window, readings, two energy readings, and whether it was interrupted."""
    readings: list[Reading] = []
    energies: list[object] = []

    async def watching() -> None:
        while watch is not None:
            reading = await watch()
            if reading is not None:
                readings.append(reading)
            await asyncio.sleep(every)

    async def metering() -> None:
        if energy is not None:
            await asyncio.sleep(warmup)
            energies.append(await energy())

    side = [asyncio.create_task(watching()), asyncio.create_task(metering())]
    interrupted = False
    try:
        window = await driver.run()
    except asyncio.CancelledError:
        interrupted = True
        last = max((sample.due for sample in driver.samples), default=0.0)
        window = (min(warmup, last), last)
    if energy is not None and not interrupted:
        energies.append(await energy())
    for task in side:
        task.cancel()
    await asyncio.gather(*side, return_exceptions=True)
    return window, readings, energies, interrupted


def started_now() -> tuple[str, Callable[[], float]]:
    """RFC 3339 of now, and a clock that counts from now."""
    begin = time.monotonic()
    stamp = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return stamp, lambda: time.monotonic() - begin


def made_run(
    driver: Driver, outcome: tuple[tuple[float, float], list[Reading], list[object], bool], energy: Energy | None,
    **about: object,
) -> Run:  # fmt: skip
    """The run as it is saved."""
    window, readings, _, interrupted = outcome
    return Run(
        window=window, samples=sorted(driver.samples, key=lambda s: s.due), energy=energy, readings=readings,
        interrupted=interrupted, lagging=driver.lagging, **about,  # type: ignore[arg-type]
    )  # fmt: skip
