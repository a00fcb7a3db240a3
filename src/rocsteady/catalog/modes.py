"""Failure modes: the type of one, and how they are loaded.

Modes are YAML files below ``modes/<category>/``, one each. The package carries them compiled into one JSON
file as well, because parsing some hundred YAML files takes longer than a diagnosis.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Literal

import msgspec

from rocsteady.catalog.conditions import Condition, parse
from rocsteady.model import CatalogError, Category, Risk, Role, Severity, SubjectKind

ID = re.compile(r"^[A-Z][A-Z0-9]{1,7}-\d{4}$")
SLUG = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a statement comes from and when it was read."""

    url: str
    kind: Literal["kernel-doc", "vendor-doc", "driver-source", "project-source", "issue", "forum", "standard"]
    retrieved: str


class RemedySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One piece of advice; ``text`` and ``command`` are templates."""

    text: str
    command: str | None = None
    action: str | None = None
    risk: Risk = "safe"


class Raise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further evidence that changes how sure a match is (or how severe, or what role it has)."""

    when: dict[str, Any]
    confidence: float | None = None
    severity: Severity | None = None
    role: Role | None = None


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An input that must, must not, or cannot be judged: ``tree`` files by path, ``log`` files by name.

    ``finds`` names the subject ids that are expected (only for bad examples; empty = any).
    """

    tree: dict[str, str] = {}
    log: dict[str, str] = {}
    finds: tuple[str, ...] = ()


class Examples(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Inputs with a known answer."""

    bad: tuple[Example, ...]
    good: tuple[Example, ...]
    unknown: tuple[Example, ...]


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """How a metric shows this mode."""

    metric: str
    above: float = 0
    window: str = "0m"


class Mode(msgspec.Struct, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """One failure mode. See docs/failure-modes.md for what each key means and how to add one."""

    id: str
    slug: str
    status: Literal["test", "stable", "retired"] = "stable"
    aliases: tuple[str, ...] = ()
    category: Category
    role: Role
    severity: Severity
    subject: SubjectKind = "node"
    applies_to: dict[str, Any] = {}
    needs: tuple[str, ...] = ()
    when: dict[str, Any]
    unless: dict[str, Any] | None = None
    raises: tuple[Raise, ...] = ()
    title: str
    cause: str
    looks_like: str
    explains: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    remedies: tuple[RemedySpec, ...]
    certainty: Literal["vendor-documented", "observed", "reported"]
    confidence: float
    why: str = ""
    sources: tuple[Source, ...]
    alert: Alert | None = None
    examples: Examples

    @cached_property
    def condition(self) -> Condition:
        """``when``, typed."""
        return parse(self.when, f"{self.id}.when")

    @cached_property
    def exception(self) -> Condition | None:
        """``unless``, typed."""
        return parse(self.unless, f"{self.id}.unless") if self.unless else None

    @cached_property
    def raised(self) -> tuple[tuple[Condition, Raise], ...]:
        """``raises``, typed."""
        return tuple((parse(r.when, f"{self.id}.raises"), r) for r in self.raises)


def decode(raw: object, where: str) -> Mode:
    """One mode from parsed YAML or JSON; a malformed one is a ``CatalogError`` that names file and key."""
    try:
        mode = msgspec.convert(raw, Mode)
    except msgspec.ValidationError as error:
        raise CatalogError(f"{where}: {error}") from error
    if not ID.match(mode.id):
        raise CatalogError(f"{where}: id {mode.id!r} is not LETTERS-0000")
    if not SLUG.match(mode.slug):
        raise CatalogError(f"{where}: slug {mode.slug!r}")
    if not 0 < mode.confidence <= 1:
        raise CatalogError(f"{where}: confidence {mode.confidence}")
    return mode
