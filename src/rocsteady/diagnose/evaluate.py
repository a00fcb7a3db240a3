"""Evaluates a rule's condition on facts and events: true, false, or None for "not known", with the evidence.

``not`` of unknown is unknown. Logs are a closed world: an event that no log shows did not happen, unless there
is no log at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from rocsteady.catalog.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Not,
    OnEvent,
    OnFact,
    OnNote,
    OnProbe,
    Test,
)
from rocsteady.diagnose.lookup import lookup
from rocsteady.diagnose.versions import satisfies
from rocsteady.model import NODE, CatalogError, Event, EventLog, Evidence, Gpu, NodeFacts, Subject


class World:
    """What a rule can look at: the facts and events of one node, indexed."""

    def __init__(self, facts: NodeFacts, log: EventLog) -> None:
        self.facts = facts
        self.log = log
        self.by_kind: dict[str, list[Event]] = {}
        for event in log.events:
            self.by_kind.setdefault(event.kind, []).append(event)

    def events(self, kinds: tuple[str, ...]) -> list[Event]:
        """All events of some kinds, in reading order."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], [])
        return sorted((e for k in kinds for e in self.by_kind.get(k, [])), key=lambda e: e.order)


class Answer(msgspec.Struct, frozen=True):
    """The value of a condition. ``own`` is True when something of the asked subject itself was used."""

    value: bool | None
    evidence: tuple[Evidence, ...] = ()
    bindings: dict[str, str] = {}
    events: tuple[Event, ...] = ()
    own: bool = False
    missing: tuple[str, ...] = ()


FALSE = Answer(False)


class Probed(msgspec.Struct, frozen=True):
    """What a probe answers."""

    value: bool | None
    evidence: tuple[Evidence, ...] = ()
    bindings: dict[str, str] = {}
    events: tuple[Event, ...] = ()


Probe = Callable[[World, Subject, Gpu | None], Probed]


class Asked(msgspec.Struct, frozen=True):
    """The subject a rule is evaluated for."""

    subject: Subject
    gpu: Gpu | None = None


def evaluate(condition: Condition, world: World, asked: Asked, probes: dict[str, Probe]) -> Answer:
    """The value of ``condition`` for one subject."""
    match condition:
        case AllOf(parts):
            return _all([evaluate(p, world, asked, probes) for p in parts])
        case AnyOf(parts):
            return _any([evaluate(p, world, asked, probes) for p in parts])
        case Not(part):
            inner = evaluate(part, world, asked, probes)
            return Answer(None if inner.value is None else not inner.value, missing=inner.missing)
        case OnEvent():
            return _event(condition, world, asked)
        case OnFact(path, tests):
            return _fact(path, tests, world, asked)
        case OnNote(key, value):
            return _note(key, value, world)
        case OnProbe(name):
            if name not in probes:
                raise CatalogError(f"no probe is called {name!r}")
            answer = probes[name](world, asked.subject, asked.gpu)
            # Asked about one GPU of whom facts are known, or answered with events of that GPU: it is about that GPU.
            own = (
                asked.subject == NODE or asked.gpu is not None or any(e.subject == asked.subject for e in answer.events)
            )
            return Answer(answer.value, answer.evidence, answer.bindings, answer.events, own=own)


def _all(answers: list[Answer]) -> Answer:
    if any(a.value is False for a in answers):
        return FALSE
    if any(a.value is None for a in answers):
        return Answer(None, missing=tuple(m for a in answers for m in a.missing))
    return _join(answers)


def _any(answers: list[Answer]) -> Answer:
    true = [a for a in answers if a.value]
    if true:
        return _join(true)
    if any(a.value is None for a in answers):
        return Answer(None, missing=tuple(m for a in answers for m in a.missing))
    return FALSE


def _join(answers: list[Answer]) -> Answer:
    bindings: dict[str, str] = {}
    for answer in answers:
        for key, value in answer.bindings.items():
            bindings.setdefault(key, value)
    return Answer(
        True,
        tuple(dict.fromkeys(e for a in answers for e in a.evidence)),
        bindings,
        tuple(e for a in answers for e in a.events),
        any(a.own for a in answers),
    )


# --- events --------------------------------------------------------------------------------------


def visible(event: Event, asked: Asked, anywhere: bool = False) -> bool:
    """A rule about the node sees every event; one about a GPU sees its own and those of the node."""
    if anywhere or asked.subject.kind != "gpu":
        return True
    return event.subject is None or event.subject == asked.subject or event.subject.kind != "gpu"


