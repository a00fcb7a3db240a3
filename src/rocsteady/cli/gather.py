"""From inputs to diagnoses: the one place where readers and the judge meet."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from rocsteady.catalog import Catalog
from rocsteady.diagnose import diagnose
from rocsteady.events import read_logs
from rocsteady.facts import Builder, read_facts
from rocsteady.hostfs import Input
from rocsteady.model import Diagnosis, EventLog, NodeFacts, Suppression


class Node(msgspec.Struct, frozen=True):
    """All that was read about one node; ``label`` names its inputs."""

    label: str
    facts: NodeFacts
    log: EventLog


class Window(msgspec.Struct, frozen=True):
    """Which events count: those since a moment, or those of one boot (0 the last, -1 the one before)."""

    since: float | None = None
    boot: int | None = None


def gather(source: Input, now: float) -> Node:
    """Facts and events of one input."""
    return _merge([(source, *_read(source, now))])


def gather_all(sources: Sequence[Input], now: float) -> list[Node]:
    """Read all inputs. Those that name the same host are one node.

    A tree or archive without a host name is a node of its own; loose files without one belong to the only other
    node there is, else they are a node together.
    """
    groups: dict[str, list[tuple[Input, Builder, EventLog]]] = {}
    loose: list[tuple[Input, Builder, EventLog]] = []
    for source in sources:
        builder, log = _read(source, now)
        host = builder.build().host.name
        if host is None and source.kind == "heap":
            loose.append((source, builder, log))
        else:
            groups.setdefault(host or source.label, []).append((source, builder, log))
    if loose and len(groups) == 1:
        next(iter(groups.values())).extend(loose)
    elif loose:
        groups[""] = loose
    return [_merge(group) for group in groups.values()]


def diagnose_input(source: Input, catalog: Catalog, now: float) -> Diagnosis:
    """Read and judge one input."""
    return judge(gather(source, now), catalog, now)


def judge(
    node: Node, catalog: Catalog, now: float, suppressions: tuple[Suppression, ...] = (), window: Window | None = None
) -> Diagnosis:
    """Judge what was read."""
    return diagnose(node.facts, restrict(node.log, window or Window()), catalog, now, suppressions)


def restrict(log: EventLog, window: Window) -> EventLog:
    """Leave out events outside the window. An event without a time is kept: it cannot be shown to be old."""
    events = log.events
    if window.since is not None:
        since = window.since
        events = tuple(e for e in events if e.at is None or e.at >= since)
    if window.boot is not None and events:
        wanted = max(e.boot for e in events) + window.boot if window.boot <= 0 else window.boot
        events = tuple(e for e in events if e.boot == wanted)
    return msgspec.structs.replace(log, events=events)


def _read(source: Input, now: float) -> tuple[Builder, EventLog]:
    builder = Builder()
    builder.add(read_facts(source))
    log, rows = read_logs(source, time.gmtime(now).tm_year)
    builder.add(rows)
    return builder, log


def _merge(group: list[tuple[Input, Builder, EventLog]]) -> Node:
    """Join the inputs of one node; files of several inputs keep apart by the input's label."""
    if len(group) == 1:
        source, builder, log = group[0]
        return Node(source.label, builder.build(), log)
    whole = Builder()
    order = 0
    events = []
    for _source, builder, log in group:
        whole.absorb(builder)
        for event in log.events:
            events.append(msgspec.structs.replace(event, order=order))
            order += 1
    logs = [log for _, _, log in group]
    merged = EventLog(
        tuple(events),
        tuple(u for x in logs for u in x.unexplained),
        tuple(f for x in logs for f in x.files),
        tuple(dict.fromkeys(n for x in logs for n in x.clock_notes)),
        tuple(s for x in logs for s in x.spans),
    )
    return Node(", ".join(s.label for s, _, _ in group), whole.build(), merged)
