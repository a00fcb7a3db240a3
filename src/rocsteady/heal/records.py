"""What the healer knows and does: faults, actions with their steps, pauses. Frozen; times are seconds since 1970."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocsteady.model import Severity

Source = Literal["health", "alert", "finding", "worker"]
Phase = Literal["approval", "running", "verifying", "done"]
Outcome = Literal["succeeded", "failed", "refused", "abandoned", "dry-run", "expired"]
StepState = Literal["pending", "started", "acted", "done", "failed"]
Mode = Literal["off", "approve", "auto"]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. ``id`` stands for node, boot, subject, mode and the time it was opened.

    ``mode``: failure mode of the catalog, or a word of ``remedies.yaml`` for what only a worker shows.
    ``gpu``: BDF, '' where the subject is a worker or the node. ``evidence_at``: when it was last seen to hold.
    ``tried``: rungs of the ladder that were taken, in order; ``passed``: rungs that do not apply now, and why.
    ``held``: why nothing is done now.
    """

    id: str
    node: str
    mode: str
    gpu: str = ""
    worker: str = ""
    peer: str = ""
    source: Source
    fingerprint: str = ""
    severity: Severity
    text: str
    boot_id: str
    opened_at: float
    evidence_at: float
    advice: str = "none"
    activity: str = ""
    closed_at: float | None = None
    closed_by: str = ""
    tried: tuple[str, ...] = ()
    passed: dict[str, str] = {}
    held: str = ""

    @property
    def subject(self) -> str:
        """What it is about, in one word."""
        return self.worker or self.gpu or self.node


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One act of an action. ``always``: also done when an earlier step failed, so that service comes back. ``optional``: when
    it fails, the action goes on.

    ``actuator`` and ``verb`` say who does what; ``target`` a worker, GPU or node; ``arguments`` are text.
    """

    actuator: str
    verb: str
    target: str
    arguments: dict[str, str] = {}
    always: bool = False
    optional: bool = False
    state: StepState = "pending"
    started_at: float | None = None
    detail: str = ""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One remedy on its way. ``id`` follows from fault, rung and try, so a decision made twice is one action.

    ``locks``: what no second action may touch meanwhile (``hive:node/id``, ``gpu:node/bdf``, ``worker:name``).
    ``disruptive``: counts against the budgets of what it ``touches`` (``node/bdf`` and ``worker:name``). ``prior_boot``: boot id when it was decided.
    """

    id: str
    fault: str
    mode: str
    node: str
    rung: str
    kind: str
    subject: str
    why: str
    evidence_at: float
    created_at: float
    locks: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    disruptive: bool = False
    steps: tuple[Step, ...] = ()
    verify_seconds: float = 0.0
    verify: str = ""
    prior_boot: str = ""
    phase: Phase = "running"
    started_at: float | None = None
    acted_at: float | None = None
    finished_at: float | None = None
    outcome: Outcome | None = None
    detail: str = ""
    approved_by: str = ""

    @property
    def open(self) -> bool:
        """It is not finished."""
        return self.phase != "done"


class Pause(msgspec.Struct, frozen=True):
    """No action on ``node`` ('' = all) until somebody resumes, or until ``until``."""

    node: str
    reason: str
    by: str
    since: float
    until: float | None = None

    def holds(self, node: str, now: float) -> bool:
        """It forbids actions on this node now."""
        return self.node in ("", node) and (self.until is None or now < self.until)


class Boot(msgspec.Struct, frozen=True):
    """A boot of a node: its id, and when we first saw it. ``known_start``: we saw the boot id change, so it began then.

    ``previous``: ids of boots before it, so that a late document of one of them is known as such.
    """

    boot_id: str
    seen_at: float
    known_start: bool
    previous: tuple[str, ...] = ()
