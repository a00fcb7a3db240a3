"""Which alerts hold back which: a node that is not seen, the worse of two, and a cause its symptoms.

An alert is held back only by one that is at least as severe and asks for an answer at least as soon, so that nobody is
kept in the dark by a note of low rank. No two alerts hold back each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from rocsteady.alerts.rule import Rule
from rocsteady.alerts.runbook import modes
from rocsteady.alerts.settings import Chosen, Settings

SEVERITIES = ("info", "warning", "critical")
SOONEST = ("1w", "1d", "1h", "15m", "now")
BLIND = "exporter-down"
"""Rule that says that nothing is known of a node."""
PLACES = ("gpu", "link", "sensor", "engine", "device", "port", "pid", "collector", "signal", "model_name")
"""Labels that say which thing an alert is about, besides the node."""


class Inhibition(msgspec.Struct, frozen=True, kw_only=True):
    """``source`` holds back ``targets`` (names of alerts) where the labels in ``equal`` are the same."""

    source: str
    targets: tuple[str, ...]
    equal: tuple[str, ...]
    why: str


def inhibitions(settings: Settings) -> list[Inhibition]:
    """All of them, in the order of the rules."""
    found: list[Inhibition] = []
    for choice in settings.rules:
        targets: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for other, why in held_back(choice, settings):
            targets.setdefault((why, equal(choice.rule, other.rule)), []).append(other.rule.alert)
        found += [
            Inhibition(source=choice.rule.alert, targets=tuple(sorted(names)), equal=labels, why=why)
            for (why, labels), names in targets.items()
        ]
    return found


def held_back(choice: Chosen, settings: Settings) -> Iterator[tuple[Chosen, str]]:
    """Rules that an alert of this rule holds back, and why."""
    rule = choice.rule
    milder = _milder(rule, settings)
    for other in settings.rules:
        if other.rule.id == rule.id:
            continue
        if rule.id == BLIND:
            if not _of_job(other.rule) and (other.rule.subject != "exporter" or other.rule.unknown):
                yield other, "nothing is known of the node"
        elif other.rule.id in milder:
            yield other, "the worse of two"
        elif _explains(choice, other) and not _explains(other, choice):
            yield other, "cause and symptom"


def _milder(rule: Rule, settings: Settings) -> set[str]:
    """Ids of the rules that this one is worse than, by way of others too."""
    by_id = {choice.rule.id: choice.rule for choice in settings.rules}
    found: set[str] = set()
    name = rule.worse_than
    while name is not None and name not in found:
        found.add(name)
        name = by_id[name].worse_than if name in by_id else None
    return found


def _explains(cause: Chosen, symptom: Chosen) -> bool:
    if cause.rule.mode == symptom.rule.mode or modes()[symptom.rule.mode].slug not in followers(cause.rule.mode):
        return False
    if cause.rule.subject in ("gpu", "link") and symptom.rule.subject == "node":
        return False  # what a node alert says may be about another GPU
    worse = SEVERITIES.index(cause.severity) >= SEVERITIES.index(symptom.severity)
    return worse and SOONEST.index(cause.rule.respond) >= SOONEST.index(symptom.rule.respond)


@cache
def followers(mode: str) -> frozenset[str]:
    """Slugs of what follows from a failure mode, by way of others too."""
    by_slug = {name: other for other in modes().values() for name in (other.slug, *getattr(other, "aliases", ()))}
    found: set[str] = set()
    left = list(modes()[mode].explains)
    while left:
        slug = left.pop()
        if slug in found:
            continue
        found.add(slug)
        if slug in by_slug:
            left += by_slug[slug].explains
    return frozenset(found)


def equal(source: Rule, target: Rule) -> tuple[str, ...]:
    """Labels that must be the same: the node, and whatever both alerts are about."""
    both = set(source.tests.fires.labels) & set(target.tests.fires.labels)
    return ("job", *(() if _of_job(source) else ("instance",)), *(label for label in PLACES if label in both))


def _of_job(rule: Rule) -> bool:
    """Whether the rule sums over nodes and its alerts carry no instance."""
    return rule.tests.fires.labels.get("instance") == ""
