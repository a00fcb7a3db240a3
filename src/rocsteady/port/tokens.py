"""A lossless tokeniser for C, C++, CUDA and HIP sources.

Text comes in as Latin-1, one character per byte, so no encoding can fail and `encode("latin-1")` gives the bytes back.
The tokens cover the text without gap: joining them gives the input, whatever the input is. Comments, string literals,
raw strings, line splices and preprocessor lines are told apart; nothing is expanded and no branch is skipped.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a token is."""

    SPACE = 0
    NEWLINE = 1
    COMMENT = 2
    STRING = 3
    CHAR = 4
    IDENT = 5
    NUMBER = 6
    PUNCT = 7
    OTHER = 8


class Token(NamedTuple):
    """One token; `start` and `end` are offsets into the text (bytes, as one character is one byte)."""

    kind: Kind
    text: str
    start: int
    end: int


# A raw string ends at its own delimiter; an unterminated literal ends with its line, an unterminated comment with the
# text, as a compiler would report it. Bytes above 0x7f belong to identifiers (UTF-8 letters).
_MASTER = re.compile(
    r"""
    (?P<SPACE>(?:[ \t\f\v]|\\\r?\n)+)
  | (?P<NEWLINE>\r?\n|\r)
  | (?P<COMMENT>//(?:[^\\\r\n]|\\\r?\n|\\)*|/\*.*?(?:\*/|\Z))
  | (?P<RAW>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\()
  | (?P<STRING>(?:u8|[uUL])?"(?:[^"\\\r\n]|\\\r?\n|\\[^\r\n]|\\\Z)*"?)
  | (?P<CHAR>(?:u8|[uUL])?'(?:[^'\\\r\n]|\\\r?\n|\\[^\r\n]|\\\Z)*'?)
  | (?P<IDENT>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)
  | (?P<NUMBER>\.?[0-9](?:[eEpP][+-]|'?[\w.])*)
  | (?P<PUNCT><<<|<<=|>>=|<=>|\.\.\.|->\*|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|\.\*|[][(){}<>;:,.?=+\-*/%&|^~!\#\\@`])
  | (?P<OTHER>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_KINDS = {kind.name: kind for kind in Kind}


def tokenise(text: str) -> list[Token]:
    """Split Latin-1 text into tokens whose texts join to the input."""
    kinds, new = _KINDS, tuple.__new__  # Token(...) goes through one more call for each of half a million tokens
    found: list[Token] = []
    hopeless: set[str] = set()  # raw string ends that do not occur any more
    at = 0
    while at < len(text):
        for match in _MASTER.finditer(text, at):
            kind = match.lastgroup or "OTHER"
            if kind == "RAW":
                ending = f'){match["delimiter"]}"'
                close = -1 if ending in hopeless else text.find(ending, match.end())
                if close < 0:  # unterminated: its first line, as an ordinary string would end
                    hopeless.add(ending)
                    close = text.find("\n", match.end())
                    stop = close if close >= 0 else len(text)
                else:
                    stop = close + len(ending)
                found.append(Token(Kind.STRING, text[match.start() : stop], match.start(), stop))
                at = stop
                break
            found.append(new(Token, (kinds[kind], match.group(), *match.span())))
        else:
            break
    return found
