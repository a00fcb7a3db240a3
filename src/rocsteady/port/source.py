"""One source file as tokens: code without comments and blanks, line numbers, brackets, preprocessor lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from rocsteady.port.tokens import Kind, Token, tokenise

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_BOM = "\xef\xbb\xbf"
# Tokens that can stand inside a template argument list; anything else means that `<` is a comparison.
_NOT_IN_TEMPLATE = {";", "{", "}", "&&", "||", "=", "+=", "-=", "?", "==", "!=", "<=", ">=", "<<<"}


@dataclass(frozen=True, slots=True)
class Directive:
    """One preprocessor line: indices of its code tokens, `first` is the `#`."""

    name: str
    first: int
    last: int


class Source:
    """A tokenised file. Indices below are positions in `code`, the tokens that are neither blank nor comment."""

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path
        self.tokens = tokenise(text)
        self.suffix = PurePosixPath(path).suffix.lower()
        self.code: list[Token] = []
        self.comments: list[Token] = []
        self.directives: list[Directive] = []
        self.directive_of: list[int] = []  # index into `directives` plus one; 0 outside
        self._scan()
        self.match = self._brackets()

    def _scan(self) -> None:
        code, owner = self.code, self.directive_of
        at_line_start, current, first = True, 0, -1
        for token in self.tokens:
            kind = token.kind
            if kind is Kind.SPACE:
                continue
            if kind is Kind.NEWLINE:
                if current:
                    self._close(first)
                at_line_start, current = True, 0
                continue
            if kind is Kind.COMMENT:
                self.comments.append(token)
                continue
            if at_line_start and not code and token.text.startswith(_BOM):
                rest = token.text[len(_BOM) :]
                if not rest:  # a byte order mark alone is no code
                    continue
            if at_line_start and token.text == "#":
                current, first = len(self.directives) + 1, len(code)
            at_line_start = False
            code.append(token)
            owner.append(current)
        if current:
            self._close(first)

    def _close(self, first: int) -> None:
        last = len(self.code) - 1
        name = self.code[first + 1].text if last > first else ""
        self.directives.append(Directive(name, first, last))

    def _brackets(self) -> dict[int, int]:
        """Partners of ( [ { in both directions. Each preprocessor line is matched by itself, and an `#else` starts
        again from the state at its `#if`, as only one branch is compiled."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        saved: list[list[int]] = []
        inner: list[int] = []
        inside = 0
        for index, token in enumerate(self.code):
            owner = self.directive_of[index]
            if owner != inside:
                inside, inner = owner, []
                if owner:
                    self._branch(self.directives[owner - 1].name, stack, saved)
            if token.kind is not Kind.PUNCT:
                continue
            target = inner if owner else stack
            if token.text in "([{":
                target.append(index)
            elif token.text in _CLOSERS:
                wanted = _CLOSERS[token.text]
                if target and self.code[target[-1]].text == wanted:
                    opener = target.pop()
                    pairs[opener], pairs[index] = index, opener
        return pairs

    @staticmethod
    def _branch(name: str, stack: list[int], saved: list[list[int]]) -> None:
        if name in {"if", "ifdef", "ifndef"}:
            saved.append(list(stack))
        elif name in {"else", "elif"} and saved:
            stack[:] = saved[-1]
        elif name == "endif" and saved:
            saved.pop()

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets at which lines begin; `\\n`, `\\r\\n` and a lone `\\r` end a line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self.line_starts, offset)

    def line_of(self, index: int) -> int:
        """The 1-based line of a code token."""
        return self.line(self.code[index].start)

    def line_text(self, number: int) -> str:
        """One line without its end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    @cached_property
    def uses(self) -> dict[str, list[int]]:
        """Every identifier with the indices where it stands, in order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, token in enumerate(self.code):
            if token.kind is Kind.IDENT:
                found[token.text].append(index)
        return dict(found)

    def word(self, index: int) -> str:
        """The text of a code token, or an empty string outside the file."""
        return self.code[index].text if 0 <= index < len(self.code) else ""

    def is_call(self, index: int) -> bool:
        """Does an argument list follow the identifier at `index`?"""
        return self.word(index + 1) == "(" and index + 1 in self.match

    def arguments(self, opener: int) -> list[tuple[int, int]]:
        """Argument spans [first, last] of the list that opens at `opener`; brackets and templates are counted."""
        closer = self.match.get(opener)
        if closer is None or closer == opener + 1:
            return []
        spans, first, index = [], opener + 1, opener + 1
        while index < closer:
            text = self.code[index].text
            if text in "([{" and index in self.match:
                index = self.match[index]
            elif text == "<" and (end := self.template_end(index)) is not None:
                index = end
            elif text == ",":
                spans.append((first, index - 1))
                first = index + 1
            index += 1
        spans.append((first, closer - 1))
        return spans

    def template_end(self, index: int) -> int | None:
        """Where a `<` that opens a template argument list closes, or None when it is a comparison."""
        if index == 0 or self.code[index - 1].kind is not Kind.IDENT:
            return None
        depth, at, limit = 0, index, min(len(self.code), index + 400)
        while at < limit:
            text = self.code[at].text
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return (
                        at
                        if self.word(at + 1) in {"(", ")", "::", "{", ",", ">", ";", "*", "&", "", "[", "..."}
                        or self._names_after(at)
                        else None
                    )
            elif text in "([":
                if at not in self.match:
                    return None
                at = self.match[at]
            elif text in _NOT_IN_TEMPLATE or text == ")":
                return None
            at += 1
        return None

    def _names_after(self, at: int) -> bool:
        return (
            at + 1 < len(self.code)
            and self.code[at + 1].kind is Kind.IDENT
            and self.code[at + 1].text not in {"and", "or"}
        )

    def span(self, first: int, last: int) -> str:
        """Source text from one code token to another, both included."""
        return self.text[self.code[first].start : self.code[last].end]

    def statement_start(self, index: int) -> bool:
        """Does a statement begin at `index`?"""
        before = self.word(index - 1)
        if index == 0 or before in {";", "{", "}", "else", "do"}:
            return True
        if self.directive_of[index] != self.directive_of[index - 1]:
            return True
        if before == ")":
            opener = self.match.get(index - 1)
            return opener is not None and self.word(opener - 1) in {"if", "for", "while", "switch", "constexpr"}
        return before == ":" and self.word(index - 2) not in {"?", ""} and self._label(index - 1)

    def _label(self, colon: int) -> bool:
        at = colon - 1
        while at > 0 and self.word(at) not in {";", "{", "}", "case", "default", "?"}:
            at -= 1
        return self.word(at) in {"case", "default"}
