"""Well-known models: the keys of their configuration, each with where it was read."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

import msgspec

from rocsteady.catalog.knowledge import DATA


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A public model. ``config`` holds keys of config.json as published; ``source`` says where they were read."""

    name: str
    aliases: tuple[str, ...] = ()
    config: dict[str, Any]
    source: str
    retrieved: str


class _Models(msgspec.Struct):
    models: tuple[KnownModel, ...]


@cache
def known_models() -> tuple[KnownModel, ...]:
    """All models."""
    return msgspec.json.decode((DATA / "models.json").read_bytes(), type=_Models).models


def _plain(text: str) -> str:
    return "".join(c for c in text.lower().rsplit("/", 1)[-1] if c.isalnum())


def find_model(text: str) -> KnownModel | None:
    """The model with this name or alias; publisher, case and punctuation do not count."""
    wanted = _plain(text)
    return next((m for m in known_models() if wanted and wanted in map(_plain, (m.name, *m.aliases))), None)


def similar_models(text: str) -> list[str]:
    """Names that look alike, at most three."""
    return difflib.get_close_matches(text, [m.name for m in known_models()], n=3, cutoff=0.4)
