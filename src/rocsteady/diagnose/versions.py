"""Compares version strings by their numbers: ``5.15.0-101-generic`` is 5.15.0.101."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+")
_SPEC = re.compile(r"\s*(>=|<=|==|!=|>|<|~=)?\s*v?([\w.+~-]+)\s*$")


def numbers(version: str, count: int = 4) -> tuple[int, ...]:
    """The leading numbers of a version, at most ``count``; () when there is none.

    >>> numbers("v0.8.5.dev178+g3cde34a4a")
    (0, 8, 5)
    """
    match = re.search(r"\d+(?:[.\-_]\d+)*", version)
    if match is None:
        return ()
    return tuple(int(n) for n in _NUMBER.findall(match[0])[:count])


def satisfies(version: str, spec: str) -> bool | None:
    """Whether a version fits ``>=6.8,<6.12``; None when the version has no number. Missing places count as 0."""
    have = numbers(version)
    if not have:
        return None
    for part in str(spec).split(","):
        match = _SPEC.match(part)
        if match is None:
            return None
        want = numbers(match[2])
        width = max(len(have), len(want))
        left, right = pad(have, width), pad(want, width)
        op = match[1] or "=="
        if op == "==" or op == "~=":
            holds = have[: len(want)] == want
        elif op == "!=":
            holds = have[: len(want)] != want
        elif op == "<=":
            holds = left <= right or have[: len(want)] == want
        elif op == ">":
            holds = left > right and have[: len(want)] != want
        else:
            holds = left >= right if op == ">=" else left < right
        if not holds:
            return False
    return True


def pad(values: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Fill with zeros on the right."""
    return values + (0,) * (width - len(values))
