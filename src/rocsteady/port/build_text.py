"""The text of a build file while it is edited: spans, notes at the lines of the input."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from rocsteady.port.context import Note
from rocsteady.port.edits import EditSet
from rocsteady.port.rules import rules


@dataclass
class BuildText:
    """Edits and notes of one build file; offsets are those of the input."""

    original: str
    edits: EditSet = field(default_factory=EditSet)
    notes: list[Note] = field(default_factory=list)
    converted: int = 0

    def __post_init__(self) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.original))]

    @property
    def text(self) -> str:
        """The text with all edits made."""
        return self.edits.apply(self.original)

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self._starts, offset)

    def line_end(self, offset: int) -> int:
        """Offset of the first character of the next line."""
        number = self.line(offset)
        return self._starts[number] if number < len(self._starts) else len(self.original)

    def line_start(self, offset: int) -> int:
        """Offset of the first character of the line."""
        return self._starts[self.line(offset) - 1]

    def note(self, rule: str, offset: int, detail: str = "") -> None:
        """Leave a note of `rule` at an offset; one note per rule and line."""
        known, line = rules()[rule], self.line(offset)
        if any(note.line == line and note.rule == rule for note in self.notes):
            return
        self.notes.append(
            Note(line, known.category, rule, known.severity, f"{detail}: {known.reason}" if detail else known.reason)
        )

    def replace(self, start: int, end: int, text: str, rule: str) -> None:
        """Replace a span."""
        if self.original[start:end] != text and self.edits.add(start, end, text, rule):
            self.converted += 1

    def drop_word(self, start: int, end: int, rule: str) -> None:
        """Delete a word and the blanks before it."""
        while start > 0 and self.original[start - 1] in " \t":
            start -= 1
        self.replace(start, end, "", rule)
