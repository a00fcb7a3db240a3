"""Takes out what people asked not to see, as long as their reason holds."""

from __future__ import annotations

from datetime import UTC, datetime
from fnmatch import fnmatchcase

from rocsteady.diagnose.matching import Match
from rocsteady.model import Suppression


def suppress(
    matches: list[Match], suppressions: tuple[Suppression, ...], now: float
) -> tuple[list[Match], list[tuple[Match, Suppression]]]:
    """Split matches into what stays and what is hidden. An expired suppression hides nothing."""
    today = datetime.fromtimestamp(now, UTC).date()
    alive = [s for s in suppressions if s.expires >= today]
    kept: list[Match] = []
    hidden: list[tuple[Match, Suppression]] = []
    for match in matches:
        names = {match.mode.id, match.mode.slug, *match.mode.aliases}
        reason = next((s for s in alive if s.mode in names and fnmatchcase(match.subject.id, s.subject)), None)
        if reason is None:
            kept.append(match)
        else:
            hidden.append((match, reason))
    return kept, hidden
