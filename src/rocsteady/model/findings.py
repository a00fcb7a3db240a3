"""What a diagnosis says. The JSON contract ``rocsteady.diagnosis/1`` is this module, field by field."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.model.base import Category, Evidence, Gap, Risk, Role, Severity, Subject, Verdict
from rocsteady.model.suppression import Suppressed


class Remedy(msgspec.Struct, frozen=True):
    """Advice. ``command`` is None where no single command does it."""

    text: str
    command: str | None = None
    risk: Risk = "safe"
    action: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """One judged fact about the node."""

    id: str
    slug: str
    category: Category
    severity: Severity
    mode: str
    role: Role
    confidence: float
    subject: Subject
    title: str
    cause: str
    remedies: tuple[Remedy, ...]
    evidence: tuple[Evidence, ...]
    explains: tuple[str, ...]
    sources: tuple[str, ...]
    looks_like: str = ""
    at: float | None = None
    count: int = 1


class UnexplainedLine(msgspec.Struct, frozen=True):
    """An error-like line that no finding rests on; ``count`` lines have its shape."""

    file: str
    line: int | None
    text: str
    count: int = 1


class Crash(msgspec.Struct, frozen=True):
    """One crash and what preceded it in every source. ``at``: seconds since 1970, None where not dated."""

    at: float | None
    kind: str
    subject: str
    text: str
    file: str
    line: int | None
    before: tuple[str, ...]


class Coincidence(msgspec.Struct, frozen=True):
    """One activity against all crashes. ``p_value`` is None where there is too little to compute one."""

    activity: str
    crashes: int
    followed: int
    expected: float
    p_value: float | None
    says: str


class CrashTimeline(msgspec.Struct, frozen=True):
    """All crashes of a node, and whether they follow some periodic activity."""

    crashes: tuple[Crash, ...] = ()
    coincidences: tuple[Coincidence, ...] = ()
    says: str = ""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer for one node. Findings are ordered: the first is the main root cause."""

    schema: str = "rocsteady.diagnosis/1"
    verdict: Verdict
    findings: tuple[Finding, ...]
    unexplained: tuple[UnexplainedLine, ...]
    gaps: tuple[Gap, ...]
    timeline: tuple[dict[str, Any], ...]
    node: dict[str, Any]
    crash_timeline: CrashTimeline = CrashTimeline()
    suppressed: tuple[Suppressed, ...] = ()
    notes: tuple[str, ...] = ()
