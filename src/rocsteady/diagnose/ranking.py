"""Puts causes above what they explain."""

from __future__ import annotations

import msgspec

from rocsteady.diagnose.matching import Match
from rocsteady.model import NODE, Role

WEIGHT = {"critical": 1.0, "warning": 0.93, "info": 0.5}
"""How much severity counts beside confidence: a sure warning beats a doubtful critical finding, not an equal one."""
PER_EXPLAINED = 0.02
MOST_EXPLAINED = 5
ROLE_ORDER: dict[Role, int] = {"cause": 0, "symptom": 1, "risk": 2}
SLACK = 2.0
"""Seconds by which a symptom's line may precede its cause's: messages of different GPUs and sources interleave."""


class Ranked(msgspec.Struct, frozen=True):
    """A match in its place: which other matches it explains, and whether something explains it."""

    match: Match
    role: Role
    explains: tuple[int, ...]
    explained: bool


def rank(matches: list[Match]) -> list[Ranked]:
    """Order matches. ``explains`` holds positions in the returned list."""
    matches = without_superseded(matches)
    edges = edges_of(matches)
    explained = {b for targets in edges.values() for b in targets}

    def score(i: int) -> tuple[float, ...]:
        m = matches[i]
        role = _role(m, i in explained)
        value = m.confidence * WEIGHT[m.severity] + PER_EXPLAINED * min(len(edges.get(i, ())), MOST_EXPLAINED)
        return (i in explained and role != "cause", ROLE_ORDER[role], -round(value, 4), m.first[1], i)

    order = sorted(range(len(matches)), key=score)
    place = {old: new for new, old in enumerate(order)}
    return [
        Ranked(
            matches[i], _role(matches[i], i in explained),
            tuple(sorted(place[b] for b in edges.get(i, ()))), i in explained,
        )
        for i in order
    ]  # fmt: skip


def _role(match: Match, explained: bool) -> Role:
    """A cause that another cause explains is a symptom here."""
    return "symptom" if explained and match.role == "cause" else match.role


def without_superseded(matches: list[Match]) -> list[Match]:
    """A more exact mode replaces the general one on the same subject."""
    gone: set[int] = set()
    for i, a in enumerate(matches):
        for j, b in enumerate(matches):
            if i != j and i not in gone and b.mode.slug in a.mode.supersedes and _related(a, b):
                gone.add(j)
    return [m for i, m in enumerate(matches) if i not in gone]


def edges_of(matches: list[Match]) -> dict[int, set[int]]:
    """Who explains whom; of two that explain each other the stronger does."""
    edges: dict[int, set[int]] = {}
    for i, a in enumerate(matches):
        if a.role != "cause":
            continue
        for j, b in enumerate(matches):
            if i == j or b.mode.slug not in a.mode.explains or not _related(a, b) or _later(a, b):
                continue
            if i in edges.get(j, ()) and b.confidence >= a.confidence:
                continue
            edges.setdefault(i, set()).add(j)
            edges.get(j, set()).discard(i)
    return edges


def _related(a: Match, b: Match) -> bool:
    """A cause on a GPU explains what happens on it, to the node and to processes; on others only what came later."""
    if a.subject.kind != "gpu" or b.subject.kind != "gpu" or a.subject == b.subject:
        return True
    return NODE in (a.subject, b.subject) or (bool(a.events) and bool(b.events) and a.first[1] < b.first[1])


def _later(a: Match, b: Match) -> bool:
    """Whether the would-be cause came clearly after the symptom's first sign, in the same log."""
    if not a.events or not b.events:
        return False
    (at, _), (bt, _) = a.first, b.first
    first_a = min(a.events, key=lambda e: e.order)
    first_b = min(b.events, key=lambda e: e.order)
    if at is None or bt is None or first_a.evidence.file != first_b.evidence.file:
        return False
    return at > bt + SLACK
