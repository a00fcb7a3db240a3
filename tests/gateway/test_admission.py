"""Admission over an event loop of its own and a virtual clock: never over budget, no lost wake-up, nobody starves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rocsteady.gateway.admission import BudgetAdmission, BudgetTicket
from rocsteady.gateway.admission_rules import AdmissionRules
from rocsteady.gateway.health import Health, Rules
from rocsteady.gateway.interfaces import Call, Key, Refused, View
from rocsteady.gateway.worker import Load, Worker, WorkerSpec

KEYS = {
    "a": Key(name="a", priority=1, weight=1.0),
    "b": Key(name="b", priority=0, weight=2.0),
    "c": Key(name="c", priority=2),
}


class VirtualClock:
    """Time that moves when told."""

    def __init__(self) -> None:
        self.time = 100.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time + seconds, future))
        await future

    def move(self, seconds: float) -> None:
        self.time += seconds
        for due, future in self._sleepers:
            if due <= self.time and not future.done():
                future.set_result(None)
        self._sleepers = [s for s in self._sleepers if not s[1].done()]


def worker(name: str, **more: Any) -> Worker:
    return Worker(WorkerSpec(name=name, url="http://127.0.0.1:1", model="m", **more), Health(Rules()))


def call(key: str = "a", prompt: int = 10, output: int | None = 10, priority: int | None = None, deadline: float | None = None) -> Call:  # fmt: skip
    view = View(model="m", max_tokens=output)
    return Call(
        id="1", path="/v1/completions", body=b"{}", view=view, key=KEYS[key], arrived=100.0, prompt_tokens=prompt,
        priority=priority, deadline=deadline,
    )  # fmt: skip


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


async def settle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


def test_goes_to_the_first_with_room_then_waits() -> None:
    async def main() -> None:
        clock = VirtualClock()
        admission = BudgetAdmission(AdmissionRules(), clock)
        one, two = worker("1", max_concurrency=1), worker("2", max_concurrency=1)
        got_one, ticket = await admission.admit(call(), [one, two])
        got_two, other = await admission.admit(call(), [one, two])
        assert (got_one, got_two, one.inflight, two.inflight) == (one, two, 1, 1)
        assert not admission.has_room(call(), one)
        third = asyncio.ensure_future(admission.admit(call(), [one, two]))
        await settle()
        assert not third.done() and admission.waiting == 1
        other.release()
        other.release()
        await settle()
        assert (await third)[0] is two and two.inflight == 1
        ticket.release()
        assert one.inflight == 0 and admission.waiting == 0

    run(main())


def test_deadline_and_shedding_say_when_to_come_back() -> None:
    async def main() -> None:
        clock = VirtualClock()
        admission = BudgetAdmission(AdmissionRules(queue=1, wait_seconds=5), clock)
        only = worker("1", max_concurrency=1)
        await admission.admit(call(), [only])
        waiting = asyncio.ensure_future(admission.admit(call("c"), [only]))
        await settle()
        better = asyncio.ensure_future(admission.admit(call("b"), [only]))
        await settle()
        with pytest.raises(Refused) as shed:
            await waiting
        assert (shed.value.status, shed.value.code) == (429, "shed") and shed.value.retry_after >= 1
        for _ in range(21):
            clock.move(0.25)
            await settle()
        with pytest.raises(Refused) as late:
            await better
        assert (late.value.status, late.value.code) == (429, "deadline")
        with pytest.raises(Refused, match="deadline has passed"):
            await admission.admit(call(deadline=clock.now()), [only])
        with pytest.raises(Refused, match="no worker"):
            await admission.admit(call(), [])

    run(main())


def test_full_worker_is_avoided_and_used_only_where_all_are_full() -> None:
    async def main() -> None:
        clock = VirtualClock()
        admission = BudgetAdmission(AdmissionRules(), clock)
        one, two = worker("1", max_concurrency=10), worker("2", max_concurrency=10)
        one.load = Load(at=clock.now(), kv_usage=0.95)
        assert [(await admission.admit(call(), [one, two]))[0].name for _ in range(3)] == ["2", "2", "2"]
        assert not admission.has_room(call(), one) and "KV cache" in admission.budget(one).reason
        two.gpu_memory_ratio, two.load = 0.99, Load(at=clock.now(), kv_usage=0.1)
        name = (await admission.admit(call(), [one, two]))[0].name
        assert name == "1" and admission.budget(two).closed and admission.budget(two).limit < 3
        second = asyncio.ensure_future(admission.admit(call(), [one, two]))
        await settle()
        assert not second.done()  # both are closed, and their limits have shrunk to what they have
        clock.move(0.25)
        one.load = Load(at=clock.now(), kv_usage=0.2)
        await settle()
        assert (await second)[0] is one

    run(main())


def test_workers_that_went_away_while_waiting() -> None:
    async def main() -> None:
        clock = VirtualClock()
        admission = BudgetAdmission(AdmissionRules(), clock)
        only = worker("1", max_concurrency=1)
        _, ticket = await admission.admit(call(), [only])
        waiting = asyncio.ensure_future(admission.admit(call(), [only]))
        await settle()
        only.drained = "by a person"
        ticket.release()
        await settle()
        assert not waiting.done()
        clock.move(0.25)
        await settle()
        with pytest.raises(Refused) as gone:
            await waiting
        assert gone.value.status == 503

    run(main())


def test_a_client_that_leaves_gives_its_place_away() -> None:
    async def main() -> None:
        admission = BudgetAdmission(AdmissionRules(), VirtualClock())
        only = worker("1", max_concurrency=1)
        _, ticket = await admission.admit(call(), [only])
        first = asyncio.ensure_future(admission.admit(call(), [only]))
        second = asyncio.ensure_future(admission.admit(call(), [only]))
        await settle()
        ticket.release()  # places the first one, which leaves in the same moment
        first.cancel()
        await settle()
        assert (await second)[0] is only and only.inflight == 1 and first.cancelled()

    run(main())


def test_limits_follow_a_new_configuration() -> None:
    async def main() -> None:
        admission = BudgetAdmission(AdmissionRules(), VirtualClock())
        only = worker("1", max_concurrency=5)
        tickets = [(await admission.admit(call(), [only]))[1] for _ in range(3)]
        only.spec = worker("1", max_concurrency=2).spec
        assert not admission.has_room(call(), only)
        for ticket in tickets[:2]:
            ticket.release()
        assert admission.has_room(call(), only)
        assert admission.try_admit(call(prompt=10**9), only) is not None

    run(main())


class Machine(RuleBasedStateMachine):
    """Clients, workers that run full and empty again, time; and what must hold at every moment."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.rules = AdmissionRules(queue=6, wait_seconds=20, stale_seconds=1000)
        self.admission = BudgetAdmission(self.rules, self.clock)
        self.workers = [
            worker("1", max_concurrency=3, kv_tokens=1000), worker("2", max_concurrency=2), worker("3", kv_tokens=300),
        ]  # fmt: skip
        self.tasks: list[asyncio.Task[tuple[Worker, BudgetTicket]]] = []
        self.held: list[tuple[Worker, BudgetTicket]] = []

    def settle(self) -> None:
        self.loop.run_until_complete(settle())
        for task in [t for t in self.tasks if t.done()]:
            self.tasks.remove(task)
            if not task.cancelled() and task.exception() is None:
                self.held.append(task.result())
            elif not task.cancelled():
                assert isinstance(task.exception(), Refused)

    @rule(key=st.sampled_from("abc"), tokens=st.integers(1, 900), which=st.sets(st.integers(0, 2), min_size=1))
    def ask(self, key: str, tokens: int, which: set[int]) -> None:
        asked = self.admission.admit(call(key, tokens, 0), [self.workers[i] for i in sorted(which)])
        self.tasks.append(self.loop.create_task(asked))
        self.settle()

    @rule(at=st.integers(0, 20))
    def finish(self, at: int) -> None:
        if self.held:
            self.held.pop(at % len(self.held))[1].release()
            self.settle()

    @rule(at=st.integers(0, 20))
    def leave(self, at: int) -> None:
        if self.tasks:
            self.tasks[at % len(self.tasks)].cancel()
            self.settle()

    @rule(at=st.integers(0, 20), other=st.integers(0, 20))
    def finish_and_leave_at_once(self, at: int, other: int) -> None:
        if self.held and self.tasks:
            self.held.pop(at % len(self.held))[1].release()
            self.tasks[other % len(self.tasks)].cancel()
            self.settle()

    @rule(index=st.integers(0, 2), kv=st.floats(0, 1), memory=st.none() | st.floats(0.5, 1))
    def report(self, index: int, kv: float, memory: float | None) -> None:
        self.workers[index].gpu_memory_ratio = memory
        self.workers[index].load = Load(at=self.clock.now(), kv_usage=kv)
        self.move(0.25)

    @rule(seconds=st.sampled_from([0.25, 1.0, 7.0, 25.0]))
    def move(self, seconds: float) -> None:
        self.clock.move(seconds)
        self.settle()

    @invariant()
    def never_over_budget(self) -> None:
        for one in self.workers:
            budget = self.admission.budget(one)
            mine = [t for w, t in self.held if w is one]
            assert len(mine) == one.inflight == budget.requests <= budget.limits.requests
            if budget.limits.tokens is not None and budget.requests > 1:
                assert budget.tokens <= budget.limits.tokens

    @invariant()
    def nobody_waits_beside_room(self) -> None:
        """Whoever is first in the queue would start if there were room."""
        assert self.admission.waiting == len(self.tasks) <= self.rules.queue
        entries = self.admission._queue._entries
        if entries:
            budgets = [self.admission.budget(w) for w in entries[0].workers]
            closed = all(b.closed for b in budgets)
            assert not any(b.room(entries[0].tokens, even_closed=closed) for b in budgets)

    def teardown(self) -> None:
        """Everybody who waits is served once the others finish, whatever the reports said."""
        for _ in range(40):
            while self.held:
                self.held.pop()[1].release()
                self.settle()
            if not self.tasks:
                break
        assert not self.tasks and not self.held
        assert all(w.inflight == 0 for w in self.workers)
        self.move(1.0)
        self.loop.close()


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestMachine = Machine.TestCase
