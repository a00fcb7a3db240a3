"""Budgets and queue: pure parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.gateway.admission_budget import Budget
from rocsteady.gateway.admission_queue import Entry, FairQueue
from rocsteady.gateway.admission_rules import AdmissionRules, Limits, limits_of, read_guards, read_rules
from rocsteady.gateway.worker import WorkerSpec
from rocsteady.model import InputError

RULES = AdmissionRules()
LIMITS = Limits(requests=20, tokens=10_000, kv_watermark=0.9, memory_watermark=0.97)
GUARD = {"memory_watermark_ratio": 0.95, "kv_usage_ratio": 0.9, "admission_tokens": 9000, "admission_requests": 12}


def spec(**more: object) -> WorkerSpec:
    return WorkerSpec(name="w", url="http://127.0.0.1:1", model="m", **more)  # type: ignore[arg-type]


def test_room_in_requests_and_tokens() -> None:
    budget = Budget(LIMITS, RULES)
    for _ in range(9):
        assert budget.room(1000)
        budget.take(1000)
    assert budget.room(1000) and not budget.room(1001)
    for _ in range(11):
        budget.take(0)
    assert not budget.room(0)


def test_larger_than_the_budget_goes_to_an_empty_worker() -> None:
    budget = Budget(LIMITS, RULES)
    assert budget.room(50_000)
    budget.take(1)
    assert not budget.room(50_000)


def test_watermark_closes_shrinks_and_opens_again() -> None:
    budget = Budget(LIMITS, RULES)
    for _ in range(10):
        budget.take(1)
    assert budget.report(1.0, 0.89, None) and not budget.closed
    assert budget.report(2.0, 0.90, None) and budget.closed and budget.limit == 7.0 and "KV cache" in budget.reason
    assert not budget.report(2.0, 0.99, None) and budget.limit == 7.0
    budget.report(3.0, 0.86, None)
    assert budget.closed and budget.limit == 7.0  # between the marks nothing changes
    budget.report(4.0, 0.80, None)
    assert not budget.closed and budget.limit == 8.0
    for at in range(5, 40):
        budget.report(at, 0.1, None)
    assert budget.limit == 20.0


def test_memory_watermark_and_unknown() -> None:
    budget = Budget(LIMITS, RULES)
    budget.report(1.0, None, 0.98)
    assert budget.closed and "GPU memory" in budget.reason
    budget.report(2.0, None, None)
    assert budget.closed  # unknown opens nothing
    budget.forget_stale(2.0 + RULES.stale_seconds + 1)
    assert not budget.closed
    budget.report(3.0, None, None)
    assert not budget.closed  # and closes nothing


@given(st.lists(st.tuples(st.none() | st.floats(0, 1.2), st.none() | st.floats(0, 1)), max_size=60), st.integers(0, 30))
def test_limit_stays_in_its_bounds(reports: list[tuple[float | None, float | None]], running: int) -> None:
    budget = Budget(LIMITS, RULES)
    for _ in range(running):
        budget.take(1)
    for at, (kv, memory) in enumerate(reports):
        budget.report(float(at), kv, memory)
        assert 1.0 <= budget.limit <= 20.0
        if (kv is not None and kv >= 0.9) or (memory is not None and memory >= 0.97):
            assert budget.closed and budget.limit <= max(1.0, running) * RULES.shrink + 0.31


def test_limits_come_from_worker_then_plan_then_default() -> None:
    guards = read_guards_of(GUARD)
    assert limits_of(spec(), RULES, {}, 1) == Limits(requests=256, tokens=None, kv_watermark=0.9, memory_watermark=0.98)
    planned = limits_of(spec(), RULES, guards, 1)
    assert (planned.requests, planned.tokens, planned.memory_watermark) == (12, 9000, 0.95)
    stated = limits_of(spec(max_concurrency=8, kv_tokens=1000), RULES, guards, 4)
    assert (stated.requests, stated.tokens) == (2, 225)
    assert limits_of(spec(max_concurrency=1), RULES, {}, 4).requests == 1


def read_guards_of(guard: dict[str, float]) -> dict[str, object]:  # through the file, as the gateway does
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plan.json").write_text(
            json.dumps({"schema": "rocsteady.plan/1", "guard": guard, "fits": True})
        )
        return dict(read_guards(AdmissionRules(plans={"m": "plan.json"}), Path(folder)))


def test_bad_configuration(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"admission: .*nonsense"):
        read_rules({"nonsense": 1})
    with pytest.raises(InputError, match="admission: "):
        read_rules({"queue": 0})
    for content in (
        None,
        "{",
        '{"schema": "rocsteady.plan/1"}',
        json.dumps({"schema": "other", "guard": GUARD}),
    ):
        if content is not None:
            (tmp_path / "p.json").write_text(content)
        with pytest.raises(InputError, match=r"admission: .*p\.json"):
            read_guards(AdmissionRules(plans={"m": "p.json"}), tmp_path)


def test_a_real_plan_is_read(tmp_path: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "rocsteady", "plan", "--model", "Llama-3.1-8B", "--gpu", "MI300X", "--tp", "1", "--engine-version", "0.20", "--format", "json"]  # fmt: skip
    made = subprocess.run(command, capture_output=True, check=True)
    (tmp_path / "plan.json").write_bytes(made.stdout)
    (guard,) = read_guards(read_rules({"plans": {"m": "plan.json"}}), tmp_path).values()
    assert guard.admission_tokens > 100_000 and 0.9 < guard.memory_watermark_ratio < 1


def entry(key: str, tokens: int = 1, weight: float = 1.0, priority: int = 1, deadline: float = 1e9) -> Entry[str, str]:
    return Entry(key, key=key, weight=weight, priority=priority, tokens=tokens, deadline=deadline, workers=("w",))


def one(queue: FairQueue[str, str]) -> list[Entry[str, str]]:
    """Who is served where there is room for one."""
    room = ["w"]
    return [e for e, _ in queue.ready(lambda _, waited: room.pop() if room and not waited else None)]


def order(queue: FairQueue[str, str], count: int) -> str:
    """Who is served, one at a time."""
    return "".join(e.what for _ in range(count) for e in one(queue))


def test_a_flood_waits_behind_itself() -> None:
    queue: FairQueue[str, str] = FairQueue(100)
    for _ in range(20):
        queue.push(entry("a"))
    queue.push(entry("b"))
    queue.push(entry("b"))
    assert order(queue, 6) == "abab" + "aa"


def test_shares_follow_weights_and_tokens() -> None:
    queue: FairQueue[str, str] = FairQueue(1000)
    for _ in range(200):
        queue.push(entry("a", weight=3.0))
        queue.push(entry("b"))
    assert 58 <= order(queue, 80).count("a") <= 62
    queue = FairQueue(1000)
    for _ in range(200):
        queue.push(entry("a", tokens=100))
        queue.push(entry("b", tokens=300))
    assert 58 <= order(queue, 80).count("a") <= 62


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=80))
def test_backlogged_keys_differ_by_at_most_one_request_each(pushes: list[tuple[str, int, int]]) -> None:
    """The bound of start-time fair queueing, for keys that all wait from the start."""
    weights = {"a": 1.0, "b": 2.0, "c": 4.0}
    queue: FairQueue[str, str] = FairQueue(1000)
    left: dict[str, int] = {}
    largest: dict[str, int] = {}
    for key, tokens, _ in pushes:
        queue.push(entry(key, tokens, weights[key]))
        left[key] = left.get(key, 0) + 1
        largest[key] = max(largest.get(key, 0), tokens)
    served = dict.fromkeys(left, 0.0)
    while len(queue):
        (first,) = one(queue)
        key = first.key
        served[key] += first.tokens / weights[key]
        left[key] -= 1
        waiting = [k for k in left if left[k]]
        for a in waiting:
            for b in waiting:
                assert served[a] - served[b] <= largest[a] / weights[a] + largest[b] / weights[b] + 1e-9


def test_full_queue_sheds_the_least_important() -> None:
    queue: FairQueue[str, str] = FairQueue(3)
    first = entry("a", priority=1)
    for e in (first, entry("a", priority=1), entry("b", priority=1)):
        assert queue.push(e) is None
    late = entry("z", priority=2)
    assert queue.push(late) is late
    victim = queue.push(entry("c", priority=0))
    assert victim is not None and victim.key == "a" and victim is not first  # the newest of the key with the most
    again = entry("c", priority=1)
    assert queue.push(again) is again


def test_no_overtaking_on_a_worker_that_is_waited_for() -> None:
    queue: FairQueue[str, str] = FairQueue(10)
    queue.push(entry("big", tokens=50))
    queue.push(entry("small"))
    assert queue.ready(lambda e, waited: "w" if e.tokens < 10 and not waited else None) == []
    assert [e.key for e in queue.expired(0.0)] == [] and queue.ahead_of(("w",)) and not queue.ahead_of(("v",))
