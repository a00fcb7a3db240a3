"""Loads the rules that the package carries."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
import yaml

from rocsteady.alerts.amounts import seconds
from rocsteady.alerts.rule import Recording, Rule, Threshold
from rocsteady.model import CatalogError

ID = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")
ALERT = re.compile(r"^Rocsteady[A-Z][A-Za-z0-9]+$")
RESERVED = frozenset({"enabled", "severity", "respond", "step", "for", "value"})


@cache
def load_rules() -> dict[str, tuple[Rule, ...]]:
    """Rules by group (the name of the file), in the order of the files.

    Raises:
        CatalogError: a file is malformed, or two rules share an id or a name.
    """
    groups = {group: tuple(decode(entry, where) for where, entry in read(file)) for group, file in files("rules")}
    rules = [rule for group in groups.values() for rule in group]
    for key in ("id", "alert"):
        names = [getattr(rule, key) for rule in rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise CatalogError(f"alert rules: {key} used twice: {', '.join(twice)}")
    ids = {rule.id for rule in rules}
    for rule in rules:
        if rule.worse_than is not None and rule.worse_than not in ids:
            raise CatalogError(f"{rule.id}: worse_than {rule.worse_than!r} is no rule")
    return groups


@cache
def shared() -> dict[str, Threshold]:
    """Numbers that several rules use (goals of the service), by name.

    Raises:
        CatalogError: the file is malformed.
    """
    try:
        raw = yaml.safe_load(resources.files(__package__).joinpath("shared.yaml").read_text(encoding="utf-8"))
        found = msgspec.convert(raw, dict[str, Threshold])
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise CatalogError(f"shared.yaml: {' '.join(str(error).split())}") from error
    for name, limit in found.items():
        check_threshold(limit, f"shared.{name}")
    return found


@cache
def recordings() -> dict[str, tuple[Recording, ...]]:
    """Recording rules by the group of alerts that they belong to.

    Raises:
        CatalogError: a file is malformed.
    """
    try:
        return {
            group: tuple(msgspec.convert(entry, Recording) for _, entry in read(file))
            for group, file in files("recording")
        }
    except msgspec.ValidationError as error:
        raise CatalogError(f"recording: {error}") from error


def files(folder: str) -> list[tuple[str, Traversable]]:
    """YAML files of one folder beside this module, by name without suffix."""
    found = [path for path in resources.files(__package__).joinpath(folder).iterdir() if path.name.endswith(".yaml")]
    return [(path.name.removesuffix(".yaml"), path) for path in sorted(found, key=lambda p: p.name)]


def read(path: Traversable) -> list[tuple[str, Any]]:
    """Entries of one file with the place to name in errors."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError as error:
        raise CatalogError(f"{path.name}: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list):
        raise CatalogError(f"{path.name}: not a list of entries")
    return [(f"{path.name}[{n}]", entry) for n, entry in enumerate(entries)]


def decode(raw: object, where: str) -> Rule:
    """One rule; a malformed one is a ``CatalogError`` that names file and key."""
    try:
        rule = msgspec.convert(raw, Rule)
    except msgspec.ValidationError as error:
        raise CatalogError(f"{where}: {error}") from error
    if not ID.match(rule.id) or not ALERT.match(rule.alert):
        raise CatalogError(f"{where}: id {rule.id!r} or name {rule.alert!r} has another form")
    wrong = RESERVED & set(rule.limits)
    if wrong:
        raise CatalogError(f"{rule.id}: a threshold cannot be called {', '.join(sorted(wrong))}")
    for name, limit in thresholds(rule).items():
        check_threshold(limit, f"{rule.id}.{name}")
    return rule


def check_threshold(limit: Threshold, where: str) -> None:
    """A duration is text, a number a number; what is not our own choice has an address and a day.

    Raises:
        CatalogError: one of these is not so.
    """
    if isinstance(limit.value, str):
        try:
            seconds(limit.value)
        except ValueError as error:
            raise CatalogError(f"{where}: {error}") from error
    elif limit.kind == "duration":
        raise CatalogError(f"{where}: a duration is text such as 5m")
    if limit.certainty not in ("chosen", "requested") and not (limit.url and limit.retrieved):
        raise CatalogError(f"{where}: {limit.certainty} without url and retrieved")


def thresholds(rule: Rule) -> dict[str, Threshold]:
    """Everything about a rule that can be set as a number or duration, by its key in the threshold file."""
    return {"for": rule.wait, **rule.limits}