def _event(condition: OnEvent, world: World, asked: Asked) -> Answer:
    fits = [
        e for e in world.events(condition.kinds)
        if visible(e, asked, condition.anywhere) and _where(e, condition.where)
    ]  # fmt: skip
    if condition.after:
        fits = [
            e for e in fits if any(o.order < e.order and visible(o, asked) for o in world.events((condition.after,)))
        ]
    if condition.before:
        fits = [
            e for e in fits if any(o.order > e.order and visible(o, asked) for o in world.events((condition.before,)))
        ]
    if not fits:
        return FALSE if world.log.files else Answer(None, missing=(f"event {condition.kinds[0]}",))
    total = sum(e.count for e in fits)
    if total < condition.count or not _dense(fits, condition.count, condition.within):
        return FALSE
    bindings: dict[str, str] = {"count": str(total)}
    for event in fits:
        for key, value in event.fields.items():
            bindings.setdefault(key, value)
    own = asked.subject == NODE or any(e.subject == asked.subject for e in fits)
    shown = [ev for e in fits[:3] for ev in (e.evidence, *e.more)]
    return Answer(True, tuple(shown[:16]), bindings, tuple(fits), own)


def _where(event: Event, where: dict[str, tuple[Test, ...]]) -> bool:
    return all(all(check(event.fields.get(field), t) for t in tests) for field, tests in where.items())


def _dense(events: list[Event], count: int, within: float | None) -> bool:
    """Whether ``count`` of the events lie within so many seconds; events without a time stamp count as dense."""
    if within is None or count <= 1:
        return True
    times = sorted(t for e in events if (t := e.at if e.at is not None else e.uptime) is not None)
    if len(times) < count:
        return len(times) < len(events) or any(e.count >= count for e in events)
    return any(times[i + count - 1] - times[i] <= within for i in range(len(times) - count + 1))


# --- facts and notes -----------------------------------------------------------------------------


def _fact(path: str, tests: tuple[Test, ...], world: World, asked: Asked) -> Answer:
    found = lookup(world.facts, path, asked.gpu)
    if len(tests) == 1 and tests[0].op == "exists":
        present = found.value is not None and found.value != ()
        if present == bool(tests[0].value):
            return Answer(
                True,
                (found.evidence,) if found.evidence else (),
                {},
                (),
                path.startswith("gpu.") or asked.subject == NODE,
            )
        return FALSE
    if found.value is None:
        return Answer(None, missing=(path,))
    results = [check(found.value, test) for test in tests]
    if any(r is None for r in results):
        return Answer(None, missing=(path,))
    if not all(results):
        return FALSE
    evidence = (found.evidence,) if found.evidence else ()
    name = path.rpartition(".")[2]
    return Answer(True, evidence, {name: show(found.value)}, (), path.startswith("gpu.") or asked.subject == NODE)


def _note(key: str, value: str, world: World) -> Answer:
    if not world.facts.notes:
        return Answer(None, missing=("a note",))
    for note in world.facts.notes:
        if re.search(key, note.key, re.IGNORECASE) and re.search(value, note.value, re.IGNORECASE):
            return Answer(True, (note.evidence,), {"note": note.value, "note_key": note.key}, (), True)
    return FALSE


def show(value: Any) -> str:
    """A fact's value as people write it."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" if v != "" else str(k) for k, v in value.items())
    return str(value)


def check(value: Any, test: Test) -> bool | None:
    """One test on one value; None when the value cannot be compared that way."""
    op, want = test.op, test.value
    if op == "exists":
        return (value is not None) == bool(want)
    if value is None:
        return False
    text = show(value)
    match op:
        case "eq" | "ne":
            equal = text.lower() == str(want).lower() or _as_number(value) == _as_number(want) is not None
            return equal if op == "eq" else not equal
        case "gt" | "ge" | "lt" | "le":
            left, right = _as_number(value), _as_number(want)
            if left is None or right is None:
                return None
            return {"gt": left > right, "ge": left >= right, "lt": left < right, "le": left <= right}[op]
        case "in":
            return text.lower() in {str(w).lower() for w in want}
        case "matches":
            return re.search(str(want), text, re.IGNORECASE) is not None
        case "contains":
            if isinstance(value, (list, tuple, dict)):
                return str(want).lower() in {str(v).lower() for v in value}
            return str(want).lower() in text.lower()
        case "version":
            return satisfies(text, str(want))
    return None


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip()
    try:
        return float(int(text, 16)) if text.lower().startswith("0x") else float(text)
    except ValueError:
        return None
