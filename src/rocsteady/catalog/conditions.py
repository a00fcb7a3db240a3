"""The closed words of a rule: what a failure mode's ``when`` may say.

all: [..]          every part holds
any: [..]          some part holds
not: {..}          the part does not hold; what is unknown stays unknown
event: KIND        a log has this event; KIND may be a list. With it:
    where: {field: TEST}   the event's named groups; a bare value means equality (case ignored)
    count: N               at least N of them (a folded flood counts in full)
    within: SECONDS        those N within so many seconds, where time stamps allow
    before / after: KIND   ordered against another kind on the same subject
fact: PATH         a value of ``NodeFacts``; ``gpu.`` looks at the GPU in question. With it one TEST.
note: {key: RE, value: RE}   a line that a person wrote
probe: NAME        a typed function registered in ``diagnose.probes``

TEST: eq, ne, gt, ge, lt, le (numbers), in [..], matches RE, contains TEXT, version ">=6.8,<6.12",
exists true|false. Values without a word mean eq.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rocsteady.model import CatalogError

TESTS = ("eq", "ne", "gt", "ge", "lt", "le", "in", "matches", "contains", "version", "exists")


class Test(msgspec.Struct, frozen=True):
    """One comparison: an operator and its operand."""

    op: str
    value: Any


class AllOf(msgspec.Struct, frozen=True):
    """Every part holds."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True):
    """Some part holds."""

    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True):
    """The part does not hold."""

    part: Condition


class OnEvent(msgspec.Struct, frozen=True):
    """A log has such an event."""

    kinds: tuple[str, ...]
    where: dict[str, tuple[Test, ...]] = {}
    count: int = 1
    within: float | None = None
    before: str | None = None
    after: str | None = None
    anywhere: bool = False


class OnFact(msgspec.Struct, frozen=True):
    """A fact passes the tests."""

    path: str
    tests: tuple[Test, ...]


class OnNote(msgspec.Struct, frozen=True):
    """A person noted this."""

    key: str
    value: str


class OnProbe(msgspec.Struct, frozen=True):
    """A registered function decides."""

    name: str


Condition = AllOf | AnyOf | Not | OnEvent | OnFact | OnNote | OnProbe


def parse(raw: object, where: str) -> Condition:
    """Turn the YAML of a ``when`` into typed conditions; an unknown word is a ``CatalogError``."""
    if not isinstance(raw, dict) or not raw:
        raise CatalogError(f"{where}: a condition is a mapping, not {raw!r}")
    if "all" in raw or "any" in raw:
        word = "all" if "all" in raw else "any"
        _only(raw, {word}, where)
        if not isinstance(raw[word], list) or not raw[word]:
            raise CatalogError(f"{where}: '{word}' takes a list")
        parts = tuple(parse(part, f"{where}.{word}[{i}]") for i, part in enumerate(raw[word]))
        return AllOf(parts) if word == "all" else AnyOf(parts)
    if "not" in raw:
        _only(raw, {"not"}, where)
        return Not(parse(raw["not"], f"{where}.not"))
    if "event" in raw:
        _only(raw, {"event", "where", "count", "within", "before", "after", "anywhere"}, where)
        kinds = raw["event"] if isinstance(raw["event"], list) else [raw["event"]]
        fields = {k: _tests(v, f"{where}.where.{k}") for k, v in (raw.get("where") or {}).items()}
        return OnEvent(
            tuple(str(k) for k in kinds), fields, int(raw.get("count", 1)), raw.get("within"),
            raw.get("before"), raw.get("after"), bool(raw.get("anywhere", False)),
        )  # fmt: skip
    if "fact" in raw:
        _only(raw, {"fact", *TESTS}, where)
        rest = {k: v for k, v in raw.items() if k != "fact"}
        if not rest:
            raise CatalogError(f"{where}: fact {raw['fact']!r} has no test")
        return OnFact(str(raw["fact"]), _tests(rest, where))
    if "note" in raw:
        _only(raw, {"note"}, where)
        note = raw["note"]
        if not isinstance(note, dict):
            raise CatalogError(f"{where}: note takes key and value")
        _only(note, {"key", "value"}, where)
        return OnNote(_regex(note.get("key", ""), where), _regex(note.get("value", ""), where))
    if "probe" in raw:
        _only(raw, {"probe"}, where)
        return OnProbe(str(raw["probe"]))
    raise CatalogError(f"{where}: unknown word {next(iter(raw))!r}")


def _tests(raw: object, where: str) -> tuple[Test, ...]:
    if not isinstance(raw, dict):
        return (Test("eq", raw),)
    _only(raw, set(TESTS), where)
    for op in ("matches",):
        if op in raw:
            _regex(raw[op], where)
    return tuple(Test(op, value) for op, value in raw.items())


def _regex(raw: object, where: str) -> str:
    try:
        re.compile(str(raw))
    except re.error as error:
        raise CatalogError(f"{where}: {raw!r}: {error}") from error
    return str(raw)


def _only(raw: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = set(map(str, raw)) - allowed
    if unknown:
        raise CatalogError(f"{where}: unknown word {sorted(unknown)[0]!r}")
