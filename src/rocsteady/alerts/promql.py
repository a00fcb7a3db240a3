"""Which metrics and labels a PromQL expression names. It does not judge the grammar: promtool does that."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|(?P<range>\[[^\]]*\])"""
    r"""|(?P<number>(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)[a-z]*)|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"""
    r"""|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){}<>=,@])"""
)
LISTS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
WORDS = frozenset({"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"})
ADDED = frozenset({"instance", "job"})
"""Labels that Prometheus adds to what it scrapes."""


class Selector(msgspec.Struct, frozen=True):
    """A metric with the labels that it is selected by."""

    metric: str
    labels: frozenset[str]


class Named(msgspec.Struct, frozen=True):
    """What an expression names: selectors, and labels in ``by``, ``on`` and the like."""

    selectors: tuple[Selector, ...]
    grouping: frozenset[str]


def names(expression: str) -> Named:
    """Take the names out of an expression.

    Raises:
        ValueError: a character that PromQL does not know, or a bracket that does not close.
    """
    tokens = _tokens(expression)
    selectors: list[Selector] = []
    grouping: set[str] = set()
    n = 0
    while n < len(tokens):
        kind, text = tokens[n]
        following = tokens[n + 1][1] if n + 1 < len(tokens) else ""
        if kind == "name" and text.lower() in LISTS:
            if following == "(":
                n, labels = _inside(tokens, n + 2, ")")
                grouping |= labels
        elif kind == "name" and text.lower() not in WORDS and following.lower() not in ("(", "by", "without"):
            labels = set()
            if following == "{":
                n, labels = _inside(tokens, n + 2, "}")
            selectors.append(Selector(text, frozenset(labels)))
        elif text == "{":
            raise ValueError("a selector without a metric")
        n += 1
    return Named(tuple(selectors), frozenset(grouping))


def _tokens(expression: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(expression):
        match = TOKEN.match(expression, at)
        if match is None:
            raise ValueError(f"unexpected {expression[at : at + 12]!r}")
        if match.lastgroup != "space":
            found.append((str(match.lastgroup), match.group()))
        at = match.end()
    return found


def _inside(tokens: list[tuple[str, str]], n: int, closing: str) -> tuple[int, set[str]]:
    """Index of the closing bracket, and the names before it."""
    labels: set[str] = set()
    while n < len(tokens) and tokens[n][1] != closing:
        if tokens[n][0] == "name":
            labels.add(tokens[n][1])
        n += 1
    if n == len(tokens):
        raise ValueError(f"no closing {closing}")
    return n, labels


def strangers(expression: str, known: Mapping[str, Collection[str]]) -> list[str]:
    """What an expression names that is not known: metrics, and labels that a metric does not have.

    known: labels by full metric name.
    """
    named = names(expression)
    wrong: list[str] = []
    labels: set[str] = set(ADDED)
    for selector in named.selectors:
        if selector.metric not in known:
            wrong.append(f"no metric {selector.metric}")
            continue
        has = set(known[selector.metric]) | ADDED
        labels |= has
        wrong += [f"{selector.metric} has no label {label}" for label in sorted(selector.labels - has)]
    wrong += [f"no metric of the expression has a label {label}" for label in sorted(named.grouping - labels)]
    return wrong
