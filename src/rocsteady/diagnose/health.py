"""The state of each GPU: healthy, suspect, unhealthy or unknown. A pure function of readings, events and the last state.

Thresholds, each with its source: ``health_thresholds.yaml``. Evidence from before the last boot or reset of a GPU does
not count: events are compared by time, counters with what they were at the reset.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Literal

import msgspec
import yaml

from rocsteady.model import Severity

State = Literal["healthy", "suspect", "unhealthy", "unknown"]
Advice = Literal["none", "stop-new", "drain", "reset-hive", "reboot", "replace"]
ADVICE: tuple[Advice, ...] = ("none", "stop-new", "drain", "reset-hive", "reboot", "replace")
"""From the mildest to the strongest."""
EVENT = "event:"
COUNTS = ("uncorrected.umc", "uncorrected.other", "poison_consumption", "fatal_error")
"""Readings that count up since driver load: a reset makes their present value the new zero."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One threshold; see the head of the file."""

    id: str
    reading: str
    above: float
    hold: float
    clear: float | None
    state: Literal["suspect", "unhealthy"]
    severity: Severity
    advice: Advice
    text: str
    why: str
    source: str
    window: float = 0.0


class Limits(msgspec.Struct, frozen=True):
    """``unknown_after``: seconds without a reading before a GPU is unknown."""

    unknown_after: float


class Thresholds(msgspec.Struct, frozen=True):
    """The whole file."""

    states: Limits
    rules: tuple[Rule, ...]


class HealthEvent(msgspec.Struct, frozen=True):
    """One event about one GPU, in seconds since 1970."""

    kind: str
    at: float
    count: int = 1


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What was read about one GPU. A reading that could not be had is not in ``readings``.

    ``missing``: why the GPU could not be read, '' where it could.
    """

    gpu: str
    readings: dict[str, float] = {}
    events: tuple[HealthEvent, ...] = ()
    missing: str = ""
    boot_id: str = ""


class Reason(msgspec.Struct, frozen=True):
    """Why a GPU is in its state. ``id``: failure mode of the catalog."""

    id: str
    text: str
    severity: Severity


class GpuState(msgspec.Struct, frozen=True, kw_only=True):
    """State of one GPU, and what the next evaluation needs to know.

    ``first_seen``, ``last_seen``: by rule, when its condition began to hold and when it last held.
    ``zero``: counters at the last reset. ``latched``: rules that stay until a reset or boot.
    """

    gpu: str
    state: State
    since: float
    last_evidence_at: float | None = None
    reasons: tuple[Reason, ...] = ()
    advice: Advice = "none"
    boot_id: str = ""
    last_reset: float = 0.0
    last_read: float = 0.0
    first_seen: dict[str, float] = {}
    last_seen: dict[str, float] = {}
    texts: dict[str, str] = {}
    zero: dict[str, float] = {}


@functools.cache
def thresholds() -> Thresholds:
    """The file."""
    text = resources.files("rocsteady.diagnose").joinpath("health_thresholds.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), Thresholds)


def evaluate(seen: Observation, before: GpuState | None, now: float, limits: Thresholds | None = None) -> GpuState:
    """The state of one GPU after an observation; ``now`` in seconds since 1970."""
    limits = limits or thresholds()
    before = before or GpuState(gpu=seen.gpu, state="unknown", since=now, boot_id=seen.boot_id)
    if seen.boot_id and before.boot_id and seen.boot_id != before.boot_id:
        before = GpuState(gpu=seen.gpu, state=before.state, since=before.since, boot_id=seen.boot_id)
    reset = max((e.at for e in seen.events if e.kind == "gpu-reset-succeeded"), default=before.last_reset)
    if reset > before.last_reset:
        zero = {name: seen.readings[name] for name in COUNTS if name in seen.readings}
        before = msgspec.structs.replace(before, last_reset=reset, zero=zero, first_seen={}, last_seen={}, texts={})
    first, last, texts = dict(before.first_seen), dict(before.last_seen), dict(before.texts)
    active: list[Rule] = []
    for rule in limits.rules:
        value = _value(rule, seen, before, now)
        if value is not None and value > rule.above:
            first.setdefault(rule.id, now)
            last[rule.id] = now
            texts[rule.id] = rule.text.format(value=value)
        elif value is not None and rule.id in last and rule.clear is not None and now - last[rule.id] >= rule.clear:
            for table in (first, last, texts):
                table.pop(rule.id, None)
        if rule.id in first and last[rule.id] - first[rule.id] >= rule.hold:
            active.append(rule)
        elif rule.id in first and last[rule.id] < now:
            for table in (first, last, texts):  # gone before it had held long enough
                table.pop(rule.id, None)
    return _state(seen, before, now, limits, active, first, last, texts)


def _value(rule: Rule, seen: Observation, before: GpuState, now: float) -> float | None:
    if rule.reading.startswith(EVENT):
        kind = rule.reading.removeprefix(EVENT)
        start = max(before.last_reset, now - rule.window)
        return sum(e.count for e in seen.events if e.kind == kind and e.at > start)
    value = seen.readings.get(rule.reading)
    if value is None:
        return None
    zero = before.zero.get(rule.reading, 0.0)
    return value - zero if value >= zero else value  # a counter that went back began anew


def _state(
    seen: Observation, before: GpuState, now: float, limits: Thresholds, active: list[Rule],
    first: dict[str, float], last: dict[str, float], texts: dict[str, str],
) -> GpuState:  # fmt: skip
    last_read = before.last_read if seen.missing else now
    reasons = tuple(Reason(rule.id, texts[rule.id], rule.severity) for rule in active)
    state: State
    if any(rule.state == "unhealthy" for rule in active):
        state = "unhealthy"
    elif seen.missing and now - last_read >= limits.states.unknown_after:
        state = "unknown"
        reasons = (*reasons, Reason("unreadable", seen.missing, "warning"))
    elif seen.missing:
        state = before.state
    else:
        state = "suspect" if active else "healthy"
    none: Advice = "none"
    advice = max((rule.advice for rule in active), key=ADVICE.index, default=none)
    evidence = [last[rule.id] for rule in active]
    return GpuState(
        gpu=seen.gpu, state=state, since=before.since if state == before.state else now,
        last_evidence_at=max(evidence) if evidence else before.last_evidence_at, reasons=reasons, advice=advice,
        boot_id=seen.boot_id or before.boot_id, last_reset=before.last_reset, last_read=last_read, first_seen=first,
        last_seen=last, texts=texts, zero=before.zero,
    )  # fmt: skip
