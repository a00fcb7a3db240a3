"""Searches the catalog by words."""

from __future__ import annotations

from rocsteady.catalog.load import Catalog
from rocsteady.catalog.modes import Mode
from rocsteady.catalog.observed import Observed, observed


def find(catalog: Catalog, words: list[str]) -> list[Mode]:
    """Modes whose text holds every word (case ignored); a hit in id, slug or title counts most."""
    wanted = [w.lower() for text in words for w in text.split()]
    scored: list[tuple[int, str, Mode]] = []
    for mode in catalog.modes.values():
        strong = f"{mode.id} {mode.slug} {mode.title} {' '.join(mode.aliases)}".lower()
        weak = " ".join(
            [
                mode.category, mode.cause, mode.looks_like, *(r.text for r in mode.remedies),
                *(text for e in mode.examples.bad for text in (*e.log.values(), *e.tree.values())),
            ]
        ).lower()  # fmt: skip
        if all(w in strong or w in weak for w in wanted):
            scored.append((-sum(w in strong for w in wanted), mode.id, mode))
    return [mode for _, _, mode in sorted(scored, key=lambda s: s[:2])]


def search_observed(words: list[str]) -> list[Observed]:
    """The same among the modes that only a time series shows."""
    wanted = [w.lower() for text in words for w in text.split()]
    found = []
    for mode in observed().values():
        remedies = " ".join(remedy.text for remedy in mode.remedies)
        text = f"{mode.id} {mode.slug} {mode.title} {mode.category} {mode.cause} {mode.looks_like} {remedies}".lower()
        if all(w in text for w in wanted):
            found.append(mode)
    return found
