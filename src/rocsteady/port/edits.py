"""Edits on spans of a text: collected in any order, never overlapping, applied in one pass."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace text[start:end] by `text`; an insertion has start equal to end."""

    start: int
    end: int
    text: str
    rule: str


def _order(edit: Edit) -> tuple[int, int, bool]:
    """Position; at one place an include line comes before what another rule puts there."""
    return edit.start, edit.end, edit.rule != "include"


class EditSet:
    """Edits of one file. A replacement of a larger span absorbs those inside it; a crossing one is refused."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []

    def __iter__(self) -> Iterator[Edit]:
        return iter(self._edits)

    def __len__(self) -> int:
        return len(self._edits)

    def add(self, start: int, end: int, text: str, rule: str) -> bool:
        """Record an edit; False when it lies inside an edit that is already there, or crosses one."""
        low = bisect_left(self._edits, (start,))
        while low > 0 and self._edits[low - 1].end > start:
            low -= 1
        inside: list[Edit] = []
        for other in self._edits[low:]:
            if other.start >= end and not (other.start == start and start == end):
                break
            if other.end <= start and other.start < start:
                continue
            if start == end:  # an insertion: only the inside of a replacement forbids it
                if other.start < start < other.end:
                    return False
                continue
            if other.start == other.end:
                if start < other.start < end:
                    inside.append(other)
            elif start <= other.start and other.end <= end and (other.start, other.end) != (start, end):
                inside.append(other)
            else:
                return False
        for other in inside:
            self._edits.remove(other)
        insort(self._edits, Edit(start, end, text, rule), key=_order)
        return True

    def covers(self, start: int, end: int) -> bool:
        """Does some replacement hold the whole span?"""
        low = bisect_left(self._edits, (start + 1,))
        return any(edit.start <= start and edit.end >= end for edit in self._edits[max(0, low - 8) : low])

    def apply(self, text: str) -> str:
        """The text with all edits made."""
        pieces: list[str] = []
        at = 0
        for edit in self._edits:
            pieces += (text[at : edit.start], edit.text)
            at = edit.end
        pieces.append(text[at:])
        return "".join(pieces)

    def render(self, text: str, start: int, end: int) -> str:
        """text[start:end] with the edits inside it made; used to carry an edited argument to another place."""
        pieces: list[str] = []
        at = start
        for edit in self._edits:
            if edit.start >= start and edit.end <= end:
                pieces += (text[at : edit.start], edit.text)
                at = edit.end
        pieces.append(text[at:end])
        return "".join(pieces)
