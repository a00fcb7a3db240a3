"""How often and how soon to try again. Pure."""

from __future__ import annotations

from collections.abc import Callable


class Budget:
    """Retries as a share of requests, so that a broken fleet is not buried under them.

    Each request pays ``ratio`` of a retry in, and ``least`` retries a second come for free; at most ten seconds' worth
    is kept.
    """

    __slots__ = ("_at", "_least", "_left", "_most", "_ratio")

    def __init__(self, ratio: float, least: float, now: float) -> None:
        self._ratio = ratio
        self._least = least
        self._most = 10 * least
        self._left = self._most
        self._at = now

    def request(self) -> None:
        """A new request came."""
        self._left = min(self._most, self._left + self._ratio)

    def take(self, now: float) -> bool:
        """Whether a retry may be made now."""
        self._left = min(self._most, self._left + (now - self._at) * self._least)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def pause(number: int, base: float, cap: float, random: Callable[[], float]) -> float:
    """Seconds before retry ``number`` (1 = the first, which does not wait): full jitter over a doubling range."""
    if number <= 1:
        return 0.0
    return float(min(cap, base * 2.0 ** min(number - 2, 30)) * random())
