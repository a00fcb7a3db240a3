"""Regular expressions over text that anybody may have written: bounded, so that no line takes minutes."""

from __future__ import annotations

import re

LONGEST_WORD = 500
"""Characters of one word, number or path in a message. Mangled C++ names and paths are the longest; real ones stay
below. A pattern that begins with an unbounded word is tried from every character of a long line: the square of its
length; with a bound it is a multiple."""
_ATOM = re.compile(r"\\[wWsSdD]|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)


def bounded(pattern: str) -> str:
    r"""The pattern with ``+`` and ``*`` behind a class of characters replaced by counts.

    >>> bounded(r"(?P<name>\w+) [^,]*?x+")
    '(?P<name>\\w{1,500}) [^,]{0,500}?x+'
    """
    out: list[str] = []
    position = 0
    while position < len(pattern):
        atom = _ATOM.match(pattern, position)
        if atom is None:
            piece = _ESCAPE.match(pattern, position)
            end = piece.end() if piece else position + 1
            out.append(pattern[position:end])
            position = end
            continue
        out.append(atom[0])
        position = atom.end()
        quantifier = pattern[position : position + 1]
        if quantifier and quantifier in "+*":
            out.append(f"{{{1 if quantifier == '+' else 0},{LONGEST_WORD}}}")
            position += 1
    return "".join(out)
