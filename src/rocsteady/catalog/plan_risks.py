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

Level = Literal["unsupported", "unstable", "check"]


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table; the head of the file says what the keys mean."""

    mode: str | None
    level: Level
    says: str
    sources: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    kv: tuple[str, ...] = ()
    gfx: str = ""
    tp_above: int = 0
    vllm_from: str | None = None
    vllm_below: str | None = None

    def in_release(self, version: tuple[int, ...]) -> bool:
        """True for a vLLM release inside the bounds."""
        late = self.vllm_from is None or version >= _numbers(self.vllm_from)
        return late and (self.vllm_below is None or version < _numbers(self.vllm_below))


class PlanRisk(msgspec.Struct, frozen=True, kw_only=True):
    """A known risk of a combination: the failure mode's id (None: none yet), what happens, where it was reported."""

    mode: str | None
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
    missing = sorted({row.mode for row in table if row.mode is not None} - sources.keys())
    if missing:
        raise CatalogError(f"plan_risks.yaml: no failure mode {', '.join(missing)}")
    return tuple((row, row.sources or sources.get(row.mode or "", ())) for row in table)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def plan_risks(
    weights: str, kv: str, gfx: str, tp: int, version: tuple[int, ...] | None = None
) -> tuple[PlanRisk, ...]:
    """Risks of a combination. ``weights``: label of the sweep; ``kv``: KV cache dtype; ``gfx``: such as ``gfx942``;
    ``version``: of vLLM, None for those that hold in every release."""
    return tuple(
        PlanRisk(mode=row.mode, level=row.level, says=row.says, sources=sources)
        for row, sources in rows()
        if (not row.weights or weights in row.weights)
        and (not row.kv or kv.partition("_")[0] in row.kv)
        and (not row.gfx or re.fullmatch(row.gfx, gfx))
        and tp > row.tp_above
        and (row.in_release(version) if version else not (row.vllm_from or row.vllm_below))
    )
