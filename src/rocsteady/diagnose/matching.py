"""Finds which failure modes hold, for which subjects."""

from __future__ import annotations

import msgspec

from rocsteady.catalog import Catalog, Mode
from rocsteady.catalog.conditions import AllOf, AnyOf, Condition, Not, OnEvent
from rocsteady.diagnose.evaluate import Answer, Asked, Probe, World, evaluate
from rocsteady.diagnose.lookup import gpu_key
from rocsteady.diagnose.versions import satisfies
from rocsteady.model import NODE, Event, Evidence, Role, Severity, Subject


class Match(msgspec.Struct, frozen=True):
    """A mode that holds for a subject."""

    mode: Mode
    subject: Subject
    asked: Asked
    evidence: tuple[Evidence, ...]
    bindings: dict[str, str]
    events: tuple[Event, ...]
    confidence: float
    severity: Severity
    role: Role

    @property
    def first(self) -> tuple[float | None, int]:
        """Time (or None) and reading order of its first event."""
        if not self.events:
            return None, 0
        event = min(self.events, key=lambda e: e.order)
        return (event.at if event.at is not None else event.uptime), event.order


class Open(msgspec.Struct, frozen=True):
    """A mode that could not be judged because something was not there."""

    mode: Mode
    missing: tuple[str, ...]


def find_matches(catalog: Catalog, world: World, probes: dict[str, Probe]) -> tuple[list[Match], list[Open]]:
    """Try every mode; returns what holds and what stays unknown."""
    matches: list[Match] = []
    unknown: list[Open] = []
    for mode in catalog.modes.values():
        if mode.status == "retired" or not _applies(mode, world):
            continue
        found, missing = _try(mode, world, probes)
        matches.extend(found)
        if missing and not found:
            unknown.append(Open(mode, missing))
    return matches, unknown


def _try(mode: Mode, world: World, probes: dict[str, Probe]) -> tuple[list[Match], tuple[str, ...]]:
    found: list[Match] = []
    missing: tuple[str, ...] = ()
    for asked in _subjects(mode, world):
        answer = evaluate(mode.condition, world, asked, probes)
        if answer.value is None and not (mode.subject == "gpu" and asked.gpu is None and world.facts.gpus):
            # asked about the node, a rule on single GPUs knows nothing; the GPUs themselves have answered
            missing = missing or answer.missing
        if not answer.value or (mode.subject == "gpu" and not answer.own):
            continue
        if mode.exception is not None and evaluate(mode.exception, world, asked, probes).value:
            continue
        found.append(_match(mode, asked, answer, world, probes))
    if len(found) > 1:
        found = [m for m in found if m.subject != NODE]
    return found, missing


def _match(mode: Mode, asked: Asked, answer: Answer, world: World, probes: dict[str, Probe]) -> Match:
    confidence, severity, role = mode.confidence, mode.severity, mode.role
    evidence = list(answer.evidence)
    bindings = dict(answer.bindings)
    for condition, change in mode.raised:
        more = evaluate(condition, world, asked, probes)
        if not more.value:
            continue
        confidence = change.confidence if change.confidence is not None else confidence
        severity = change.severity or severity
        role = change.role or role
        evidence.extend(e for e in more.evidence if e not in evidence)
        bindings = {**more.bindings, **bindings}
    subject = asked.subject
    if mode.subject not in ("gpu", "node"):
        own = next((e.subject for e in answer.events if e.subject and e.subject.kind == mode.subject), None)
        subject = own or Subject(mode.subject, _DEFAULT_ID.get(mode.subject, mode.subject))
    bindings["subject"] = subject.id
    return Match(mode, subject, asked, tuple(evidence), bindings, answer.events, confidence, severity, role)


_DEFAULT_ID = {"service": "engine", "process": "process", "container": "container", "link": "link"}


def _subjects(mode: Mode, world: World) -> list[Asked]:
    """Whom to ask about: every GPU that facts or the rule's events name, and the node."""
    if mode.subject != "gpu":
        return [Asked(NODE)]
    gpus = {gpu_key(g): g for g in world.facts.gpus}
    names = dict.fromkeys(gpus)
    for kind in kinds_of(mode.condition):
        for event in world.by_kind.get(kind, []):
            if event.subject is not None and event.subject.kind == "gpu":
                names.setdefault(event.subject.id)
    asked = [Asked(Subject("gpu", name), gpus.get(name)) for name in names]
    return [*asked, Asked(NODE, world.facts.gpus[0] if len(world.facts.gpus) == 1 else None)]


def kinds_of(condition: Condition) -> set[str]:
    """Event kinds that a condition names."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            return set().union(*(kinds_of(p) for p in parts))
        case Not(part):
            return kinds_of(part)
        case OnEvent(kinds=kinds):
            return set(kinds)
    return set()


def _applies(mode: Mode, world: World) -> bool:
    """``applies_to`` excludes only what is known not to fit."""
    facts = world.facts
    known: dict[str, list[str]] = {
        "gfx": [g.gfx for g in facts.gpus if g.gfx],
        "kernel": [facts.kernel.release] if facts.kernel.release else [],
        "rocm": [facts.rocm.version] if facts.rocm.version else [],
        "os": [facts.host.os_id] if facts.host.os_id else [],
        "engine": [facts.engine.name] if facts.engine.name else [],
    }
    for key, want in mode.applies_to.items():
        have = known.get(key, [])
        if not have:
            continue
        if isinstance(want, str):
            if all(satisfies(v, want) is False for v in have):
                return False
        elif not any(v.lower().startswith(str(w).lower()) for v in have for w in want):
            return False
    return True
