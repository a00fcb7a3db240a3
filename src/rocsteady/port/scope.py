"""Which names the program defines itself, and what its namespace aliases and macros stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from rocsteady.port.source import Source
from rocsteady.port.tokens import Kind

_TYPE_WORDS = {"struct", "class", "enum", "union"}
_NOT_A_RETURN_TYPE = {"return", "else", "new", "delete", "throw", "case", "goto", "do", "operator", "typedef", "using", "extern", "co_return", "co_await", "sizeof", "not", "and", "or"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Own:
    """A name the program defines: where, in which namespaces or classes, and what kind of thing it is."""

    name: str
    index: int
    path: tuple[str, ...]
    kind: str  # function, macro, type, variable


@dataclass
class Scope:
    """Result of the scope pass over one file."""

    own: dict[str, list[Own]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # namespace alias -> namespace
    opened: list[str] = field(default_factory=list)  # using namespace X
    path_at: list[tuple[int, int, str, str]] = field(default_factory=list)  # first, last, kind, name of a braced scope

    def path(self, index: int) -> tuple[str, ...]:
        """Named namespaces and classes around a token, outermost first."""
        return tuple(
            name
            for first, last, kind, name in self.path_at
            if first < index < last and kind in {"namespace", "class"} and name
        )

    def in_function(self, index: int) -> bool:
        """Is the token inside a function body?"""
        return any(first < index < last and kind == "function" for first, last, kind, _ in self.path_at)


def read_scope(source: Source, names: frozenset[str] | set[str]) -> Scope:
    """Scope facts of one file; only definitions of `names` (API names and words a rule asks for) are recorded."""
    scope = Scope()
    _namespaces(source, scope)
    for name in names & source.uses.keys():
        for index in source.uses[name]:
            own = _definition(source, scope, index)
            if own:
                scope.own.setdefault(name, []).append(own)
    return scope


def _namespaces(source: Source, scope: Scope) -> None:
    for index in source.uses.get("namespace", []):
        if source.word(index - 1) == "using":
            name, _ = _qualified(source, index + 1)
            scope.opened.append(name)
            continue
        name, after = _qualified(source, index + 1)
        if source.word(after) == "=":
            target, _ = _qualified(source, after + 1)
            scope.aliases[name] = target
        elif source.word(after) == "{" and after in source.match:
            scope.path_at.append((after, source.match[after], "namespace", name))
    for word in _TYPE_WORDS:
        for index in source.uses.get(word, []):
            name, at = _class_head(source, index)
            if name and at in source.match:
                scope.path_at.append((at, source.match[at], "class", name))
    scope.path_at.sort()


def _class_head(source: Source, index: int) -> tuple[str, int]:
    """(name, index of the opening brace) of a type definition; ("", -1) when it is none."""
    at, name = index + 1, ""
    for _ in range(60):
        word = source.word(at)
        if word == "{":
            return name, at
        if word in {";", "=", ")", ",", ""} or (word == "(" and at not in source.match):
            return "", -1
        if word == "(":
            at = source.match[at]
        elif word == ":" and not name:
            return "", -1
        elif (not name or source.word(at - 1) == "class") and (
            source.code[at].kind is Kind.IDENT
            and not word.startswith("__align")
            and word not in {"alignas", "class", "final"}
        ):
            name = word
        at += 1
    return "", -1


def _qualified(source: Source, index: int) -> tuple[str, int]:
    """A qualified name that starts at `index`, and the index behind it."""
    parts = []
    while source.word(index) == "::" or (index < len(source.code) and source.code[index].kind is Kind.IDENT):
        parts.append(source.word(index))
        index += 1
    return "".join(parts), index


def _definition(source: Source, scope: Scope, index: int) -> Own | None:
    name, before, after = source.word(index), source.word(index - 1), source.word(index + 1)
    owner = source.directive_of[index]
    if owner:
        directive = source.directives[owner - 1]
        if directive.name == "define" and index == directive.first + 2:
            return Own(name, index, (), "macro")
        return None
    if before in _TYPE_WORDS and after in {"{", ":", ";"}:
        forward = after == ";"
        return None if forward else Own(name, index, scope.path(index), "type")
    if before == "using" and after == "=":
        return Own(name, index, scope.path(index), "type")
    if after == "(" and _after_type(source, index):
        closer = source.match.get(index + 1)
        if (
            closer is not None
            and source.word(closer + 1) in {"{", ";", "const", "noexcept", "override"}
            and _parameters(source, index + 1, closer)
        ) and (source.word(closer + 1) == "{" or not _local(source, scope, index)):
            return Own(name, index, scope.path(index), "function")
    if after in {"=", ";", ",", ")", "[", ":"} and _after_type(source, index) and before not in {"::", ".", "->"}:
        return Own(name, index, scope.path(index), "variable")
    return None


def _local(source: Source, scope: Scope, index: int) -> bool:
    """Inside braces that are neither namespace nor class: a function body."""
    depth_open = [first for first, last in source.match.items() if first < index < last and source.word(first) == "{"]
    named = {first for first, _, _, _ in scope.path_at}
    return any(first not in named for first in depth_open)


def _after_type(source: Source, index: int) -> bool:
    """Could the token before be the end of a type? Then a name follows that is being declared."""
    if index == 0:
        return False
    before = source.code[index - 1]
    if before.text in {"*", "&", "&&"}:
        two = source.code[index - 2] if index > 1 else None
        return (
            two is not None
            and two.kind is Kind.IDENT
            and two.text not in _NOT_A_RETURN_TYPE
            and source.statement_start(index - 2) is True
        )
    if before.text == ">":
        return source.word(index + 1) != "(" or (
            source.statement_start(index) is False and source.word(index - 2) not in {">"}
        )
    return before.kind is Kind.IDENT and before.text not in _NOT_A_RETURN_TYPE and not source.directive_of[index - 1]


def _parameters(source: Source, opener: int, closer: int) -> bool:
    """Does a bracket hold parameters (types and names), not arguments?"""
    if closer == opener + 1:
        return True
    for first, last in source.arguments(opener):
        words = [source.word(at) for at in range(first, last + 1)]
        if words in (["void"], ["..."]):
            continue
        kinds = [source.code[at].kind for at in range(first, min(last, first + 12) + 1)]
        adjacent = any(a is Kind.IDENT and b is Kind.IDENT for a, b in pairwise(kinds))
        pointer = any(w in {"*", "&", "&&"} for w in words[1:]) and kinds[0] is Kind.IDENT and words[-1] not in {")"}
        simple = (
            len(words) == 1
            and kinds[0] is Kind.IDENT
            and (
                words[0].endswith("_t")
                or words[0] in {"int", "float", "double", "bool", "char", "unsigned", "long", "size_t"}
            )
        )
        if not (adjacent or pointer or simple):
            return False
    return True
