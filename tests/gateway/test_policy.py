"""Routing, pools, retries, classification, counters, GPU documents: the pure parts."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.gateway.classify import fault
from rocsteady.gateway.config import ModelRule
from rocsteady.gateway.gpus import parse_document, verdict
from rocsteady.gateway.health import Health, Rules
from rocsteady.gateway.interfaces import Call, View
from rocsteady.gateway.progress import moved, parse_metrics
from rocsteady.gateway.retry import Budget, pause
from rocsteady.gateway.routing import Router
from rocsteady.gateway.scheduler import PoolRule, PoolState, choose_pool
from rocsteady.gateway.splice import splice_model
from rocsteady.gateway.worker import Worker, WorkerSpec


def made(name: str, **more: Any) -> Worker:
    spec = WorkerSpec(**({"name": name, "url": "http://h", "model": "m"} | more))
    worker = Worker(spec, Health(Rules()))
    worker.health.proof(0)
    return worker


def call(model: str = "m", **more: Any) -> Call:
    return Call(id="1", path="/v1/completions", body=b"", view=View(model=model), **more)


def router(*workers: Worker, rule: ModelRule | None = None) -> Router:
    found = Router([rule] if rule else [], random.Random(7).random)
    found.replace(workers)
    return found


def test_the_ladder_in_order() -> None:
    a, b = made("a", node="n1", precision="fp16"), made("b", node="n1", precision="fp16")
    c, d = made("c", node="n2", precision="fp16"), made("d", node="n2", precision="awq")
    e, f = made("e", model="small", node="n3"), made("f", model="small", tier="cpu", node="n4")
    rule = ModelRule(name="m", smaller=("small",), pool=(PoolRule(precision="fp16"), PoolRule(precision="awq")))
    found = router(a, b, c, d, e, f, rule=rule)
    picks = found.candidates(call(), [(a, "refused")])
    assert [(p.worker.name, p.stage) for p in picks] == [
        ("b", "gpu"), ("c", "node"), ("d", "precision"), ("e", "model"), ("f", "cpu"),
    ]  # fmt: skip
    assert all("refused" in p.reason for p in picks)
    picks = found.candidates(call(degrade=False), [(a, "refused")])
    assert [p.stage for p in picks] == ["gpu", "node"]
    short = router(a, b, c, d, e, f, rule=ModelRule(name="m", ladder=("cpu",), smaller=("small",)))
    assert {p.stage for p in short.candidates(call(), [(a, "refused")])} == {"cpu"}


def test_gpu_health_and_drain_block_and_the_last_capacity_stays() -> None:
    a, b = made("a", node="n1"), made("b", node="n2")
    a.gpu_state, a.gpu_advice, a.gpu_reason = "unhealthy", "drain", "uncorrectable errors"
    found = router(a, b)
    for _ in range(20):
        picks = found.candidates(call())
        assert [p.worker.name for p in picks] == ["b"]
    b.drained = "by hand"
    assert [(p.worker.name, p.stage) for p in found.candidates(call())] == [("a", "last")]
    a.drained = "by hand"
    assert found.candidates(call()) == []
    assert found.candidates(call("nobody")) == []


def test_a_worker_in_doubt_comes_last_and_load_is_spread() -> None:
    a, b, c = made("a"), made("b"), made("c", weight=4.0)
    a.health.doubt("late", 1)
    b.inflight, c.inflight = 2, 6
    assert [p.worker.name for p in router(a, b, c).candidates(call())] == ["c", "b", "a"]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(0, 9)), min_size=1, max_size=12))
def test_never_an_empty_answer_while_something_is_not_drained(rows: list[tuple[bool, bool, bool, int]]) -> None:
    workers = []
    for number, (out, bad, drained, inflight) in enumerate(rows):
        worker = made(f"w{number}", node=f"n{number % 3}", precision=["fp16", "awq"][number % 2])
        worker.inflight = inflight
        if out:
            worker.health.failure("frozen", "x", 1)
        if bad:
            worker.gpu_state = "unhealthy"
        if drained:
            worker.drained = "x"
        workers.append(worker)
    picks = router(*workers).candidates(call())
    names = [pick.worker.name for pick in picks]
    assert len(names) == len(set(names))
    assert not any(pick.worker.drained for pick in picks)
    free = [w for w in workers if not w.blocked]
    if free:
        assert not any(pick.worker.blocked for pick in picks)
        assert picks
    else:
        assert bool(picks) == any(not w.drained for w in workers)


POOLS = (PoolRule(precision="fp16", longest=8000, full=0.8, ttft_seconds=2.0), PoolRule(precision="fp8", shortest=0))


@pytest.mark.parametrize(
    ("prompt", "load", "ttft", "degrade", "first", "why"),
    [
        (100, 0.1, 0.2, True, "fp16", ""), (9000, 0.1, 0.2, True, "fp8", "long"), (100, 0.9, 0.2, True, "fp8", "load"),
        (100, 0.1, 3.0, True, "fp8", "time to first token"), (100, 0.9, 3.0, False, "fp16", ""),
        (100, 0.1, None, True, "fp16", ""),
    ],
)  # fmt: skip
def test_pools_by_length_load_and_goal(
    prompt: int, load: float, ttft: float | None, degrade: bool, first: str, why: str
) -> None:
    states = [PoolState(precision="fp8", load=0.3), PoolState(precision="fp16", load=load, ttft=ttft)]
    choice = choose_pool(POOLS, states, prompt, 10, degrade=degrade)
    assert choice.order[0] == first
    assert why in choice.reason
    assert bool(choice.reason) == bool(why)


def test_context_decides_too() -> None:
    states = [PoolState(precision="fp16", load=0, context=4096), PoolState(precision="fp8", load=0, context=32768)]
    assert choose_pool(POOLS, states, 3000, 2000, degrade=True).order == ("fp8",)
    assert choose_pool(POOLS, states, 3000, 500, degrade=True).order == ("fp16", "fp8")


def test_retry_budget_and_pauses() -> None:
    budget = Budget(0.2, 1.0, 0.0)
    assert sum(budget.take(0.0) for _ in range(50)) == 10
    for _ in range(12):
        budget.request()
    assert sum(budget.take(0.0) for _ in range(50)) == 2
    assert sum(budget.take(3.0) for _ in range(50)) == 3
    waits = [pause(n, 0.025, 1.0, lambda: 1.0) for n in range(1, 12)]
    assert waits[:4] == [0.0, 0.025, 0.05, 0.1]
    assert max(waits) == 1.0
    assert pause(5, 0.025, 1.0, lambda: 0.0) == 0.0


@pytest.mark.parametrize(
    ("status", "body", "whose"),
    [
        (200, b"", "none"), (400, b"", "client"), (404, b"no such adapter", "client"), (422, b"", "client"),
        (404, b"The model `x` does not exist.", "misconfigured"), (401, b"", "misconfigured"), (429, b"", "busy"),
        (503, b"", "worker"), (500, b"EngineDeadError", "worker"),
        (500, b"This model's maximum context length is 1024 tokens", "client"),
        (500, b"The decoder prompt (length 9) is longer than the maximum model length of 8", "client"),
    ],
)  # fmt: skip
def test_whose_fault(status: int, body: bytes, whose: str) -> None:
    assert fault(status, body) == whose


def test_counters_of_engines() -> None:
    text = b"""# HELP vllm:generation_tokens_total x
