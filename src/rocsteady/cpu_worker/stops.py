"""Stop strings in text that comes in pieces."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Holds back what may be the start of a stop string, so that none gets out in part."""

    def __init__(self, stops: Sequence[str], include: bool = False) -> None:
        self._stops = [s for s in stops if s]
        self._include = include
        self._held = max((len(s) for s in self._stops), default=1) - 1
        self._rest = ""
        self.found: str | None = None

    def step(self, text: str) -> str:
        """The text that may go out; after ``found`` is set nothing more does."""
        if not self._held and not self._stops:
            return text
        self._rest += text
        places = [(at, s) for s in self._stops if (at := self._rest.find(s)) >= 0]
        if places:
            at, self.found = min(places)
            return self._take(at + (len(self.found) if self._include else 0))
        return self._take(max(0, len(self._rest) - self._held))

    def end(self) -> str:
        """What was held back, at the end of the text."""
        return "" if self.found is not None else self._take(len(self._rest))

    def _take(self, count: int) -> str:
        out, self._rest = self._rest[:count], self._rest[count:]
        return out
