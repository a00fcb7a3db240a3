"""Random faults, alerts, approvals, kills and reboots: the promises of the healer hold in every order of events."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rocsteady.heal.journal import Approval
from rocsteady.heal.policy import Breaker, Budget, ClassPolicy, Policy
from rocsteady.heal.records import Action, Pause
from rocsteady.heal.state import AlertSeen, FindingSeen
from tests.heal.conftest import memory_folder
from tests.heal.made import START, bdf
from tests.heal.world import FOR_GOOD, NEEDS_REBOOT, NEEDS_RESET, PASSING, Fleet, World

NODES, GPUS, HIVES = ("n1", "n2"), 4, 2
BUDGET = Budget(window=1800.0, per_subject=2, per_node=3, fleet=4, nodes_at_once=1)
MODES = st.sampled_from((*NEEDS_RESET, *NEEDS_REBOOT, *FOR_GOOD, *PASSING))
SPOTS = st.tuples(st.sampled_from(NODES), st.integers(0, GPUS - 1))
KINDS = ("move", "restart", "thermal", "link", "reset", "reload", "reboot")


def policy(approve: frozenset[str]) -> Policy:
    return Policy(
        dry_run=False,
        classes={kind: ClassPolicy(mode="approve" if kind in approve else "auto") for kind in KINDS},
        budget=BUDGET, breaker=Breaker(share=0.5, window=300.0, fewest=4), has_gateway=True, helpers=NODES,
        cooldown=60.0, restore_after=60.0, evidence_max_age=120.0, approval_expires=900.0,
    )  # fmt: skip


class Safety(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=memory_folder())
        world = World(
            nodes=NODES, gpus=GPUS, hives=HIVES,
            workers={"a0": ("n1", (0,)), "a1": ("n1", (1, 2)), "b0": ("n2", (0,))},
        )  # fmt: skip
        self.fleet = Fleet(world, policy(frozenset({"reboot"})), Path(self.folder.name))
        self.begun: dict[str, Action] = {}
        self.counted = 0
        self.fleet.rounds(6)

    def teardown(self) -> None:
        try:
            self.settles()
        finally:
            assert self.fleet.journal is not None
            self.fleet.journal.close()
            self.folder.cleanup()

    @rule(spot=SPOTS, mode=MODES)
    def fault(self, spot: tuple[str, int], mode: str) -> None:
        self.fleet.world.ills.setdefault(spot, set()).add(mode)
        self.round()

    @rule(spot=SPOTS)
    def recovers(self, spot: tuple[str, int]) -> None:
        self.fleet.world.ills.pop(spot, None)
        self.round()

    @rule(spot=SPOTS, known=st.booleans())
    def unreadable(self, spot: tuple[str, int], known: bool) -> None:
        (self.fleet.world.unknown.discard if known else self.fleet.world.unknown.add)(spot)
        self.round()

    @rule(name=st.sampled_from(NODES), talks=st.booleans())
    def exporter(self, name: str, talks: bool) -> None:
        (self.fleet.world.silent.discard if talks else self.fleet.world.silent.add)(name)
        self.round()

    @rule(name=st.sampled_from(("a0", "a1", "b0")), how=st.sampled_from(("freeze", "die")))
    def worker(self, name: str, how: str) -> None:
        process = self.fleet.world.processes.get(name)
        if process is not None and how == "freeze":
            process.frozen = True
        elif process is not None:
            del self.fleet.world.processes[name]
        self.round()

    @rule(spot=SPOTS, mode=MODES, age=st.floats(-4000, 10), firing=st.booleans(), number=st.integers(0, 3))
    def alert(self, spot: tuple[str, int], mode: str, age: float, firing: bool, number: int) -> None:
        assert self.fleet.journal is not None
        world = self.fleet.world
        event = AlertSeen(
            fingerprint=f"f{number}", firing=firing, node=spot[0], mode=mode, gpu=bdf(spot[1]), severity="critical",
            starts_at=world.now + age,
        )  # fmt: skip
        self.fleet.journal.post([event], world.now)
        self.round()

    @rule(spot=SPOTS, mode=MODES, age=st.floats(0, 4000))
    def finding(self, spot: tuple[str, int], mode: str, age: float) -> None:
        assert self.fleet.journal is not None
        world = self.fleet.world
        event = FindingSeen(
            id="x", node=spot[0], mode=mode, gpu=bdf(spot[1]), severity="critical", at=world.now - age
        )  # fmt: skip
        self.fleet.journal.post([event], world.now)
        self.round()

    @rule(yes=st.booleans())
    def person(self, yes: bool) -> None:
        assert self.fleet.journal is not None
        for action in self.fleet.healer.state.open_actions:
            if action.phase == "approval":
                self.fleet.journal.approve(Approval(action.id, "p", yes, self.fleet.world.now))
        self.round()

    @rule(name=st.sampled_from(("", *NODES)), on=st.booleans())
    def paused(self, name: str, on: bool) -> None:
        assert self.fleet.journal is not None
        if on:
            self.fleet.journal.pause(Pause(name, "r", "p", self.fleet.world.now))
        else:
            self.fleet.journal.resume(name, "p", self.fleet.world.now)
        self.round()

    @rule(name=st.sampled_from(NODES))
    def power_cut(self, name: str) -> None:
        self.fleet.world.boots[name] += 1
        self.fleet.world.down_until[name] = self.fleet.world.now + 30
        self.round()

    @rule(after=st.integers(1, 40))
    def killed(self, after: int) -> None:
        self.fleet.kill_at = len(self.fleet.passed) + after
        self.round()

    @rule(deaf=st.booleans())
    def gateway(self, deaf: bool) -> None:
        (self.fleet.world.deaf.add if deaf else self.fleet.world.deaf.discard)("gateway")
        self.round()

    @rule(seconds=st.sampled_from((5.0, 30.0, 120.0, 900.0)))
    def time_passes(self, seconds: float) -> None:
        for _ in range(3):
            self.round(seconds / 3)

    def round(self, seconds: float = 5.0) -> None:
        """One round; what was begun in it is held against what was known when it was begun."""
        before = len(self.fleet.world.effects)
        self.fleet.round(seconds)
        for action in self.fleet.actions():
            if action.started_at is not None and action.id not in self.begun and action.rung != "restore":
                self.begun[action.id] = action
                if action.started_at == self.fleet.world.now:
                    self.fresh_evidence(action)
        del before

    def fresh_evidence(self, action: Action) -> None:
        world = self.fleet.world
        fault = next(f for f in self.fleet.healer.state.faults if f.id == action.fault)
        assert action.node not in world.silent or self.last_seen(action) <= 30.0
        assert world.now - fault.evidence_at <= 120.0 or fault.closed_at is not None
        spots = {spot for spot in world.unknown if spot[0] == action.node and bdf(spot[1]) == fault.gpu}
        if spots and world.up(action.node) and action.node not in world.silent:
            raise AssertionError(f"{action.id} began on a GPU whose state is unknown")
        boot = self.fleet.healer.state.boots[action.node]
        assert action.prior_boot == boot.boot_id
        if boot.known_start:
            assert fault.evidence_at >= boot.seen_at

    def last_seen(self, action: Action) -> float:
        view = self.fleet.healer.state.nodes.get(action.node)
        return float("inf") if view is None else self.fleet.world.now - view.at

    @invariant()
    def nothing_was_hurt(self) -> None:
        assert self.fleet.world.violations == []

    @invariant()
    def no_key_twice(self) -> None:
        done = [(v, t, k) for _, v, t, k in self.fleet.world.effects if v in ("reset-gpu", "reboot", "reload-driver")]
        assert len(done) == len(set(done))

    @invariant()
    def within_budget(self) -> None:
        spent = [
            a for a in self.begun.values()
            if a.disruptive and a.outcome not in ("dry-run", "refused", "abandoned") and a.started_at is not None
        ]  # fmt: skip
        for action in spent:
            assert action.started_at is not None
            window = [
                a for a in spent
                if a.started_at is not None and 0 <= action.started_at - a.started_at < BUDGET.window
            ]  # fmt: skip
            assert len(window) <= BUDGET.fleet
            assert sum(a.node == action.node for a in window) <= BUDGET.per_node
            for touched in action.touches:
                assert sum(touched in a.touches for a in window) <= BUDGET.per_subject

    @invariant()
    def one_at_a_time(self) -> None:
        running = [a for a in self.fleet.healer.state.open_actions if a.phase != "approval"]
        for one in running:
            for other in running:
                assert one.id == other.id or not set(one.locks) & set(other.locks)
        wide = {a.node for a in running if any(k.startswith(("node:", "hive:")) for k in a.locks)}
        assert len(wide) <= 1

    @invariant()
    def one_receipt_each(self) -> None:
        assert self.fleet.journal is not None
        receipts = [a.id for a in self.fleet.journal.receipts(10_000)]
        assert len(receipts) == len(set(receipts))

    def settles(self) -> None:
        """Left alone, it comes to rest: nothing under way, every fault closed or with a stated reason, workers running."""
        world = self.fleet.world
        world.unknown.clear()
        world.silent.clear()
        world.deaf.clear()
        self.fleet.kill_at = None
        for _ in range(120):
            self.round(60.0)
            self.within_budget()
            self.nothing_was_hurt()
        before = [e for e in world.effects if e[1] not in ("start",)]
        for _ in range(20):
            self.round(15.0)
        state = self.fleet.healer.state
        assert [a for a in state.open_actions if a.phase != "approval"] == []
        assert [e for e in world.effects if e[1] not in ("start",)] == before
        assert all(f.held for f in state.open_faults), state.open_faults
        assert {w.state for w in state.workers} <= {"serving", "starting", "unresponsive"}
        assert world.now > START


Safety.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
TestSafety = Safety.TestCase
