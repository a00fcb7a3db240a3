"""YAML and JSON documents inside pasted text, with the line of every value, as far as they can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from rocsteady.facts.sections import Section

BUDGET = 50_000
"""Values of one document; aliases count each time, so that a bomb of aliases ends here."""
DEEPEST = 60
TRIES = 4
"""How often a document is shortened to the part in front of an error."""

_START = re.compile(r"^(?:- )?[\w\"'./-]+\s*:(?: |$)|^[\[{]\s*(?:[\"{\[]|$)")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Doc(msgspec.Struct, frozen=True):
    """A value and the index of its line in the section."""

    value: str | list[Doc] | dict[str, Doc]
    line: int

    def get(self, *keys: str) -> Doc | None:
        """The value below some keys."""
        here: Doc | None = self
        for key in keys:
            if here is None or not isinstance(here.value, dict):
                return None
            here = here.value.get(key)
        return here

    @property
    def text(self) -> str | None:
        """A scalar's text."""
        return self.value if isinstance(self.value, str) else None

    @property
    def items(self) -> list[Doc]:
        """A list's values; a scalar is a list of one, as compose files allow."""
        if isinstance(self.value, list):
            return self.value
        return [self] if isinstance(self.value, str) and self.value not in ("", "null", "~") else []

    @property
    def fields(self) -> dict[str, Doc]:
        """A mapping's values, {} for what is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The scalars of a list."""
        return tuple(item.value for item in self.items if isinstance(item.value, str))

    def walk(self) -> Iterator[Doc]:
        """This value and all below it."""
        yield self
        children = self.value.values() if isinstance(self.value, dict) else self.value
        if not isinstance(children, str):
            for child in children:
                yield from child.walk()


def documents(section: Section) -> Iterator[Doc]:
    """Every document of the section whose beginning can be found; a damaged end is left off."""
    start = 0
    for index, line in enumerate((*section.lines, "---")):
        if re.match(r"^\s*(?:---|\.\.\.)\s*$", line):
            yield from _one(section, start, index)
            start = index + 1


def _one(section: Section, start: int, end: int) -> Iterator[Doc]:
    while start < end and not _START.match(section.lines[start].strip()):
        start += 1
    if start >= end:
        return
    margin = len(section.lines[start]) - len(section.lines[start].lstrip())
    lines = [line[margin:] if not line[:margin].strip() else line for line in section.lines[start:end]]
    for _ in range(TRIES):
        try:
            node = yaml.compose("\n".join(lines).replace("\t", "  "), Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            if mark is None or not 0 < mark.line < len(lines):
                return
            lines = lines[: mark.line]
            continue
        except (yaml.YAMLError, ValueError, RecursionError):
            return
        if node is not None:
            left = [BUDGET]
            found = _convert(node, start, left, DEEPEST)
            if found is not None and not isinstance(found.value, str):
                yield found
        return


def _convert(node: yaml.Node, first: int, left: list[int], depth: int) -> Doc | None:
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        return None
    line = first + node.start_mark.line
    if isinstance(node, yaml.ScalarNode):
        return Doc(str(node.value), line)
    if isinstance(node, yaml.SequenceNode):
        values = [_convert(child, first, left, depth - 1) for child in node.value]
        return Doc([value for value in values if value is not None], line)
    fields: dict[str, Doc] = {}
    for key, child in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        value = _convert(child, first, left, depth - 1)
        if name is None or value is None:
            continue
        if name == "<<":  # a merge key gives what the mapping itself does not
            merged = value.fields
            fields = {**merged, **fields}
        else:
            fields[str(name)] = Doc(value.value, first + key.start_mark.line)
    return Doc(fields, line)
