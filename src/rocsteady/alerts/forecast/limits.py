"""The numbers that the forecast goes by: ``limits.yaml``, each with its reason and source."""

from __future__ import annotations

import datetime
from functools import lru_cache
from importlib import resources

import msgspec
import yaml


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number, why it is so and where it comes from."""

    value: float
    why: str
    source: str
    date: datetime.date


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them; what each means stands in the file."""

    least_points: Limit
    least_horizons: Limit
    most_points: Limit
    most_missing: Limit
    longest_gap: Limit
    stale_steps: Limit
    flat_points: Limit
    flat_share: Limit
    wild_factor: Limit
    line_points: Limit
    season_strength: Limit
    forget: Limit
    sharpness: Limit
    margin: Limit
    choice_horizons: Limit
    miss: Limit
    tracking: Limit


@lru_cache(maxsize=1)
def limits() -> Limits:
    """The file, read once."""
    text = resources.files("rocsteady.alerts.forecast").joinpath("limits.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), Limits)
