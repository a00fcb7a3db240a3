"""Environment variables: ``env`` output, ``export`` lines, ``-e`` options, variables in front of a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

NAME = r"[A-Z][A-Z0-9_]{2,}"
LINE = re.compile(
    rf"^\s*(?:export |set |ENV |- |declare -x |-e |--env[ =])?[\"']?(?P<name>{NAME})=(?P<value>.*?)[\"']?\s*\\?$"
)
OPTION = re.compile(rf"(?:-e|--env)[ =][\"']?({NAME})=(\"[^\"]*\"|'[^']*'|\S*)")
LEADING = re.compile(rf"(?:^|[;&] *|\$ +|# +|\bexport +|\benv +)((?:{NAME}=(?:\"[^\"]*\"|'[^']*'|\S+) +)+)\S")
PAIR = re.compile(rf"({NAME})=(\"[^\"]*\"|'[^']*'|\S+)")


def parse_environment(section: Section) -> Iterator[Row]:
    """Every assignment of an upper-case name."""
    for index, line in enumerate(section.lines):
        match = LINE.match(line)
        if match and " " not in match["value"].strip("\"'"):
            yield section.fact(f"env[{match['name']}]", match["value"].strip("\"'"), index)
            continue
        for pair in OPTION.finditer(line):
            yield section.fact(f"env[{pair[1]}]", pair[2].strip("\"'"), index)
        for leading in LEADING.finditer(line):
            for pair in PAIR.finditer(leading[1]):
                yield section.fact(f"env[{pair[1]}]", pair[2].strip("\"'"), index)
        if match and " " in match["value"]:
            yield section.fact(f"env[{match['name']}]", match["value"].strip("\"'"), index)


READER = TextReader(
    name="environment",
    commands=re.compile(r"(env|printenv|export|set)\b"),
    sniff=re.compile(
        rf"^\s*(?:export |ENV |-e |- )?[\"']?{NAME}=|(?:-e|--env)[ =][\"']?{NAME}=|\b{NAME}=\S+ +\S",
        re.MULTILINE,
    ),
    parse=parse_environment,
)
