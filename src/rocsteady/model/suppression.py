"""A finding that people know about and do not want to see for a while."""

from __future__ import annotations

import datetime

import msgspec


class Suppression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of ``[[suppress]]`` in rocsteady.toml.

    ``mode`` is an id or slug; ``subject`` a shell pattern over subject ids; ``reason`` is required, and so is
    ``expires``: a suppression without an end hides the next failure of the same kind.
    """

    mode: str
    reason: str
    expires: datetime.date
    subject: str = "*"


class Suppressed(msgspec.Struct, frozen=True):
    """A finding that was left out of the verdict."""

    id: str
    title: str
    reason: str
    expires: str
