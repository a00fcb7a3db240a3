"""One gateway process: everything put together, and what runs beside the requests."""

from __future__ import annotations

import asyncio
import contextlib
import random as random_module
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

from rocsteady.gateway.accesslog import AccessLog
from rocsteady.gateway.admission import BudgetAdmission
from rocsteady.gateway.admission_rules import admission_of
from rocsteady.gateway.clock import SystemClock
from rocsteady.gateway.config import Config, GpuHealth, keys, load
from rocsteady.gateway.connector import Connector, HttpConnector
from rocsteady.gateway.dispatch import Dispatcher, Outcome
from rocsteady.gateway.gpuwatch import GpuWatch
from rocsteady.gateway.idempotency import Idempotency
from rocsteady.gateway.interfaces import Admission, Call, Clock, OpenRelay, Relay
from rocsteady.gateway.lazy import LazyContinuation
from rocsteady.gateway.plain import PlainRelay
from rocsteady.gateway.registry import Registry
from rocsteady.gateway.routing import Router
from rocsteady.gateway.siblings import Siblings
from rocsteady.gateway.store import Store
from rocsteady.gateway.tally import Tally, expose
from rocsteady.gateway.watch import TICK, Watcher
from rocsteady.gateway.worker import Worker
from rocsteady.model import InputError, RocsteadyError

STATE_EVERY = 0.5
"""Seconds between two looks at what other processes wrote into the state file."""
TIDY_EVERY = 60.0
DRAIN_EVERY = 0.05


