"""``diagnose``: facts and events in, findings out. Pure: no I/O, no clock."""

from __future__ import annotations

from typing import Any

from rocsteady.catalog import Catalog
from rocsteady.diagnose.evaluate import Probe, World
from rocsteady.diagnose.lookup import gpu_key
from rocsteady.diagnose.matching import Match, Open, find_matches
from rocsteady.diagnose.probes import PROBES
from rocsteady.diagnose.ranking import Ranked, rank
from rocsteady.diagnose.supply import basics, how_to_supply
from rocsteady.diagnose.suppress import suppress
from rocsteady.diagnose.template import fill, shorten
from rocsteady.diagnose.timeline import crash_timeline
from rocsteady.model import (
    NODE,
    Diagnosis,
    Event,
    EventLog,
    Finding,
    Gap,
    NodeFacts,
    Remedy,
    Suppressed,
    Suppression,
    Verdict,
)
from rocsteady.model.findings import UnexplainedLine

TITLE = 160
CAUSE = 600
EVIDENCE = 24
TIMELINE = 200
SURE = 0.6
"""Above this a cause means "act on it" (the JSON contract)."""


def diagnose(
    facts: NodeFacts,
    log: EventLog,
    catalog: Catalog,
    now: float,
    suppressions: tuple[Suppression, ...] = (),
    probes: dict[str, Probe] | None = None,
) -> Diagnosis:
    """Judge one node. ``now`` is wall-clock time in seconds since 1970: suppressions end by it."""
    world = World(facts, log)
    matches, unknown = find_matches(catalog, world, PROBES if probes is None else probes)
    matches, hidden = suppress(matches, suppressions, now)
    used = {(e.evidence.file, e.evidence.line) for m in (*matches, *(h for h, _ in hidden)) for e in m.events}
    ranked = rank(matches)
    ids = _ids(ranked)
    findings = tuple(_finding(r, ids[i], ids, facts) for i, r in enumerate(ranked))
    judged = verdict(findings, world)
    lacking = basics(facts, log) if judged == "unknown" else ()
    return Diagnosis(
        verdict=judged,
        findings=findings,
        unexplained=_unexplained(log, used),
        gaps=(*facts.gaps, *_missing(unknown, ranked), *lacking),
        timeline=_timeline(log, ranked, ids),
        node=_node(facts),
        crash_timeline=crash_timeline(log),
        notes=log.clock_notes,
        suppressed=tuple(
            Suppressed(
                m.mode.id,
                _finding(Ranked(m, m.role, (), False), m.mode.id, [], facts).title,
                s.reason,
                s.expires.isoformat(),
            )
            for m, s in hidden
        ),
    )


def verdict(findings: tuple[Finding, ...], world: World) -> Verdict:
    """See DESIGN: failing, at-risk, healthy, or unknown when what would tell was not there."""
    loud = [f for f in findings if f.severity != "info"]
    if any(f.role in ("cause", "symptom") for f in loud):
        return "failing"
    if loud:
        return "at-risk"
    alive = any(e.alive for e in world.log.events) or any(
        g.driver == "amdgpu" and (g.memory.vram_total or g.unique_id) for g in world.facts.gpus
    )
    return "healthy" if alive or world.facts.rocm.runtime_works else "unknown"


def _ids(ranked: list[Ranked]) -> list[str]:
    """Finding ids: the mode's, with the subject where a mode has several."""
    count: dict[str, int] = {}
    for r in ranked:
        count[r.match.mode.id] = count.get(r.match.mode.id, 0) + 1
    return [
        r.match.mode.id if count[r.match.mode.id] == 1 else f"{r.match.mode.id}@{r.match.subject.id}" for r in ranked
    ]


def _finding(ranked: Ranked, own_id: str, ids: list[str], facts: NodeFacts) -> Finding:
    m, mode = ranked.match, ranked.match.mode

    def text(template: str) -> str:
        return fill(template, m.bindings, facts, m.asked.gpu)

    return Finding(
        id=own_id, slug=mode.slug, category=mode.category, severity=m.severity, mode=mode.id, role=ranked.role,
        confidence=round(m.confidence, 2), subject=m.subject,
        title=shorten(text(mode.title), TITLE), cause=shorten(text(mode.cause), CAUSE),
        remedies=tuple(
            Remedy(text(r.text), text(r.command) if r.command else None, r.risk, r.action) for r in mode.remedies
        ),
        evidence=m.evidence[:EVIDENCE], explains=tuple(ids[i] for i in ranked.explains),
        sources=tuple(s.url for s in mode.sources), looks_like=text(mode.looks_like),
        at=m.first[0], count=sum(e.count for e in m.events) or 1,
    )  # fmt: skip


def _unexplained(log: EventLog, used: set[tuple[str, int | None]]) -> tuple[UnexplainedLine, ...]:
    """Error-like lines that no finding rests on, one per shape, with the number of repeats.

    ``used`` holds places, not events: several kinds may know one line, and one of them being used explains it.
    """
    groups: dict[str, list[Event]] = {}
    for event in log.events:
        if event.level == "error" and (event.evidence.file, event.evidence.line) not in used:
            groups.setdefault(event.kind, []).append(event)
    counted = [(g[0].evidence, sum(e.count for e in g)) for g in groups.values()]
    counted += [(u.evidence, u.count) for u in log.unexplained]
    return tuple(UnexplainedLine(e.file, e.line, e.text, count) for e, count in counted)


def _missing(unknown: list[Open], ranked: list[Ranked]) -> tuple[Gap, ...]:
    """What was not there but would decide a mode near the findings; nothing where a cause is already sure."""
    if any(r.role == "cause" and r.match.confidence > SURE for r in ranked):
        return ()
    wanted = {slug for r in ranked for slug in r.match.mode.explains}
    gaps: dict[str, Gap] = {}
    for item in unknown:
        if item.mode.slug in wanted or any(item.mode.category == r.match.mode.category for r in ranked):
            for path in item.missing[:2]:
                how = how_to_supply(path)
                supply = f"; supplied by: {how}" if how else ""
                gaps.setdefault(path, Gap(path, f"absent: would decide {item.mode.slug}{supply}"))
    return tuple(gaps.values())


def _timeline(log: EventLog, ranked: list[Ranked], ids: list[str]) -> tuple[dict[str, Any], ...]:
    owner: dict[int, list[str]] = {}
    for i, r in enumerate(ranked):
        for event in r.match.events:
            owner.setdefault(id(event), []).append(ids[i])
    rows = []
    for event in log.events:
        if event.level == "info" and id(event) not in owner:
            continue
        rows.append(
            {
                "at": event.at, "uptime": event.uptime, "kind": event.kind,
                "subject": (event.subject or NODE).id, "count": event.count,
                "file": event.evidence.file, "line": event.evidence.line, "text": event.evidence.text,
                "findings": owner.get(id(event), []),
            }
        )  # fmt: skip
        if len(rows) >= TIMELINE:
            break
    return tuple(rows)


def _node(facts: NodeFacts) -> dict[str, Any]:
    """The line that says which node this is."""
    return {
        "host": facts.host.name, "os": facts.host.os_name, "kernel": facts.kernel.release,
        "driver": facts.rocm.driver, "rocm": facts.rocm.version,
        "gpus": [{"id": gpu_key(g), "name": g.name, "gfx": g.gfx} for g in facts.gpus],
    }  # fmt: skip


__all__ = ["Match", "diagnose", "verdict"]
