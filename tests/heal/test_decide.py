"""Decisions about single situations: what is done, and why something is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rocsteady.heal.decide import approved, decide
from rocsteady.heal.ladder import load_ladder
from rocsteady.heal.planning import PLANNERS
from rocsteady.heal.policy import (
    Breaker,
    Budget,
    ClassPolicy,
    Maintenance,
    Policy,
    Recycle,
    Timer,
    Watermark,
    Window,
)
from rocsteady.heal.records import Action, Pause
from rocsteady.heal.state import AlertSeen, Decision, Event, FindingSeen, HealthSeen, State, Tick, WorkersSeen
from rocsteady.heal.view import Device, Link, WorkerView
from tests.heal.made import START, bdf, gpu, node, worker

KINDS = load_ladder().kinds
AUTO = Policy(dry_run=False, classes={k: ClassPolicy(mode="auto") for k in KINDS}, has_gateway=True, helpers=("n1",))
BIG = Breaker(fewest=100)


def play(policy: Policy, *events: Event, state: State | None = None, now: float = START) -> Decision:
    """All events at one time; the last decision, with all actions of all of them."""
    decision = Decision(state or State())
    actions: list[Action] = []
    notices = []
    for event in events:
        decision = decide(decision.state, event, now, policy)
        actions += decision.actions
        notices += decision.notices
    return Decision(decision.state, tuple(actions), tuple(notices))


def sees(*devices: Device, at: float = START, boot: str = "boot-1") -> HealthSeen:
    return HealthSeen(node(at, *devices, boot=boot))


def has(*workers: WorkerView) -> WorkersSeen:
    return WorkersSeen(workers)


def alert(mode: str = "RAS-0002", number: int = 0, **more: object) -> AlertSeen:
    raw = {"fingerprint": "f", "firing": True, "node": "n1", "mode": mode, "gpu": bdf(number), "starts_at": START}
    return AlertSeen(**(raw | more))  # type: ignore[arg-type]


def rungs(decision: Decision) -> list[str]:
    return [action.rung for action in decision.actions]


def held(decision: Decision) -> str:
    (fault,) = decision.state.open_faults
    return fault.held


W0 = worker("w0", bdf(0))
W1 = worker("w1", bdf(1))


def test_ladder_and_planners_fit() -> None:
    ladder = load_ladder()
    assert set(PLANNERS) == set(ladder.rungs)
    assert all(rung.source and rung.text for rung in ladder.rungs.values())
    assert all(c.source and c.why for c in (*ladder.modes.values(), *ladder.words.values()))
    order = list(ladder.rungs)
    for course in (*ladder.modes.values(), *ladder.words.values()):
        # less heat hurts nobody, so it may come first; a worker that failed is restarted before another GPU is used
        free = ("thermal", "move", "restart")
        rest = [rung for rung in course.rungs if ladder.rungs[rung].kind not in free]
        assert sorted(rest, key=order.index) == rest, course
    assert ladder.course("RAS-0002", "drain")[-1] == "people"
    assert ladder.course("no such mode", "none") == ("watch",)


def test_every_rule_of_the_health_states_has_a_course() -> None:
    from rocsteady.diagnose.health import thresholds

    ladder = load_ladder()
    assert {rule.id for rule in thresholds().rules} <= set(ladder.modes)


def test_every_mode_is_in_the_catalog() -> None:
    from rocsteady.catalog import load_catalog

    known = load_catalog().modes
    assert [mode for mode in load_ladder().modes if mode not in known] == []


def test_dry_run_says_what_it_would_do_and_stops_there() -> None:
    first = play(Policy(helpers=("n1",)), has(W0), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1)))
    assert [(a.rung, a.outcome, a.phase) for a in first.actions] == [("move-worker", "dry-run", "done")]
    later = play(Policy(helpers=("n1",)), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1), at=START + 999),
                 state=first.state, now=START + 999)  # fmt: skip
    assert later.actions == ()
    assert held(later).startswith("dry run: would: move w0")


def test_one_rung_after_the_other() -> None:
    decision = play(AUTO, has(W0), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1)), Tick(), Tick())
    assert rungs(decision) == ["stop-new"]
    assert held(decision).endswith("is under way")


def test_default_modes_wait_for_a_person() -> None:
    policy = Policy(dry_run=False)
    decision = play(policy, has(W0), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1)))
    assert [(a.rung, a.phase) for a in decision.actions] == [("move-worker", "approval")]
    assert decision.notices[0].text.endswith(f"heal approve {decision.actions[0].id}")


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ((has(W0), sees(gpu(0, "unknown"), gpu(1)), alert()), f"the state of {bdf(0)} is unknown"),
        ((has(W0), sees(gpu(0), gpu(1)), alert()), f"the gpu-health document calls {bdf(0)} healthy"),
        ((has(W0), sees(gpu(1)), alert()), f"{bdf(0)} is not in the document"),
        ((has(W0), alert()), "no gpu-health document of n1 yet"),
        ((has(W0), sees(gpu(0, "unhealthy", "X"), at=START - 31), alert()), "the gpu-health document is 31 s old, 30 are allowed"),
        ((has(W0), sees(gpu(0, "suspect"), boot=""), alert()), "the document does not say which boot it is of"),
        ((sees(gpu(0, "suspect"), gpu(1)), alert()), "the executors were not asked yet how their workers are"),
        ((has(W0), sees(gpu(0, "suspect"), at=START + 90), alert()), "the gpu-health document is of 90 s from now: a clock is wrong"),
    ],
)  # fmt: skip
def test_nothing_is_done_without_a_fresh_document(events: tuple[Event, ...], why: str) -> None:
    decision = play(AUTO, *events)
    assert decision.actions == ()
    assert why in {fault.held for fault in decision.state.open_faults}


def test_evidence_of_an_earlier_boot_does_not_count() -> None:
    first = play(AUTO, has(W0), sees(gpu(0), gpu(1)))
    booted = play(AUTO, sees(gpu(0), gpu(1), at=START + 100, boot="boot-2"), state=first.state, now=START + 100)
    stale = play(AUTO, alert(starts_at=START + 50), state=booted.state, now=START + 101)
    assert stale.state.open_faults == ()
    late = play(AUTO, sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1), at=START + 99), state=booted.state, now=START + 102)
    assert (late.state.open_faults, late.actions) == ((), ())


def test_boot_closes_what_was_open() -> None:
    first = play(AUTO, has(W0), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1)))
    second = play(AUTO, sees(gpu(0), gpu(1), at=START + 100, boot="boot-2"), state=first.state, now=START + 100)
    assert [f.closed_by for f in second.state.faults] == ["boot boot-2"]


def test_evidence_before_the_last_reset_does_not_count() -> None:
    state = State(resets={f"n1/{bdf(0)}": START + 10})
    for event in (sees(gpu(0, "unhealthy", "RAS-0002", evidence_at=START), gpu(1), at=START + 20), alert()):
        decision = play(AUTO, has(W0), event, state=state, now=START + 20)
        assert decision.state.open_faults == ()
    fresh = play(
        AUTO, has(W0), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1), at=START + 20), state=state, now=START + 20
    )
    assert rungs(fresh) == ["stop-new"]


def test_recovery_closes_only_the_fault_it_names() -> None:
    fired = play(
        AUTO, has(), sees(gpu(0, "suspect"), gpu(1)), alert(), alert("XGMI-0002", fingerprint="g"),
        alert(fingerprint="f", starts_at=START + 5),
    )  # fmt: skip
    assert len(fired.state.open_faults) == 2
    old = play(AUTO, alert(firing=False, starts_at=START), state=fired.state)
    assert len(old.state.open_faults) == 2, "an older recovery does not cancel a newer firing"
    new = play(AUTO, alert(firing=False, starts_at=START + 5), state=fired.state)
    assert [f.mode for f in new.state.open_faults] == ["XGMI-0002"]


def test_document_is_the_better_witness_than_an_alert() -> None:
    both = play(AUTO, has(), alert(), sees(gpu(0, "unhealthy", "RAS-0002")))
    assert [f.source for f in both.state.open_faults] == ["health"]
    resolved = play(AUTO, alert(firing=False), state=both.state)
    assert len(resolved.state.open_faults) == 1
    well = play(AUTO, sees(gpu(0), at=START + 5), state=resolved.state, now=START + 5)
    assert well.state.open_faults == ()


def test_unknown_closes_nothing() -> None:
    ill = play(AUTO, has(), sees(gpu(0, "unhealthy", "RAS-0002")))
    lost = play(AUTO, sees(gpu(0, "unknown"), at=START + 5), state=ill.state, now=START + 5)
    assert len(lost.state.open_faults) == 1


def test_reset_takes_the_hive_and_its_workers() -> None:
    devices = [gpu(n, hive="h0" if n < 2 else "h1") for n in range(4)]
    devices[0] = gpu(0, "unhealthy", "RAS-0002", hive="h0")
    policy = replace(
        AUTO, classes={**AUTO.classes, "move": ClassPolicy(mode="off"), "stop-new": ClassPolicy(mode="off")}
    )
    decision = play(policy, has(W0, W1, worker("w2", bdf(2))), sees(*devices))
    (action,) = decision.actions
    assert action.rung == "reset"
    assert [(s.verb, s.target, s.always) for s in action.steps] == [
        ("drain", "w0", False), ("drain", "w1", False), ("stop", "w0", False), ("stop", "w1", False),
        ("reset-gpu", bdf(0), False), ("start", "w0", True), ("start", "w1", True), ("undrain", "w0", True),
        ("undrain", "w1", True),
    ]  # fmt: skip
    assert action.steps[4].arguments == {"members": f"{bdf(0)} {bdf(1)}"}
    assert "hive:n1/h0" in action.locks


def test_second_reset_of_a_hive_waits() -> None:
    policy = replace(AUTO, classes={k: ClassPolicy(mode="auto" if k == "reset" else "off") for k in KINDS}, breaker=BIG)
    decision = play(policy, has(), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1, "unhealthy", "RAS-0002")))
    assert rungs(decision) == ["reset"]
    waits = [f.held for f in decision.state.open_faults if f.held]
    assert waits == [f"{decision.actions[0].id} is under way"]


def test_breaker_on_mass_events_and_resume() -> None:
    ill = sees(*(gpu(n, "unhealthy", "RAS-0002") for n in range(4)))
    decision = play(AUTO, has(*(worker(f"w{n}", bdf(n)) for n in range(4))), ill)
    assert decision.state.breaker_since == START
    assert not any(a.disruptive for a in decision.actions)
    assert any("breaker open" in n.text for n in decision.notices)
    later = replace(decision.state, breaker_since=None, breaker_cleared=START)
    again = play(
        AUTO, sees(*(gpu(n, "unhealthy", "RAS-0002") for n in range(4)), at=START + 5), state=later, now=START + 5
    )
    assert again.state.breaker_since is None


def test_budgets() -> None:
    policy = replace(AUTO, budget=Budget(per_subject=1, per_node=9, fleet=9), cooldown=0.0, has_gateway=False)
    first = play(policy, has(worker("w0", bdf(0), state="unresponsive")), sees(gpu(0)))
    (action,) = first.actions
    ended = replace(action, phase="done", outcome="succeeded", finished_at=START + 1)
    state = replace(first.state, actions=(ended,), faults=())
    second = play(
        policy, has(worker("w0", bdf(0), state="unresponsive")), sees(gpu(0), at=START + 9), state=state, now=START + 9
    )
    assert second.actions == ()
    assert held(second).startswith("budget: 1 actions on")
    assert {n.text.split(": ")[1] for n in second.notices} == {"budget"}
    assert len({n.key for n in second.notices}) == 1
    later = play(
        policy,
        sees(gpu(0), at=START + 3601),
        has(worker("w0", bdf(0), state="unresponsive")),
        state=state,
        now=START + 3601,
    )
    assert rungs(later) == ["restart-worker"]


def test_pause_and_maintenance() -> None:
    ill = (has(W0), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1)))
    paused = play(AUTO, *ill, state=State(pauses=(Pause("n1", "swap", "ann", START - 5),)))
    assert (paused.actions, held(paused)) == ((), "paused by ann: swap")
    ended = State(pauses=(Pause("n1", "swap", "ann", START - 50, START - 5),))
    assert rungs(play(AUTO, *ill, state=ended)) == ["stop-new"]
    moment = datetime.fromtimestamp(START, UTC)
    window = Maintenance(start=moment, end=moment.replace(year=moment.year + 1), reason="move", nodes=("n1",))
    held_back = play(replace(AUTO, maintenance=(window,)), *ill)
    assert held(held_back).startswith("maintenance until")


def test_windows() -> None:
    night = Window(days=("sat",), start="22:00", end="04:00")
    at = datetime(2026, 11, 28, 23, 0, tzinfo=UTC).timestamp()  # a Saturday
    assert night.holds(at)
    assert night.holds(at + 4 * 3600)
    assert not night.holds(at + 6 * 3600)
    assert not night.holds(at - 24 * 3600)
    policy = replace(
        AUTO, classes={**AUTO.classes, "move": ClassPolicy(mode="auto", windows=(night,))}, has_gateway=False
    )
    decision = play(policy, has(W0), sees(gpu(0, "unhealthy", "RAS-0008"), gpu(1)))
    assert held(decision) == "class move acts only in its windows"


def test_move_prefers_the_hive_and_keeps_healthy_members() -> None:
    devices = [gpu(n, hive="h0" if n < 4 else "h1") for n in range(8)]
    devices[1] = gpu(1, "unhealthy", "RAS-0008", hive="h0")
    group = worker("g", bdf(0), bdf(1))
    policy = replace(AUTO, has_gateway=False)
    decision = play(policy, has(group), sees(*devices))
    step = next(s for s in decision.actions[0].steps if s.verb == "replace")
    assert step.arguments["devices"] == f"{bdf(0)},{bdf(2)}"
    assert step.arguments["visible"] == "0,2"
    for n in (2, 3):
        devices[n] = gpu(n, pids=(77,), hive="h0")
    decision = play(policy, has(group), sees(*devices))
    step = next(s for s in decision.actions[0].steps if s.verb == "replace")
    assert step.arguments["devices"] == f"{bdf(4)},{bdf(5)}", "both in one hive beats keeping one"


def test_move_takes_partitions() -> None:
    cpx = [gpu(0, "unhealthy", "RAS-0008", partition=p, index=p) for p in range(2)]
    cpx += [gpu(1, partition=p, index=2 + p) for p in range(2)]
    decision = play(
        replace(AUTO, has_gateway=False), has(worker("a", f"{bdf(0)}/0"), worker("b", f"{bdf(0)}/1")), sees(*cpx)
    )  # fmt: skip
    moves = [(s.target, s.arguments["devices"], s.arguments["visible"]) for s in decision.actions[0].steps]
    assert moves == [("a", f"{bdf(1)}/0", "2"), ("b", f"{bdf(1)}/1", "3")]


def test_no_spare_goes_on_to_the_next_rung_and_back() -> None:
    policy = replace(AUTO, has_gateway=False, classes={**AUTO.classes, "reset": ClassPolicy(mode="approve")})
    first = play(policy, has(W0, W1), sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1)))
    assert [(a.rung, a.phase) for a in first.actions] == [("reset", "approval")]
    (fault,) = first.state.open_faults
    assert fault.passed == {"stop-new": fault.passed["stop-new"], "move-worker": "no healthy spare device"}


def test_exclude_link_by_placement_and_by_file() -> None:
    down = (Link(3, False, bdf(1)),)
    ill = [gpu(0, "unhealthy", "XGMI-0006", links=down), gpu(1), gpu(2), gpu(3)]
    policy = replace(AUTO, has_gateway=False)
    moved = play(policy, has(worker("g", bdf(0), bdf(1))), sees(*ill))
    assert [(a.rung, a.steps[0].arguments["devices"]) for a in moved.actions] == [
        ("exclude-link", f"{bdf(1)},{bdf(2)}")
    ]
    tight = play(policy, has(worker("g", bdf(0), bdf(1), topology_file=True), worker("h", bdf(2), bdf(3))), sees(*ill))
    step = tight.actions[0].steps[0]
    assert (step.arguments["devices"], step.arguments["without_links"]) == (f"{bdf(0)},{bdf(1)}", f"{bdf(0)}>{bdf(1)}")
    alone = play(policy, has(worker("s", bdf(0))), sees(*ill))
    assert rungs(alone) == ["reset"], "a worker on one GPU uses no link"


def test_thermal_goes_up_by_steps_and_is_put_back() -> None:
    policy = replace(AUTO, has_gateway=False, cooldown=10.0, restore_after=20.0)
    hot = gpu(0, "suspect", "PWR-0019", severity="warning")
    state, now, done = State(), START, []
    for _ in range(8):
        decision = play(policy, has(W0), sees(hot, at=now), state=state, now=now)
        done += rungs(decision)
        finished = tuple(
            replace(a, phase="done", outcome="succeeded", finished_at=now, steps=tuple(replace(s, state="done") for s in a.steps))
            if a.open else a for a in decision.state.actions
        )  # fmt: skip
        state, now = replace(decision.state, actions=finished), now + 11
    assert done == ["fan-up", "power-cap", "clock-limit", "people"]
    cool = play(policy, sees(gpu(0), at=now), state=state, now=now)
    assert cool.actions == ()
    after = play(policy, sees(gpu(0), at=now + 30), state=cool.state, now=now + 30)
    assert sorted(s.verb for a in after.actions for s in a.steps) == ["restore-clock", "restore-fan", "restore-power"]
    again = play(policy, sees(gpu(0), at=now + 31), state=after.state, now=now + 31)
    assert again.actions == ()


def test_last_capacity_is_not_taken_from_a_suspect_gpu() -> None:
    hot = gpu(0, "suspect", "HANG-0001", severity="warning")
    one = play(
        replace(
            AUTO,
            classes={
                "stop-new": ClassPolicy(mode="auto"),
                "restart": ClassPolicy(mode="off"),
                "move": ClassPolicy(mode="off"),
            },
        ),
        has(W0),
        sees(hot, gpu(1)),
    )
    assert "stop-new" not in rungs(one)
    two = play(AUTO, has(W0, W1), sees(hot, gpu(1)))
    assert rungs(two) == ["stop-new"]


def test_recycling_one_at_a_time_while_another_serves() -> None:
    policy = replace(AUTO, recycle=Recycle(requests=100, fragmentation=0.3), has_gateway=False, breaker=BIG)
    alone = play(policy, sees(gpu(0), gpu(1)), has(worker("w0", bdf(0), requests=100.0)))
    assert (alone.actions, "last capacity" in held(alone)) == ((), True)
    both = play(
        policy, sees(gpu(0), gpu(1)),
        has(worker("w0", bdf(0), requests=100.0), worker("w1", bdf(1), fragmentation=0.4)),
    )  # fmt: skip
    assert rungs(both) == ["recycle-worker"]
    assert {f.mode for f in both.state.open_faults} == {"worker-request-limit", "worker-fragmented"}


def test_memory_watermark_with_hysteresis() -> None:
    policy = replace(AUTO, watermark=Watermark(high=0.95, low=0.9, hold=60.0))
    full = play(policy, has(W0, W1), sees(gpu(0, used=0.97), gpu(1)))
    assert full.state.open_faults == ()
    held_long = play(policy, sees(gpu(0, used=0.96), gpu(1), at=START + 60), state=full.state, now=START + 60)
    assert rungs(held_long) == ["stop-new"]
    between = play(policy, sees(gpu(0, used=0.92), gpu(1), at=START + 70), state=held_long.state, now=START + 70)
    assert len(between.state.open_faults) == 1
    low = play(policy, sees(gpu(0, used=0.5), gpu(1), at=START + 80), state=between.state, now=START + 80)
    assert low.state.open_faults == ()


def test_blamed_schedules_are_moved_apart() -> None:
    timers = (Timer(timer="logrotate.timer", every=86400.0, activities=("logrotate",)),
              Timer(timer="monitor.timer", every=300.0, activities=("monitor",)))  # fmt: skip
    finding = FindingSeen(id="c", node="n1", mode="schedule-blamed", activity="logrotate", at=START)
    decision = play(replace(AUTO, schedules=timers), has(), sees(gpu(0)), finding)
    (action,) = decision.actions
    assert [s.arguments for s in action.steps] == [
        {"timer": "monitor.timer", "calendar": "*-*-* *:0/5:00"}, {"timer": "logrotate.timer", "calendar": "*-*-* 03:02:00"}
    ]  # fmt: skip


def test_approval_is_checked_again() -> None:
    policy = replace(AUTO, classes={**AUTO.classes, "move": ClassPolicy(mode="approve")}, has_gateway=False)
    first = play(policy, has(W0), sees(gpu(0, "unhealthy", "RAS-0008"), gpu(1)))
    (waiting,) = first.actions
    stale, why = approved(first.state, waiting, "ann", START + 100, policy)
    assert (stale.phase, "s old" in why) == ("approval", True)
    renewed = play(
        policy, sees(gpu(0, "unhealthy", "RAS-0008"), gpu(1), at=START + 100), state=first.state, now=START + 100
    )
    begun, why = approved(renewed.state, waiting, "ann", START + 100, policy)
    assert (begun.phase, begun.approved_by, why) == ("running", "ann", "")
    used = play(
        policy,
        sees(gpu(0, "unhealthy", "RAS-0008"), gpu(1, pids=(9,)), at=START + 101),
        state=renewed.state,
        now=START + 101,
    )
    gone, _ = approved(used.state, waiting, "ann", START + 101, policy)
    assert (gone.phase, gone.outcome) == ("done", "abandoned"), "the spare is taken meanwhile"


def test_once_only_classes() -> None:
    policy = replace(
        AUTO, classes={k: ClassPolicy(mode="auto" if k == "reset" else "off") for k in KINDS}, cooldown=0.0
    )
    first = play(policy, has(), sees(gpu(0, "unhealthy", "RAS-0002")))
    ended = replace(first.actions[0], phase="done", outcome="succeeded", finished_at=START + 10)
    state = replace(first.state, actions=(ended,), faults=())
    again = play(policy, sees(gpu(0, "unhealthy", "RAS-0002"), at=START + 4000), state=state, now=START + 4000)
    assert again.actions == ()
    (fault,) = again.state.open_faults
    assert fault.passed["reset"] == "done 1 times already within 24 h"


def test_clock_that_was_set_back_does_not_blind_it() -> None:
    first = play(AUTO, has(W0), sees(gpu(0), gpu(1)))
    back = START - 3600
    second = play(AUTO, sees(gpu(0, "unhealthy", "RAS-0002"), gpu(1), at=back), state=first.state, now=back)
    assert rungs(second) == ["stop-new"]


def test_idle_context_of_somebody_does_not_take_a_spare() -> None:
    policy = replace(AUTO, has_gateway=False, spare_idle_bytes=8 << 30)
    ill = sees(gpu(0, "unhealthy", "RAS-0008"), gpu(1, pids=(9,)))
    assert rungs(play(policy, has(W0), ill)) == ["move-worker"]
    assert rungs(play(replace(policy, spare_idle_bytes=1 << 30), has(W0), ill)) == ["people"]
    assert rungs(play(replace(policy, spares=(bdf(7),)), has(W0), ill)) == ["people"]
