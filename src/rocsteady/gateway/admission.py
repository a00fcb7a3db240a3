"""Admission: who may start now, on which worker (``interfaces.Admission``). A thin shell around budgets and queue.

A request that finds room starts at once. Else it waits, fairly among the keys, until room, its deadline, or a more
important request comes. Waiting ends on three occasions, and each looks at the whole queue, so that no wake-up is lost: a
request gives its room back, a request joins, and a tick every quarter of a second while anybody waits (reports of engines,
deadlines, workers that were taken out).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from rocsteady.gateway.admission_budget import Budget
from rocsteady.gateway.admission_queue import Entry, FairQueue
from rocsteady.gateway.admission_rules import AdmissionRules, Guard, Limits, limits_of
from rocsteady.gateway.interfaces import Call, Clock, Refused
from rocsteady.gateway.worker import Worker, WorkerSpec

TICK = 0.25
LONGEST_RETRY_AFTER = 60.0
RECENT = 64
"""Finished requests from which the pace is taken."""


class BudgetTicket:
    """Room of one request on one worker."""

    __slots__ = ("_admission", "_tokens", "_worker")

    def __init__(self, admission: BudgetAdmission, worker: Worker, tokens: int) -> None:
        self._admission: BudgetAdmission | None = admission
        self._worker = worker
        self._tokens = tokens

    def release(self) -> None:
        """Give it back; more than once does no harm."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.give_back(self._worker, self._tokens)


Waiting = Entry["asyncio.Future[tuple[Worker, BudgetTicket]]", Worker]


