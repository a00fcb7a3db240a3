"""The rules as data: what each names, how serious it is, why, what to do, and where that is written.

One YAML file per subject in `data/rules`. A rule with `names` (or `prefixes`) needs no code: every use of such a name in
code is a note. The others are raised by the pass that is named in `by`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
import yaml

from rocsteady.model import CatalogError

Severity = Literal["high", "medium", "low"]
Where = Literal["any", "call", "device", "host", "template", "directive"]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `lanes` are the wavefront sizes it concerns, empty for all; `names` and `prefixes` are literal."""

    id: str
    category: str
    severity: Severity
    title: str
    reason: str
    do: str
    source: str
    example: str
    by: str = "names"
    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    where: Where = "any"
    needs: str = ""  # a word that the file must hold besides
    once: bool = False  # one note per file: the first place stands for all
    lanes: tuple[int, ...] = ()
    clean: str = ""  # a near miss that must leave no note of this rule


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, in the order of the files."""
    found: dict[str, Rule] = {}
    folder = files("rocsteady.port") / "data" / "rules"
    for resource in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not resource.name.endswith(".yaml"):
            continue
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            entries = msgspec.convert(yaml.load(resource.read_text(encoding="utf-8"), Loader=loader), list[Rule])
        except (yaml.YAMLError, msgspec.ValidationError) as error:
            raise CatalogError(f"{resource.name}: {error}") from None
        for rule in entries:
            if rule.id in found:
                raise CatalogError(f"{resource.name}: rule {rule.id} is declared twice")
            found[rule.id] = rule
    return found


@cache
def by_name() -> dict[str, tuple[Rule, ...]]:
    """Rules that a plain name raises."""
    index: dict[str, tuple[Rule, ...]] = {}
    for rule in rules().values():
        for name in rule.names:
            index[name] = (*index.get(name, ()), rule)
    return index


@cache
def by_prefix() -> tuple[tuple[str, Rule], ...]:
    """Rules that a prefix of a name raises."""
    return tuple((prefix, rule) for rule in rules().values() for prefix in rule.prefixes)
