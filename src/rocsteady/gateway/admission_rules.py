"""How admission is configured: ``[admission]`` of the gateway's file, and the guard of a memory plan.

A plan (``rocsteady plan --format json``) says how many tokens and requests fit on a worker, and above which share of the
GPU's memory something else is on it. ``plans`` names the file for a worker or for a model; what a ``[[worker]]`` states
itself (``kv_tokens``, ``max_concurrency``) goes before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rocsteady.gateway.config import Config
from rocsteady.gateway.worker import WorkerSpec
from rocsteady.model import InputError

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Ratio = Annotated[float, msgspec.Meta(gt=0, le=1)]


class AdmissionRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of the queue and of workers about which nothing better is known.

    ``queue``: requests that may wait. llm-d's flow control takes 5,000 a priority, vllm-router 100; ours waits at most
    ``wait_seconds``, so a queue that is longer than what is served in that time only delays the refusal.
    ``wait_seconds``: longest wait (vllm-router and SGLang's gateway: 60 s; half of it, since a client that streams looks
    at its time to first token). ``concurrency``: where neither worker nor plan says: vLLM's long-time default of
    ``--max-num-seqs``. ``kv_watermark``: vLLM preempts when no block is free; a tenth is left for running requests to
    grow (the same as the plan's guard). ``memory_watermark``: without a plan, 0.98 of the GPU: what engines are started
    with stays below (0.90 to 0.95). ``release_margin``: a watermark counts as left so far below it, against flapping.
    ``shrink``, ``grow``: the limit falls by this factor at each report above a watermark and rises by this share of the
    full limit at each one below (additive increase, multiplicative decrease). ``output_tokens``: what a request that
    sets no limit is counted with. ``stale_seconds``: a report older than that says nothing.
    """

    queue: Count = 512
    wait_seconds: Positive = 30.0
    concurrency: Count = 256
    kv_watermark: Ratio = 0.9
    memory_watermark: Ratio = 0.98
    release_margin: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.05
    shrink: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.7
    grow: Ratio = 0.05
    output_tokens: Count = 512
    stale_seconds: Positive = 10.0
    plans: dict[str, str] = {}


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a plan that admission follows."""

    memory_watermark_ratio: float
    kv_usage_ratio: float
    admission_tokens: int
    admission_requests: int


class _Plan(msgspec.Struct):
    schema: str
    guard: Guard


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker may be given by this process. ``tokens`` None: not known."""

    requests: int
    tokens: int | None
    kv_watermark: float
    memory_watermark: float


def read_rules(section: Mapping[str, Any]) -> AdmissionRules:
    """The ``[admission]`` section.

    Raises:
        InputError: a key or value is wrong.
    """
    try:
        return msgspec.convert(dict(section), AdmissionRules)
    except msgspec.ValidationError as error:
        raise InputError(f"admission: {error}") from None


def read_guards(rules: AdmissionRules, folder: Path = Path()) -> dict[str, Guard]:
    """The guards of the plans, by the name of their worker or model. Relative paths start at ``folder``.

    Raises:
        InputError: a file cannot be read, or is no plan.
    """
    found: dict[str, Guard] = {}
    for name, where in rules.plans.items():
        path = folder / where
        try:
            plan = msgspec.json.decode(path.read_bytes(), type=_Plan)
        except OSError as error:
            raise InputError(f"admission: {path}: {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"admission: {path}: no plan (rocsteady plan --format json): {error}") from None
        if plan.schema != "rocsteady.plan/1":
            raise InputError(f"admission: {path}: schema {plan.schema!r}, rocsteady.plan/1 was wanted")
        found[name] = plan.guard
    return found


def limits_of(spec: WorkerSpec, rules: AdmissionRules, guards: Mapping[str, Guard], processes: int) -> Limits:
    """What one of ``processes`` gateway processes may give to a worker: an equal part each, at least one request."""
    guard = guards.get(spec.name) or guards.get(spec.model)
    requests, tokens = spec.max_concurrency, spec.kv_tokens
    kv, memory = rules.kv_watermark, rules.memory_watermark
    if tokens is not None:
        tokens = int(tokens * kv)
    if guard is not None:
        kv, memory = guard.kv_usage_ratio, guard.memory_watermark_ratio
        requests = guard.admission_requests if requests is None else requests
        tokens = guard.admission_tokens if tokens is None else tokens
    if requests is None:
        requests = rules.concurrency
    return Limits(
        requests=max(1, requests // processes), tokens=None if tokens is None else tokens // processes,
        kv_watermark=kv, memory_watermark=memory,
    )  # fmt: skip


def admission_of(config: Config, path: Path | None) -> tuple[AdmissionRules, dict[str, Guard]]:
    """Rules and guards of a configuration; ``path`` is its file.

    Raises:
        InputError: the section or a plan cannot be used.
    """
    rules = read_rules(config.admission)
    return rules, read_guards(rules, Path() if path is None else path.parent)
