"""What ``decide`` looks at, and what can happen to it."""

from __future__ import annotations

import msgspec

from rocsteady.heal.records import Action, Boot, Fault, Pause
from rocsteady.heal.view import NodeView, WorkerView
from rocsteady.model import Severity


class HealthSeen(msgspec.Struct, frozen=True, tag="health"):
    """A gpu-health document came in."""

    view: NodeView


class WorkersSeen(msgspec.Struct, frozen=True, tag="workers"):
    """The executors looked at their workers: all of them, by name."""

    workers: tuple[WorkerView, ...]


class AlertSeen(msgspec.Struct, frozen=True, kw_only=True, tag="alert"):
    """One alert of an Alertmanager webhook. ``starts_at`` tells two firings of one fingerprint apart."""

    fingerprint: str
    firing: bool
    node: str
    mode: str
    gpu: str = ""
    worker: str = ""
    peer: str = ""
    severity: Severity = "warning"
    text: str = ""
    starts_at: float


class FindingSeen(msgspec.Struct, frozen=True, kw_only=True, tag="finding"):
    """A finding of a diagnosis, or an activity that its crash timeline blames (mode ``schedule-blamed``)."""

    id: str
    node: str
    mode: str
    gpu: str = ""
    peer: str = ""
    action: str = ""
    activity: str = ""
    severity: Severity = "warning"
    text: str = ""
    at: float


class Tick(msgspec.Struct, frozen=True, tag="tick"):
    """Time went on."""


Event = HealthSeen | WorkersSeen | AlertSeen | FindingSeen | Tick


class Notice(msgspec.Struct, frozen=True):
    """Something to tell people, once per ``key``."""

    key: str
    text: str


class State(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known. ``actions``: the open ones, and the finished ones of the repeat window.

    ``workers_known``: the executors were asked since we started; before that "no worker is on it" would be a guess.
    ``resets``: when a GPU (``node/bdf``) was last reset by us. ``over``: since when a device is over its watermark.
    ``breaker_since``: mass event; nothing disruptive until somebody resumes.
    """

    faults: tuple[Fault, ...] = ()
    actions: tuple[Action, ...] = ()
    nodes: dict[str, NodeView] = {}
    workers: tuple[WorkerView, ...] = ()
    workers_known: bool = False
    boots: dict[str, Boot] = {}
    resets: dict[str, float] = {}
    over: dict[str, float] = {}
    pauses: tuple[Pause, ...] = ()
    breaker_since: float | None = None
    breaker_cleared: float = 0.0

    @property
    def open_faults(self) -> tuple[Fault, ...]:
        """Faults that hold."""
        return tuple(fault for fault in self.faults if fault.closed_at is None)

    @property
    def open_actions(self) -> tuple[Action, ...]:
        """Actions that wait or run."""
        return tuple(action for action in self.actions if action.open)

    def workers_on(self, node: str, bdfs: tuple[str, ...] = ()) -> tuple[WorkerView, ...]:
        """Workers of a node, or only those with a device on one of these GPUs."""
        found = [w for w in self.workers if w.node == node]
        if not bdfs:
            return tuple(found)
        return tuple(w for w in found if any(d.split("/")[0] in bdfs for d in w.devices))


class Decision(msgspec.Struct, frozen=True):
    """The new state (with the new actions in it), which actions are new, and what to tell people."""

    state: State
    actions: tuple[Action, ...] = ()
    notices: tuple[Notice, ...] = ()
