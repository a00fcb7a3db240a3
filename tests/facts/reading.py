"""Facts of one pasted text, for the tests of text readers."""

from __future__ import annotations

from rocsteady.facts import Builder
from rocsteady.facts.readers import Row, read_section
from rocsteady.facts.registry import TEXT_READERS
from rocsteady.facts.sections import sections
from rocsteady.model import Fact, NodeFacts


def rows_of(text: str) -> list[Row]:
    """All rows that all readers find."""
    return [row for section in sections("paste.txt", text) for row in read_section(TEXT_READERS, section)]


def facts_of(text: str) -> NodeFacts:
    """The merged facts."""
    builder = Builder()
    builder.add(rows_of(text))
    return builder.build()


def paths_of(text: str) -> set[str]:
    """Paths of all facts."""
    return {row.path for row in rows_of(text) if isinstance(row, Fact)}
