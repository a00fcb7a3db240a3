"""Looks at the workers: probe, heartbeat, canary, and who has been waiting too long.

A ticker goes over all attempts a few times a second; requests have no timers of their own. A worker from which nothing
has come for ``timeouts.suspect`` seconds while somebody waits has ``timeouts.verdict`` seconds to prove that it is
alive: a byte on any stream, a counter that moves, or a canary token. Without proof it is frozen, and what waits there
goes elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from rocsteady.gateway.config import Config
from rocsteady.gateway.connector import Broken, Connector
from rocsteady.gateway.http1 import Head
from rocsteady.gateway.interfaces import COMPLETIONS, EMBEDDINGS, Clock
from rocsteady.gateway.progress import MOST_TEXT, Sample, moved, parse_metrics
from rocsteady.gateway.routing import Router
from rocsteady.gateway.tally import Tally
from rocsteady.gateway.worker import Attempt, Load, Worker

TICK = 0.25
"""Seconds between two rounds: small against the 1.5 s of a suspicion, and 2,000 streams cost a few ms a round."""
LOOK = 0.3
"""Seconds between two looks at the counters during a verdict: four or five looks in 1.5 s."""


class _Watched:
    """What the watcher remembers of one worker."""

    __slots__ = ("beat_at", "canary_at", "canary_off", "moved_at", "probe_at", "running", "sample", "slow")

    def __init__(self, now: float, spread: float) -> None:
        self.probe_at = now + spread
        self.beat_at = now + spread
        self.canary_at = 0.0
        self.canary_off = False
        self.moved_at = 0.0
        self.sample: Sample | None = None
        self.slow = True  # nothing was ever answered: kernels may be compiled first
        self.running: set[str] = set()


class Watcher:
    """Watches all workers of a router."""

    def __init__(
        self, config: Config, router: Router, connector: Connector, clock: Clock, random: Callable[[], float],
        tally: Tally,
    ) -> None:  # fmt: skip
        self.config = config
        self._router = router
        self._connector = connector
        self._clock = clock
        self._random = random
        self._tally = tally
        self._watched: dict[Worker, _Watched] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def round(self) -> None:
        """One round of the ticker."""
        now = self._clock.now()
        workers = self._router.workers.values()
        for worker in workers:
            watched = self._watched.get(worker)
            if watched is None:
                spread = self._random() * min(1.0, self.config.probe.every)
                watched = self._watched[worker] = _Watched(now, spread)
            self._look(worker, watched, now)
        if len(self._watched) > len(workers):
            for worker in [w for w in self._watched if w.removed]:
                if worker.attempts:
                    self._waiting(worker, self._watched[worker], now)
                else:
                    del self._watched[worker]

    def _look(self, worker: Worker, watched: _Watched, now: float) -> None:
        probe = self.config.probe
        health = worker.health
        health.tick(now)
        if now >= watched.probe_at:
            watched.probe_at = now + probe.every * (0.9 + 0.2 * self._random())
            self._spawn(watched, "probe", self._probe(worker))
        if worker.spec.metrics and now >= watched.beat_at:
            busy = bool(worker.attempts)
            watched.beat_at = now + (probe.busy if busy else probe.every)
            self._spawn(watched, "beat", self._beat(worker, watched))
        elif worker.attempts and watched.beat_at > now + probe.busy:
            watched.beat_at = now  # it was idle until now
        if "canary" not in watched.running and self._canary_due(worker, watched, now):
            watched.canary_at = now
            self._spawn(watched, "canary", self._trial(worker, watched))
        if worker.attempts:
            self._waiting(worker, watched, now)

    def _canary_due(self, worker: Worker, watched: _Watched, now: float) -> bool:
        probe, health = self.config.probe, worker.health
        if worker.drained:
            return False
        if health.state == "half-open":
            return health.take_trial()
        if watched.canary_off or worker.spec.canary == "none" or health.state == "ejected":
            return False
        if health.state in ("new", "suspect"):
            return now - watched.canary_at >= probe.busy
        quiet = now - max(worker.last_bytes, watched.moved_at, watched.canary_at)
        return bool(probe.canary) and quiet >= probe.canary

    def _spawn(self, watched: _Watched, what: str, work: Coroutine[Any, Any, None]) -> None:
        if what in watched.running:
            work.close()
            return
        watched.running.add(what)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            watched.running.discard(what)
            if not task.cancelled() and task.exception() is not None:
                self._tally.add("watch-error", what)

        task.add_done_callback(done)

    async def close(self) -> None:
        """End what is out."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            with contextlib.suppress(asyncio.CancelledError):
                await task

    # requests of our own

    async def _ask(
        self, worker: Worker, method: str, path: str, body: bytes, limit: float, most: int = 65536
    ) -> tuple[Head, bytes]:
        """One request of ours. Raises Broken, also when ``limit`` seconds are over."""
        lines = b"X-Rocsteady-Watch: 1\r\n"
        if body:
            lines += b"Content-Type: application/json\r\n"
        if worker.token:
            lines += b"Authorization: Bearer %s\r\n" % worker.token.encode()
        connect = min(limit, self.config.timeouts.connect)
        exchange = await self._connector.send(worker.spec.url, method, path, lines, body, connect, fresh=True)
        timer = asyncio.get_running_loop().create_task(self._clock.sleep(limit))
        timer.add_done_callback(
            lambda done: None if done.cancelled() else exchange.fail(Broken("timeout", f"no answer in {limit:g} s"))
        )
        try:
            head = await exchange.head()
            parts: list[bytes] = []
            size = 0
            while part := await exchange.read():
                parts.append(part)
                size += len(part)
                if size > most:
                    raise Broken("status", f"{path}: more than {most} bytes")
            return head, b"".join(parts)
        finally:
            timer.cancel()
            exchange.close()

    async def _probe(self, worker: Worker) -> None:
        timeout = self.config.probe.timeout
        try:
            head, _ = await self._ask(worker, "GET", "/health", b"", timeout)
        except Broken as error:
            worker.health.probe(False, f"/health: {error.reason}", self._clock.now())
            return
        good = head.status < 400 or head.status in (404, 405)  # an engine without this route says nothing by it
        worker.health.probe(good, f"/health: HTTP {head.status}", self._clock.now())

    async def _beat(self, worker: Worker, watched: _Watched) -> None:
        with contextlib.suppress(Broken):
            await self._counters(worker, watched)

    async def _counters(self, worker: Worker, watched: _Watched) -> None:
        head, text = await self._ask(worker, "GET", "/metrics", b"", self.config.probe.timeout, MOST_TEXT)
        if head.status != 200:
            return
        sample = parse_metrics(text)
        now = self._clock.now()
        if moved(watched.sample, sample):
            watched.moved_at = now
        watched.sample = sample
        worker.load = Load(now, sample.running, sample.waiting, sample.kv_usage)

    async def _canary(self, worker: Worker, limit: float) -> bool | None:
        """One token. True: it came. None: this worker cannot be asked so. Raises Broken."""
        model = worker.spec.upstream_model
        if worker.spec.canary == "embedding":
            path, body = EMBEDDINGS, msgspec.json.encode({"model": model, "input": "a"})
        else:
            path = COMPLETIONS
            body = msgspec.json.encode({"model": model, "prompt": "a", "max_tokens": 1, "temperature": 0})
        head, text = await self._ask(worker, "POST", path, body, limit)
        if head.status < 300 and text:
            return True
        if head.status in (400, 404, 405, 422, 429):
            return None
        raise Broken("misconfigured" if head.status in (401, 403) else "status", f"canary: HTTP {head.status}")

    async def _trial(self, worker: Worker, watched: _Watched) -> None:
        """A canary, and what it means."""
        probe, health = self.config.probe, worker.health
        first = watched.slow
        limit = probe.canary_first if first else probe.canary_timeout
        before, bytes_before = watched.sample, worker.last_bytes
        self._tally.add("canary", worker.name)
        try:
            if worker.spec.canary == "none" or watched.canary_off:
                head, _ = await self._ask(worker, "GET", "/health", b"", probe.timeout)
                good: bool | None = True if head.status < 400 else None
            else:
                good = await self._canary(worker, limit)
        except Broken as error:
            now = self._clock.now()
            if error.kind == "timeout":
                alive = worker.last_bytes != bytes_before
                with contextlib.suppress(Broken):
                    await self._counters(worker, watched)
                if alive or moved(before, watched.sample):
                    health.untried()
                    return  # busy, not frozen
                self._frozen(worker, f"no canary token in {limit:g} s and no counter moved")
            else:
                health.failure(error.kind, error.reason, now)
            return
        now = self._clock.now()
        if good:
            watched.slow = False
            watched.moved_at = now
            health.proof(now)
            return
        health.untried()
        if good is None and worker.spec.canary != "none":
            watched.canary_off = True
            if health.state == "half-open":
                health.proof(now)  # it answers, and cannot be asked for more

    # who waits too long

    def _waiting(self, worker: Worker, watched: _Watched, now: float) -> None:
        timeouts = self.config.timeouts
        alive_at = max(worker.last_bytes, watched.moved_at)
        prompts = 0
        oldest: float | None = None
        for attempt in list(worker.attempts):
            if self._over(attempt, now):
                continue
            if not attempt.first:
                prompts += attempt.call.prompt_tokens
            if oldest is None or attempt.last < oldest:
                oldest = attempt.last
        if oldest is None:
            return
        patience = timeouts.suspect + prompts / timeouts.prefill_tokens_per_second
        if now - max(oldest, alive_at) > patience and "verdict" not in watched.running:
            self._spawn(watched, "verdict", self._verdict(worker, watched))

    def _over(self, attempt: Attempt, now: float) -> bool:
        """End a try that is over its limit."""
        timeouts = self.config.timeouts
        deadline = attempt.call.deadline
        error: Broken | None = None
        if now - attempt.sent > timeouts.total or (deadline is not None and now > deadline):
            error = Broken("reset", "the time for this request is over", innocent=True)
        elif not attempt.streams:
            return False
        elif not attempt.first and now - attempt.sent > timeouts.first_token:
            error = Broken("timeout", f"no token in {timeouts.first_token:g} s")
        elif attempt.first and now - attempt.last > timeouts.between_tokens:
            error = Broken("timeout", f"no further token in {timeouts.between_tokens:g} s")
        if error is None:
            return False
        attempt.exchange.fail(error)
        return True

    async def _verdict(self, worker: Worker, watched: _Watched) -> None:
        """Prove that you are alive."""
        clock = self._clock
        start = clock.now()
        limit = self.config.timeouts.verdict
        worker.health.doubt(f"nothing came for {self.config.timeouts.suspect:g} s", start)
        bytes_before, before = worker.last_bytes, watched.sample
        if not worker.spec.metrics or (before is not None and before.moved is None):
            limit = max(limit, self.config.probe.canary_timeout)  # only the canary can tell: it gets longer
        proven: list[str] = []
        canary = asyncio.get_running_loop().create_task(self._prove(worker, limit, proven))
        try:
            while not proven and clock.now() - start < limit:
                await clock.sleep(LOOK)
                if worker.last_bytes != bytes_before:
                    proven.append("bytes")
                elif worker.spec.metrics and not proven:
                    with contextlib.suppress(Broken):
                        await self._counters(worker, watched)
                    if moved(before, watched.sample):
                        proven.append("counters")
                    before = before or watched.sample
        finally:
            canary.cancel()
        now = clock.now()
        if proven:
            watched.moved_at = now
            worker.health.proof(now)
            self._tally.add("late-but-alive", worker.name)
        else:
            self._frozen(worker, f"no byte, no counter and no canary token in {now - start:.1f} s")

    async def _prove(self, worker: Worker, limit: float, proven: list[str]) -> None:
        if worker.spec.canary == "none":
            return
        with contextlib.suppress(Broken):
            if await self._canary(worker, limit):
                proven.append("canary")

    def _frozen(self, worker: Worker, reason: str) -> None:
        """Out, and what waits there goes elsewhere, if there is an elsewhere."""
        now = self._clock.now()
        self._tally.add("worker-failure", worker.name, "frozen")
        worker.health.failure("frozen", reason, now)
        for attempt in list(worker.attempts):
            picks = self._router.candidates(attempt.call, [(worker, reason)])
            if any(pick.worker is not worker and not pick.worker.blocked for pick in picks):
                attempt.exchange.fail(Broken("frozen", reason))
