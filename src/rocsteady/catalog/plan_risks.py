"""Combinations of a plan that are known to be unstable or wrong on ROCm; the failure modes carry the sources."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
import yaml

from rocsteady.catalog.load import load_catalog
from rocsteady.model import CatalogError

Level = Literal["unstable", "check"]


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table; the head of the file says what the keys mean."""

    mode: str
    level: Level
    says: str
    weights: tuple[str, ...] = ()
    kv: tuple[str, ...] = ()
    gfx: str = ""
    tp_above: int = 0


class PlanRisk(msgspec.Struct, frozen=True, kw_only=True):
    """A known risk of a combination: the failure mode's id, what happens, and where it was reported."""

    mode: str
    level: Level
    says: str
    sources: tuple[str, ...]


@cache
def rows() -> tuple[tuple[Row, tuple[str, ...]], ...]:
    """The table with the sources of its modes.

    Raises:
        CatalogError: a row names a mode that there is not.
    """
    text = resources.files("rocsteady.catalog").joinpath("data/plan_risks.yaml").read_text(encoding="utf-8")
    table = msgspec.convert(yaml.safe_load(text), tuple[Row, ...])
    sources = {mode.id: tuple(source.url for source in mode.sources) for mode in load_catalog().modes.values()}
    missing = sorted({row.mode for row in table} - sources.keys())
    if missing:
        raise CatalogError(f"plan_risks.yaml: no failure mode {', '.join(missing)}")
    return tuple((row, sources[row.mode]) for row in table)


def plan_risks(weights: str, kv: str, gfx: str, tp: int) -> tuple[PlanRisk, ...]:
    """Risks of a combination. ``weights``: label of the sweep; ``kv``: KV cache dtype; ``gfx``: such as ``gfx942``."""
    return tuple(
        PlanRisk(mode=row.mode, level=row.level, says=row.says, sources=sources)
        for row, sources in rows()
        if (not row.weights or weights in row.weights)
        and (not row.kv or kv.partition("_")[0] in row.kv)
        and (not row.gfx or re.fullmatch(row.gfx, gfx))
        and tp > row.tp_above
    )