class Runtime:
    """State of one process. ``clock``, ``connector`` and ``dice`` may be those of a simulation."""

    def __init__(
        self, config: Config, *, path: Path | None = None, clock: Clock | None = None, connector: Connector | None = None,
        dice: random_module.Random | None = None, admission: Admission | None = None,
        open_relay: OpenRelay | None = None, siblings: Siblings | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self.path = path
        self.keys = keys(config)
        self.clock: Clock = clock or SystemClock()
        self.connector: Connector = connector or HttpConnector()
        self._dice = dice or random_module.Random()
        self.random_bits: Callable[[int], int] = self._dice.getrandbits
        self.tally = Tally()
        self.log = AccessLog(config.access_log)
        self.store = Store(config.state)
        self.siblings = siblings
        owner = "0" if siblings is None else str(siblings.process)
        self.idempotency = Idempotency(self.store, owner, self.clock.wall())
        self.router = Router(config.model, self._dice.random)
        self.registry = Registry(self.router, self.store, config.health, self.clock.now)
        self.budgets: BudgetAdmission | None = None
        if admission is None:
            rules, guards = admission_of(config, path)
            admission = self.budgets = BudgetAdmission(rules, self.clock, guards, config.processes)
        self.admission = admission
        self.dispatcher = Dispatcher(
            config, self.router, self.admission, self.connector, self.clock, self._dice.random,
            open_relay or self._open_relay, self.tally,
        )  # fmt: skip
        self.watcher = Watcher(config, self.router, self.connector, self.clock, self._dice.random, self.tally)
        self.stopping = False
        self.open_calls = 0
        self.started_wall = self.clock.wall()
        self.changes: list[dict[str, object]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.gpu_watches: list[GpuWatch] = []
        self.registry.configure(config)

    def _open_relay(self, call: Call, worker: Worker) -> Relay:
        del worker
        return LazyContinuation(call.path, call.body) if self.config.continuation else PlainRelay(call)

    # life

    def start(self) -> None:
        """Start what runs beside the requests."""
        self._tasks = [self._task(self._ticker()), self._task(self._states())]
        for source in self.config.source:
            self._tasks.append(self._task(self._sources(source.kind + source.path + source.host)))
        self.gpu_watches = [self._gpu_watch(source) for source in self.config.gpu_health]
        self._tasks += [self._task(watch.run()) for watch in self.gpu_watches]

    def _gpu_watch(self, source: GpuHealth) -> GpuWatch:
        return GpuWatch(source, self.router, self.connector, self.clock, self.tally)

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def opened(self, by: int) -> None:
        """A request began (1) or ended (-1)."""
        self.open_calls += by
        if self.siblings is not None:
            self.siblings.write_open(self.open_calls)

    async def _ticker(self) -> None:
        while True:
            await self.clock.sleep(TICK)
            for watch in self.gpu_watches:
                watch.apply()
            self.watcher.round()
            self._changed()
            self.log.flush()

    async def _states(self) -> None:
        tidied = self.clock.wall()
        while True:
            await self.clock.sleep(STATE_EVERY)
            if self.clock.wall() - tidied > TIDY_EVERY:
                tidied = self.clock.wall()
                self.idempotency.tidy(tidied)
            if self.store.changed():
                self.registry.redrain()

    async def _sources(self, name: str) -> None:
        while True:
            sources = [s for s in self.config.source if s.kind + s.path + s.host == name]
            if not sources:
                return
            await self.registry.refresh(self.config, sources[0])
            await self.clock.sleep(sources[0].every)

    def _changed(self) -> None:
        """Note changes of health: for the state file, the admin API and the metrics."""
        wall, now = self.clock.wall(), self.clock.now()
        for worker in self.router.workers.values():
            changes = worker.health.changes
            for change in changes:
                self.changes.append(
                    {
                        "at": round(wall - now + change.at, 3), "worker": worker.name, "before": change.before,
                        "after": change.after, "reason": change.reason,
                    }
                )  # fmt: skip
                self.tally.add("changes", worker.name, change.after)
                if change.after == "ejected":
                    self.store.note(worker.name, change.reason, wall)
                elif change.after == "healthy" and change.before in ("half-open", "new"):
                    self.store.note(worker.name, "", wall)
            changes.clear()
        del self.changes[:-500]

    async def stop(self, drain: float | None = None) -> int:
        """Wait for open requests, at most ``drain`` seconds, then stop. Returns how many were left."""
        self.stopping = True
        end = self.clock.now() + (self.config.drain_seconds if drain is None else drain)
        while self.open_calls and self.clock.now() < end:
            await self.clock.sleep(DRAIN_EVERY)
        left = self.open_calls
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self.watcher.close()
        self.connector.close()
        self._changed()
        self.log.flush()
        self.store.close()
        return left

    # changes at run time

    def reload(self) -> str:
        """Read the configuration again; '' or what is wrong with it (then the old one stays).

        Requests on their way keep the worker they have. ``listen``, ``processes`` and ``state`` need a restart.
        """
        if self.path is None:
            return "there is no configuration file"
        try:
            config = load(self.path)
            found = keys(config)
            rules, guards = admission_of(config, self.path)
        except RocsteadyError as error:
            self.tally.add("reload-failed")
            return str(error)
        self.config = self.dispatcher.config = self.watcher.config = config
        self.keys = found
        if self.budgets is not None:
            self.budgets.reconfigure(rules, guards)
        self.log.flush()
        if config.access_log != self.log.path:
            self.log = AccessLog(config.access_log)
        self.registry.configure(config)
        for task in self._tasks[2:]:
            task.cancel()
        del self._tasks[2:]
        for source in config.source:
            self._tasks.append(self._task(self._sources(source.kind + source.path + source.host)))
        self.gpu_watches = [self._gpu_watch(source) for source in config.gpu_health]
        self._tasks += [self._task(watch.run()) for watch in self.gpu_watches]
        self.tally.add("reload")
        return ""

    def drain(self, name: str, reason: str) -> None:
        """Take a worker out; requests that are with it end there.

        Raises:
            InputError: there is no such worker, or it cannot be remembered.
        """
        worker = self._named(name)
        if not self.store.drain(name, reason, self.clock.wall()):
            raise InputError("the state file cannot be written; the worker was not drained")
        worker.drained = reason

    def undrain(self, name: str) -> None:
        """Put it back.

        Raises:
            InputError: there is no such worker, or it cannot be remembered.
        """
        worker = self._named(name)
        if not self.store.undrain(name):
            raise InputError("the state file cannot be written; the worker stays drained")
        worker.drained = ""

    def _named(self, name: str) -> Worker:
        worker = self.router.workers.get(name)
        if worker is None:
            raise InputError(f"no worker is called {name[:100]!r}")
        return worker

    # figures

    def measure(self, call: Call, outcome: Outcome, now: float) -> None:
        """Durations of one call."""
        if outcome.result in ("ok", "cut"):
            self.tally.observe("seconds", now - call.arrived)
            if outcome.first_byte is not None:
                self.tally.observe("first-byte", outcome.first_byte - call.arrived)

    def figures(self) -> dict[str, object]:
        """Everything that /metrics shows of this process."""
        return {
            "counts": [[*key, value] for key, value in self.tally.counts.items()],
            "histograms": {name: [list(h.counts), h.total] for name, h in self.tally.histograms.items()},
            "open": self.open_calls,
            "workers": [
                [w.name, w.spec.model, w.spec.precision, w.spec.node, w.health.state, w.blocked != "", w.inflight]
                for w in self.router.workers.values()
            ],
            "lost_log": self.log.lost, "store_errors": self.store.errors,
        }  # fmt: skip

    async def inflight(self) -> dict[str, int]:
        """Requests with each worker, of all processes."""
        rows = {"0": self.figures()} if self.siblings is None else await self.siblings.figures(self.figures())
        found: dict[str, int] = {}
        for row in rows.values():
            for name, *_, count in cast(Any, row["workers"]):
                found[name] = found.get(name, 0) + count
        return found

    async def exposition(self) -> bytes:
        """/metrics: this process and its siblings, each with its own label."""
        if self.siblings is None:
            return expose({"0": self.figures()}, None)
        return expose(await self.siblings.figures(self.figures()), self.siblings.board())
