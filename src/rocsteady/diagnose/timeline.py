"""Crash timeline: what happened before each crash, and which periodic activity crashes follow more than by chance.

The test: an activity (log rotation, a scrape, a backup) occurred at certain times; a crash "follows" it when it
comes within ``WINDOW`` seconds after one. If crashes fell at random over the time that the logs cover, each would
follow with probability p = share of that time lying in such windows, so the number that do is binomial. The
p-value is P(X >= seen), multiplied by the number of activities tried (Bonferroni). It says that the two belong
together, not why.
"""

from __future__ import annotations

from math import comb

from rocsteady.model import Event, EventLog, Span
from rocsteady.model.findings import Coincidence, Crash, CrashTimeline

WINDOW = 300.0
"""Seconds: "the minutes before". Long enough for a rotation's post-script and a compressing gzip to finish, short
against the hour that the most frequent cron jobs leave between two runs."""
EPISODE = 600.0
"""Crash lines closer than this are one crash: an engine's death prints for minutes, and restarts fail again."""
ALPHA = 0.05
"""The customary level; with Bonferroni it holds for all activities of one node together."""
FEWEST = 3
"""Below three crashes no activity can be told from chance unless its windows are very short; we do not try."""
SHOWN = 12


def crash_timeline(log: EventLog) -> CrashTimeline:
    """Compute the timeline of one node. Undated crashes are listed but not counted."""
    episodes = _episodes([e for e in log.events if e.mark == "crash"])
    if not episodes:
        return CrashTimeline()
    crashes = tuple(_crash(e, log) for e in episodes)
    times = [e.at for e in episodes if e.at is not None]
    activities: dict[str, list[float]] = {}
    for event in log.events:
        if event.mark == "activity" and event.at is not None:
            activities.setdefault(activity_name(event), []).append(event.at)
    found = tuple(
        sorted(
            (_coincidence(n, a, times, log.spans, len(activities)) for n, a in activities.items()),
            key=lambda c: (c.p_value is None, c.p_value or 0.0, c.activity),
        )
    )
    return CrashTimeline(crashes, found, _summary(times, found))


def activity_name(event: Event) -> str:
    """What the machine did: the unit or command if the line names one, else the kind."""
    return event.fields.get("activity") or event.fields.get("unit") or event.kind


def _episodes(events: list[Event]) -> list[Event]:
    """The first line of each crash."""
    out: list[Event] = []
    last: float | None = None
    for event in sorted(events, key=lambda e: (e.at is None, e.at or 0.0, e.order)):
        if event.at is None:
            if not any(o.at is None for o in out):
                out.append(event)
            continue
        if last is None or event.at - last > EPISODE:
            out.append(event)
        last = event.at
    return out


def _crash(event: Event, log: EventLog) -> Crash:
    before: list[str] = []
    if event.at is not None:
        near = [
            e for e in log.events
            if e.at is not None and event.at - WINDOW <= e.at <= event.at and e is not event and e.level != "info"
        ]  # fmt: skip
        for e in near[-SHOWN:]:
            assert e.at is not None
            before.append(f"-{event.at - e.at:.0f} s {e.kind}: {e.evidence.text[:160]}")
    subject = event.subject.id if event.subject else "node"
    return Crash(
        event.at, event.kind, subject, event.evidence.text, event.evidence.file, event.evidence.line, tuple(before)
    )


def _coincidence(
    name: str, activity: list[float], crashes: list[float], spans: tuple[Span, ...], tried: int
) -> Coincidence:
    times = sorted(activity)
    followed = sum(any(0 <= c - a <= WINDOW for a in times) for c in crashes)
    share = covered_share(times, spans)
    n = len(crashes)
    if share is None or n < FEWEST or share**n * tried > ALPHA:
        return Coincidence(name, n, followed, n * (share or 0.0), None, "too few crashes to tell")
    p = min(1.0, tail(n, followed, share) * tried)
    says = "more than chance would have it" if p <= ALPHA else "no more than chance would have it"
    return Coincidence(name, n, followed, n * share, p, says)


def covered_share(times: list[float], spans: tuple[Span, ...]) -> float | None:
    """Share of the logged time that lies within ``WINDOW`` after one of ``times``; None without logged time."""
    if not spans or not times:
        return None
    first, last = min(s.first for s in spans), max(s.last for s in spans)
    if last <= first:
        return None
    covered = 0.0
    end = first
    for at in times:
        start, stop = max(at, end, first), min(at + WINDOW, last)
        if stop > start:
            covered += stop - start
            end = stop
    return min(1.0, covered / (last - first))


def tail(n: int, k: int, p: float) -> float:
    """P(X >= k) for X binomial(n, p)."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def _summary(times: list[float], found: tuple[Coincidence, ...]) -> str:
    strong = [c for c in found if c.p_value is not None and c.p_value <= ALPHA]
    if strong:
        best = strong[0]
        return f"{best.followed} of {best.crashes} crashes followed {best.activity} (p = {best.p_value:.2g})"
    if len(times) < FEWEST:
        return f"too few crashes to tell ({len(times)} dated)"
    if not found:
        return "no periodic activity in the logs to compare with"
    if all(c.p_value is None for c in found):
        return "too few crashes to tell"
    return "crashes follow no activity more than chance would have it"
