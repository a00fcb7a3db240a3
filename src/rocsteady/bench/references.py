"""Published figures of the same model, with their precision named."""

from __future__ import annotations

from importlib import resources

import msgspec
import yaml


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published row. tokens_per_second: output tokens of the whole system. grade: primary (result files read) or
    secondary (a page that quotes them). Times in seconds."""

    model: str
    system: str
    gpus: int
    precision: str
    scenario: str
    tokens_per_second: float
    round: str
    grade: str
    source: str
    ttft_p99: float | None = None
    tpot_p99: float | None = None
    tokens_per_joule: float | None = None


class References(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rows, the day they were read, and what does not exist."""

    retrieved: str
    rows: tuple[Reference, ...]
    missing: str


def references() -> References:
    """The rows that are shipped."""
    text = resources.files("rocsteady.bench").joinpath("references.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), References)


def plain(name: str) -> str:
    """A model name without vendor, case and separators."""
    return "".join(c for c in name.rpartition("/")[2].lower() if c.isalnum())


def rows_for(model: str, precision: str | None) -> tuple[list[Reference], list[Reference]]:
    """Rows of this model: those of this precision, and the others, which may be shown but not compared."""
    wanted = plain(model)
    same = [row for row in references().rows if plain(row.model) in wanted]
    return (
        [row for row in same if precision is not None and row.precision == precision],
        [row for row in same if precision is None or row.precision != precision],
    )
