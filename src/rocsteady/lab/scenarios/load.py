"""Reads the scenario files."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterator, Mapping
from importlib import resources

import msgspec
import yaml

NAMES = {"night-crash": "night_crash.yaml"}
"""Name -> file; a new scenario is added here and in ``play``."""


class Night(msgspec.Struct, frozen=True):
    """One life of the engine."""

    started: datetime.datetime
    died: datetime.datetime


class MemoryCourse(msgspec.Struct, frozen=True):
    """How memory of the engine's GPU develops, GiB."""

    total_gib: float
    start_gib: float
    end_gib: float
    tried_gib: float


class Job(msgspec.Struct, frozen=True):
    """Something that the machine does every day at ``at`` (HH:MM:SS)."""

    at: str
    text: str


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario. ``planted``: slug of the failure mode that a diagnosis must name first."""

    name: str
    shape: str
    text: str
    planted: str
    model: str
    gpu: int
    first: datetime.datetime
    last: datetime.datetime
    nights: tuple[Night, ...]
    serving: datetime.datetime
    memory: MemoryCourse
    jobs: tuple[Job, ...]


@functools.cache
def load_scenario(name: str) -> Scenario:
    """One scenario by name; raises KeyError for an unknown one."""
    text = resources.files("rocsteady.lab.scenarios").joinpath(NAMES[name]).read_text("utf-8")
    return msgspec.convert(yaml.safe_load(text), Scenario, strict=False)


class _Scenarios(Mapping[str, Scenario]):
    """All scenarios by name, each read when it is asked for."""

    def __getitem__(self, name: str) -> Scenario:
        return load_scenario(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


SCENARIOS = _Scenarios()
