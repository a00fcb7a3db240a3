"""What a diagnosis says. The JSON contract ``rocsteady.diagnosis/1`` is this module, field by field."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.model.base import Category, Evidence, Gap, Risk, Role, Severity, Subject, Verdict


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


class Diagnosis(msgspec.Struct, frozen=True):
    """The whole answer for one node. Findings are ordered: the first is the main root cause."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    unexplained: tuple[Evidence, ...]
    gaps: tuple[Gap, ...]
    timeline: tuple[dict[str, Any], ...]
    node: dict[str, Any]
    schema: str = "rocsteady.diagnosis/1"
    notes: tuple[str, ...] = ()
