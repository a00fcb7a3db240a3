"""The ladder from weak to strong, and which rungs answer a fault. Data: ``data/ladder.yaml``, ``data/remedies.yaml``."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Literal

import msgspec
import yaml

from rocsteady.model import CatalogError

Scope = Literal["none", "gpu", "worker", "hive", "node"]
Verify = Literal["none", "steps", "workers", "gpus", "boot"]
PEOPLE = "people"


class Rung(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rung; see the head of the file."""

    id: str
    kind: str
    scope: Scope
    disruptive: bool
    verify: Verify
    verify_seconds: float
    text: str
    source: str


class Course(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rungs that answer one mode."""

    rungs: tuple[str, ...]
    why: str
    source: str


class Ladder(msgspec.Struct, frozen=True, kw_only=True):
    """All rungs by id, weak to strong, and the courses."""

    rungs: dict[str, Rung]
    modes: dict[str, Course]
    words: dict[str, Course]
    advice: dict[str, tuple[str, ...]]
    actions: dict[str, tuple[str, ...]]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Classes of actions, weak to strong."""
        return tuple(dict.fromkeys(rung.kind for rung in self.rungs.values()))

    def course(self, mode: str, advice: str, action: str = "") -> tuple[str, ...]:
        """Rungs for a fault, in order; the last is ``people``."""
        found = self.modes.get(mode) or self.words.get(mode)
        if found is not None:
            rungs = found.rungs
        elif action in self.actions:
            rungs = self.actions[action]
        else:
            rungs = self.advice.get(advice, self.advice["none"])
        return rungs if rungs[-1:] == ("watch",) else (*rungs, PEOPLE)


class _RungFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rungs: tuple[Rung, ...]


class _CourseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    modes: dict[str, Course]
    words: dict[str, Course]
    advice: dict[str, tuple[str, ...]]
    actions: dict[str, tuple[str, ...]]


def _read(name: str) -> object:
    return yaml.safe_load(resources.files("rocsteady.heal").joinpath(f"data/{name}").read_text(encoding="utf-8"))


@functools.cache
def load_ladder() -> Ladder:
    """The built-in ladder.

    Raises:
        CatalogError: the files are malformed, or a course names an unknown rung.
    """
    try:
        rungs = {rung.id: rung for rung in msgspec.convert(_read("ladder.yaml"), _RungFile).rungs}
        courses = msgspec.convert(_read("remedies.yaml"), _CourseFile)
    except msgspec.ValidationError as error:
        raise CatalogError(f"ladder.yaml or remedies.yaml: {error}") from error
    named = [course.rungs for course in (*courses.modes.values(), *courses.words.values())]
    for names in (*named, *courses.advice.values(), *courses.actions.values()):
        if unknown := [name for name in names if name not in rungs]:
            raise CatalogError(f"remedies.yaml: no rung is called {', '.join(unknown)}")
    return Ladder(
        rungs=rungs, modes=courses.modes, words=courses.words, advice=courses.advice, actions=courses.actions
    )  # fmt: skip