class BudgetAdmission:
    """The admission of one gateway process."""

    def __init__(
        self, rules: AdmissionRules, clock: Clock, guards: Mapping[str, Guard] | None = None, processes: int = 1
    ) -> None:
        self.rules = rules
        self._clock = clock
        self._guards = guards or {}
        self._processes = processes
        self._budgets: dict[Worker, Budget] = {}
        self._specs: dict[Worker, WorkerSpec | None] = {}
        self._queue: FairQueue[asyncio.Future[tuple[Worker, BudgetTicket]], Worker] = FairQueue(rules.queue)
        self._ticker: asyncio.Task[None] | None = None
        self._finished: deque[float] = deque(maxlen=RECENT)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    def reconfigure(self, rules: AdmissionRules, guards: Mapping[str, Guard]) -> None:
        """The configuration was read again; who waits keeps waiting."""
        self.rules, self._guards = rules, guards
        self._queue.most = rules.queue
        self._specs = dict.fromkeys(self._specs)

    def budget(self, worker: Worker) -> Budget:
        """The room on a worker, with what it reported last."""
        known = self._budgets.get(worker)
        if known is None:
            known = self._budgets[worker] = Budget(self._limits(worker), self.rules)
            self._specs[worker] = worker.spec
        elif self._specs[worker] is not worker.spec:  # the configuration was read again
            known.reconfigure(self._limits(worker), self.rules)
            self._specs[worker] = worker.spec
        now = self._clock.now()
        load, memory = worker.load, worker.gpu_memory_ratio
        if load is not None:
            known.report(load.at, load.kv_usage, memory)
        elif memory is not None:  # of the agent: it comes about once a second
            known.report(float(int(now)), None, memory)
        known.forget_stale(now)
        return known

    def _limits(self, worker: Worker) -> Limits:
        return limits_of(worker.spec, self.rules, self._guards, self._processes)

    def tokens(self, call: Call) -> int:
        """What a request is counted with: its prompt (estimated) and the output that it may make."""
        output = self.rules.output_tokens if call.output_tokens is None else call.output_tokens
        return call.prompt_tokens + output

    def has_room(self, call: Call, worker: Worker) -> bool:
        """Whether ``worker`` would take this call at once."""
        return not self._queue.ahead_of((worker,)) and self.budget(worker).room(self.tokens(call))

    def try_admit(self, call: Call, worker: Worker) -> BudgetTicket | None:
        """Room on this worker now, past the queue: for retries and continuations of admitted calls."""
        tokens = self.tokens(call)
        if not self.budget(worker).room(tokens, even_closed=True):
            return None
        return self._take(worker, tokens)

    async def admit(self, call: Call, workers: Sequence[Worker]) -> tuple[Worker, BudgetTicket]:
        """Room on the first of ``workers`` (best first) that has some; waits in the queue while none has.

        Raises:
            Refused: 429 where the queue is full, the deadline passed or load is shed; 503 where all workers went away.
        """
        if not workers:
            raise Refused("no-worker", "no worker is there for this model", 1.0, 503)
        now = self._clock.now()
        tokens = self.tokens(call)
        if not self._queue.ahead_of(workers):
            worker = self._choose(workers, tokens, frozenset())
            if worker is not None:
                return worker, self._take(worker, tokens)
        deadline = min(now + self.rules.wait_seconds, call.deadline if call.deadline is not None else now + 1e9)
        if deadline <= now:
            raise Refused("deadline", "the deadline has passed", self.retry_after())
        future: asyncio.Future[tuple[Worker, BudgetTicket]] = asyncio.get_running_loop().create_future()
        entry: Waiting = Entry(
            future, key=call.key.name, weight=call.key.weight, priority=call.priority, tokens=tokens, deadline=deadline,
            workers=tuple(workers),
        )  # fmt: skip
        victim = self._queue.push(entry)
        if victim is not None:
            self._refuse(victim, "shed", f"{self.rules.queue} requests wait already, and none is less important")
        self._pass()
        self._start_ticker()
        try:
            return await future
        except asyncio.CancelledError:
            self._queue.remove(entry)
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result()[1].release()  # it was placed in the moment in which the client went away
            self._pass()
            raise

    def give_back(self, worker: Worker, tokens: int) -> None:
        """A ticket was released."""
        self._budgets[worker].give(tokens)
        worker.inflight -= 1
        self._finished.append(self._clock.now())
        self._pass()
        if worker.removed and not self._budgets[worker].requests:
            del self._budgets[worker], self._specs[worker]

    def retry_after(self) -> float:
        """Seconds until the queue is likely to have moved on, from the pace of the last requests."""
        if len(self._finished) < 2:
            return 1.0
        span = self._clock.now() - self._finished[0]
        pace = len(self._finished) / span if span > 0 else float(RECENT)
        return min(LONGEST_RETRY_AFTER, max(1.0, (len(self._queue) + 1) / pace))

    def tick(self) -> None:
        """Look at deadlines, reports and workers again."""
        now = self._clock.now()
        for entry in self._queue.expired(now):
            self._refuse(entry, "deadline", "no worker had room before the deadline")
        for entry in self._queue.take_if(lambda e: all(map(_out, e.workers))):
            self._refuse(entry, "no-worker", "all workers that could have answered were taken out", 503)
        self._pass()

    def _start_ticker(self) -> None:
        if len(self._queue) and (self._ticker is None or self._ticker.done()):
            self._ticker = asyncio.get_running_loop().create_task(self._tick_while_waiting())

    async def _tick_while_waiting(self) -> None:
        while len(self._queue):
            await self._clock.sleep(TICK)
            self.tick()

    def _pass(self) -> None:
        """Start everybody who can start."""
        if not len(self._queue):
            return
        for entry, worker in self._queue.ready(self._place):
            entry.what.set_result((worker, BudgetTicket(self, worker, entry.tokens)))

    def _place(self, entry: Waiting, waited_for: frozenset[int]) -> Worker | None:
        if entry.what.done():  # cancelled; whoever waited takes it out
            return None
        free = [w for w in entry.workers if not _out(w)]
        worker = self._choose(free, entry.tokens, waited_for)
        if worker is not None:
            self._count(worker, entry.tokens)
        return worker

    def _choose(self, workers: Sequence[Worker], tokens: int, waited_for: frozenset[int]) -> Worker | None:
        """The first open worker with room; where all are closed, the first that is below its shrunken limit."""
        budgets = [(w, self.budget(w)) for w in workers]
        closed = all(b.closed for _, b in budgets)
        for worker, budget in budgets:
            if id(worker) not in waited_for and budget.room(tokens, even_closed=closed):
                return worker
        return None

    def _take(self, worker: Worker, tokens: int) -> BudgetTicket:
        self._count(worker, tokens)
        return BudgetTicket(self, worker, tokens)

    def _count(self, worker: Worker, tokens: int) -> None:
        self.budget(worker).take(tokens)
        worker.inflight += 1

    def _refuse(self, entry: Waiting, code: str, reason: str, status: int = 429) -> None:
        if not entry.what.done():
            entry.what.set_exception(Refused(code, reason, self.retry_after(), status))


def _out(worker: Worker) -> bool:
    """Whether a worker takes no new request."""
    return worker.removed or bool(worker.blocked)
