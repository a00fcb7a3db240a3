"""The list of text readers: each turns the output of one command or file into facts.

A reader says which commands it belongs to and how to recognise its text where no command is known. A section
is given to every reader that takes it: texts overlap (collect_env holds pip lists), and a reader that finds
nothing yields nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import msgspec

from rocsteady.facts.sections import LOG, Section
from rocsteady.hostfs.patterns import bounded
from rocsteady.model import Fact, Gap, Note

Row = Fact | Gap | Note
Parse = Callable[[Section], Iterable[Row]]


class TextReader(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of text.

    name: of the command or file.
    commands: pattern of the command line without sudo and path, or of the file's base name.
    sniff: pattern that only this kind of text has (searched in the first ``SNIFF`` characters).
    marks: literal words of which the text must hold one before ``sniff`` is tried (plain search is much faster).
    parse: section in, facts out; never raises on content.
    """

    name: str
    commands: re.Pattern[str] | None
    sniff: re.Pattern[str] | None
    parse: Parse
    marks: tuple[str, ...] = ()


SNIFF = 256 * 1024
"""Empty lines are left out before: ``^\\s*`` runs over all of them from each of them."""


def read_section(readers: Iterable[TextReader], section: Section) -> Iterator[Row]:
    """All rows of all readers that take this section."""
    if section.command == LOG:
        return
    head = "\n".join(line for line in section.lines if line and not line.isspace())[:SNIFF]
    for reader in readers:
        by_name = section.command is not None and reader.commands is not None and reader.commands.match(section.command)
        if by_name or (reader.sniff is not None and _marked(reader, head) and _quick(reader.sniff).search(head)):
            yield from reader.parse(section)


@cache
def _quick(sniff: re.Pattern[str]) -> re.Pattern[str]:
    """The same pattern with bounded words."""
    return re.compile(bounded(sniff.pattern), sniff.flags)


def _marked(reader: TextReader, head: str) -> bool:
    return not reader.marks or any(mark in head for mark in reader.marks)
