"""What an alert rule is. One entry per rule in ``rules/*.yaml``; docs/alerts.md explains each key."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocsteady.model import Severity

Certainty = Literal["requested", "vendor-documented", "observed", "reported", "chosen"]
"""How well founded a number is. requested: operators ask for it; chosen: a guess of ours, and ``why`` says from what."""
Respond = Literal["now", "15m", "1h", "1d", "1w"]
"""Within what time somebody should have acted."""
Kind = Literal["number", "ratio", "celsius", "seconds", "bytes", "duration"]
Subject = Literal["node", "gpu", "partition", "link", "process", "service", "port", "exporter"]


class Threshold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number that can be set in the threshold file, and where it comes from. A duration is text such as ``5m``."""

    value: float | str
    certainty: Certainty
    why: str
    url: str | None = None
    retrieved: str | None = None
    kind: Kind = "number"
    choices: tuple[float, ...] = ()
    """The only values that make sense, where that is so (bucket boundaries of a histogram)."""


class Recording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recording rule, once per window; ``%window%`` in ``record`` and ``expr`` is the window."""

    record: str
    expr: str
    windows: tuple[str, ...] = ("",)
    why: str


class Segment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of a test series: ``lasts`` seconds (the last one: to the end) from ``value`` on, rising by
    ``per_minute``. A value of None: no sample. All are sums over the thresholds (``amounts.evaluate``)."""

    value: str | float | None = None
    lasts: str | float | None = None
    per_minute: str | float = 0


class Series(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One input series; ``instance`` and ``job`` are added."""

    series: str
    values: tuple[Segment, ...]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One unit test: input, when it is looked at, and for one that fires the labels and the value of the alert."""

    series: tuple[Series, ...]
    at: str | float | None = None
    labels: dict[str, str] = {}
    value: str | float = 1


class Cases(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``fires`` must fire, ``quiet`` must not. ``pending``: whether half of ``for`` must still be quiet."""

    fires: Case
    quiet: tuple[Case, ...]
    pending: bool = True


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One alert rule.

    expr: PromQL; ``%name%`` is a threshold, ``%job%`` the scrape job.
    mode: id of a failure mode of the catalog; the runbook is its page.
    limits: thresholds by name. wait (key ``for``): how long the condition must hold.
    summary, description, action: ``{label}``, ``{value:FORMAT}``, ``{threshold:FORMAT}``; formats: percent, whole, one,
    duration, bytes.
    unknown: the rule says that something is not known, which is neither good nor bad.
    worse_than: id of the milder rule about the same thing that this one silences.
    """

    id: str
    alert: str
    severity: Severity
    respond: Respond
    subject: Subject
    mode: str
    expr: str
    wait: Threshold = msgspec.field(name="for")
    limits: dict[str, Threshold] = {}
    summary: str
    description: str
    action: str
    unknown: bool = False
    worse_than: str | None = None
    tests: Cases
