"""Takes out what people asked not to see, as long as their reason holds."""

from __future__ import annotations

from datetime import UTC, datetime
from fnmatch import fnmatchcase

from rocsteady.diagnose.matching import Match
from rocsteady.diagnose.ranking import edges_of, without_superseded
from rocsteady.model import Suppression


def suppress(
    matches: list[Match], suppressions: tuple[Suppression, ...], now: float
) -> tuple[list[Match], list[tuple[Match, Suppression]]]:
    """Split matches into what stays and what is hidden. An expired suppression hides nothing.

    With a finding go the more general ones that it replaces and what it explains about the same subject, unless
    something that stays explains it too: else hiding a cause would only bring up its symptom. What it explains
    elsewhere (an engine that died) stays in sight.
    """
    today = datetime.fromtimestamp(now, UTC).date()
    alive = [s for s in suppressions if s.expires >= today]
    if not alive:
        return matches, []
    matches = without_superseded(matches)
    edges = edges_of(matches)
    reasons: dict[int, Suppression] = {}
    for i, match in enumerate(matches):
        names = {match.mode.id, match.mode.slug, *match.mode.aliases}
        reason = next((s for s in alive if s.mode in names and fnmatchcase(match.subject.id, s.subject)), None)
        if reason is not None:
            reasons[i] = reason
    for i, reason in list(reasons.items()):
        for follower in edges.get(i, ()):
            explained_by = [a for a, targets in edges.items() if follower in targets]
            if matches[follower].subject == matches[i].subject and all(a in reasons for a in explained_by):
                reasons.setdefault(follower, reason)
    kept = [m for i, m in enumerate(matches) if i not in reasons]
    return kept, [(matches[i], reason) for i, reason in sorted(reasons.items(), key=lambda item: item[0])]