vllm:generation_tokens_total{engine="0",model_name="m"} 10.0
vllm:generation_tokens_total{engine="1",model_name="m"} 5.0
vllm:generation_tokens_total_extra 99.0
vllm:num_requests_running{engine="0"} 3.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
vllm:num_requests_waiting NaN
"""
    sample = parse_metrics(text)
    assert (sample.moved, sample.running, sample.waiting, sample.kv_usage) == (15.0, 3.0, None, 0.5)
    assert moved(sample, sample) is False
    assert moved(sample, parse_metrics(text.replace(b"10.0", b"11.0"))) is True
    assert moved(sample, parse_metrics(b"")) is None, "unknown, not standing still"


@given(st.binary(max_size=300))
def test_counters_never_raise(text: bytes) -> None:
    parse_metrics(text + b"\nvllm:generation_tokens_total " + text)


def document(*gpus: dict[str, Any]) -> bytes:
    return json.dumps(
        {"schema": "rocsteady.gpu-health/1", "node": "n", "boot_id": "b", "at": "", "gpus": gpus}
    ).encode()


def test_the_worst_gpu_of_a_group_decides() -> None:
    good = {"bdf": "0000:05:00.0", "state": "healthy", "advice": "none", "reasons": [], "partition": None,
            "memory": {"used_bytes": 9, "total_bytes": 10}}  # fmt: skip
    bad = good | {
        "bdf": "0000:26:00.0",
        "state": "unhealthy",
        "advice": "drain",
        "reasons": [{"id": "x", "text": "UE"}],
    }
    read = parse_document(document(good, bad))
    spec = WorkerSpec(name="a", url="http://h", model="m", gpus=("0000:05:00.0", "0000:26:00.0"))
    found = verdict(spec, read)
    assert (found.state, found.advice, found.reason, found.memory_ratio) == ("unhealthy", "drain", "UE", 0.9)
    one = WorkerSpec(name="a", url="http://h", model="m", gpus=("0000:05:00.0",))
    assert verdict(one, read).state == "healthy"
    absent = WorkerSpec(name="a", url="http://h", model="m", gpus=("0000:05:00.0", "0000:99:00.0"))
    assert verdict(absent, read).state == "unknown", "a GPU that is not shown is unknown"
    part = parse_document(document(good | {"partition": 3, "state": "suspect"}, good | {"partition": 4}))
    third = WorkerSpec(name="a", url="http://h", model="m", gpus=("0000:05:00.0/3",))
    assert verdict(third, part).state == "suspect"
    with pytest.raises(msgspec.DecodeError):
        parse_document(b'{"schema": "other/1", "node": "n"}')


KEYS = st.sampled_from(["model", "prompt", "mod\\u0065l", "x", "messages"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.just("model"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=8), JSON, max_size=5),
    st.text(max_size=10),
    st.text(max_size=10),
    st.integers(0, 2),
)
def test_only_the_model_changes(fields: dict[str, Any], model: str, name: str, indent: int) -> None:
    fields["model"] = model
    body = json.dumps(fields, indent=indent or None).encode()
    assert json.loads(splice_model(body, name)) == fields | {"model": name}
    assert (
        splice_model(body, model).replace(b" ", b"") == body.replace(b" ", b"")
        or json.dumps(model) not in body.decode()
    )
