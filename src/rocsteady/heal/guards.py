"""What forbids an action now: stale evidence, an unknown state, budgets, locks, the breaker, people. Pure.

Each check returns '' or the reason in words; the reason is shown by ``heal explain``.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocsteady.heal.ladder import Rung
from rocsteady.heal.policy import Policy
from rocsteady.heal.records import Action, Fault
from rocsteady.heal.state import State

RELIED = ("succeeded", "failed")
"""Outcomes of actions that were really done."""
ONCE = ("reset", "reload", "reboot")
"""Classes that are tried once for the same trouble."""
FREE = ("watch", "stop-new", "people")
"""Classes that may be repeated without end: they take nothing away."""


def evidence(state: State, fault: Fault, now: float, policy: Policy) -> str:
    """The evidence is fresh, of this boot, newer than the last reset, and the document agrees. Unknown = never act."""
    view = state.nodes.get(fault.node)
    if view is None:
        return f"no gpu-health document of {fault.node} yet"
    if not state.workers_known:
        return "the executors were not asked yet how their workers are"
    age = max(now - view.at, now - view.taken_at)
    if age > policy.document_max_age:
        return f"the gpu-health document is {age:.0f} s old, {policy.document_max_age:.0f} are allowed"
    if view.at - now > policy.document_max_age:
        return f"the gpu-health document is of {view.at - now:.0f} s from now: a clock is wrong"
    if not view.boot_id:
        return "the document does not say which boot it is of"
    if fault.boot_id and fault.boot_id != view.boot_id:
        return "the evidence is of an earlier boot"
    if now - fault.evidence_at > policy.evidence_max_age:
        return f"the evidence is {now - fault.evidence_at:.0f} s old, {policy.evidence_max_age:.0f} are allowed"
    boot = state.boots.get(fault.node)
    if boot is not None and boot.known_start and fault.evidence_at < boot.seen_at:
        return "the evidence is from before the last boot"
    worker = next((w for w in state.workers if w.name == fault.worker), None)
    if fault.worker and worker is None:
        return f"no worker is called {fault.worker}"
    names = {d.split("/")[0] for d in worker.devices} if worker else set()
    for bdf in sorted(names | ({fault.gpu} if fault.gpu else set())):
        rows = view.gpu(bdf)
        if not rows:
            return f"{bdf} is not in the document"
        if any(row.state == "unknown" for row in rows):
            return f"the state of {bdf} is unknown"
        if bdf == fault.gpu and fault.evidence_at <= state.resets.get(f"{fault.node}/{bdf}", 0.0):
            return f"the evidence is from before the last reset of {bdf}"
    if fault.gpu and fault.source in ("alert", "finding") and all(r.state == "healthy" for r in view.gpu(fault.gpu)):
        return f"the gpu-health document calls {fault.gpu} healthy"
    return ""


def people(state: State, node: str, now: float, policy: Policy) -> str:
    """A person holds the node."""
    for pause in state.pauses:
        if pause.holds(node, now):
            return f"paused by {pause.by}: {pause.reason}"
    for window in policy.maintenance:
        if window.holds(node, now):
            return f"maintenance until {window.end.isoformat()}: {window.reason}"
    return ""


def busy(state: State, action: Action) -> str:
    """Something that it would touch is being worked on, or the same was already proposed."""
    for other in state.open_actions:
        if other.id == action.id:
            continue
        if other.phase == "approval":
            if other.rung == action.rung and set(other.locks) & set(action.locks):
                return f"{other.id} waits for approval and does the same"
            continue
        if set(other.locks) & set(action.locks) or _node_wide(other, action):
            return f"{other.id} is under way"
    return ""


def _node_wide(one: Action, other: Action) -> bool:
    """One of two actions on the same node locks all of it."""
    lock = f"node:{one.node}"
    return one.node == other.node and bool(one.locks and other.locks) and (lock in one.locks or lock in other.locks)


def limits(state: State, action: Action, now: float, policy: Policy) -> str:
    """Budgets, cool-down, breaker and the number of nodes at once; only for what is disruptive."""
    if not action.disruptive:
        return ""
    if state.breaker_since is not None:
        return "the breaker is open: too much failed at once; heal resume closes it"
    budget = policy.budget
    spent = [a for a in _done(state) if a.started_at is not None and now - a.started_at < budget.window]
    for touched in action.touches:
        count = sum(touched in a.touches for a in spent)
        if count >= budget.per_subject:
            return f"budget: {count} actions on {touched} within {budget.window:.0f} s"
    count = sum(a.node == action.node for a in spent)
    if count >= budget.per_node:
        return f"budget: {count} actions on {action.node} within {budget.window:.0f} s"
    if len(spent) >= budget.fleet:
        return f"budget: {len(spent)} actions in the fleet within {budget.window:.0f} s"
    for other in _done(state):
        ended = other.finished_at
        if ended is None or now - ended >= policy.cooldown or not set(other.touches) & set(action.touches):
            continue
        return f"cool-down: {other.id} ended {now - ended:.0f} s ago, {policy.cooldown:.0f} are waited"
    if any(lock.startswith(("node:", "hive:")) for lock in action.locks):
        working = {
            a.node for a in _done(state)
            if a.open and a.node != action.node and any(k.startswith(("node:", "hive:")) for k in a.locks)
        }  # fmt: skip
        most = max(budget.nodes_at_once, int(budget.nodes_share * len(state.nodes)))
        if len(working) >= most:
            return f"{', '.join(sorted(working))} is worked on, {most} at once is allowed"
    return ""


def _done(state: State) -> Iterable[Action]:
    """Disruptive actions that were begun: running ones and those that ended, dry runs and refusals not."""
    for action in state.actions:
        if action.disruptive and action.started_at is not None and action.outcome in (None, *RELIED):
            yield action


def repeated(state: State, fault: Fault, rung: Rung, now: float, policy: Policy) -> str:
    """The rung was taken often enough for the same trouble."""
    if rung.kind in FREE:
        return ""
    count = sum(
        a.rung == rung.id and a.node == fault.node and a.mode == fault.mode and a.subject == fault.subject
        and a.outcome in RELIED and a.finished_at is not None and now - a.finished_at < policy.repeat_window
        for a in state.actions
    )  # fmt: skip
    allowed = 1 if rung.kind in ONCE else policy.repeats
    return f"done {count} times already within {policy.repeat_window / 3600:.0f} h" if count >= allowed else ""


def breaker_opens(state: State, now: float, policy: Policy) -> str:
    """Why the breaker opens now, '' when it does not."""
    rule = policy.breaker
    if state.breaker_since is not None:
        return ""
    since = max(now - rule.window, state.breaker_cleared)
    failed = {(f.node, f.subject) for f in state.faults if f.opened_at > since and f.severity != "info"}
    everything = sum(len({d.bdf for d in view.devices}) for view in state.nodes.values()) + len(state.workers)
    if len(failed) >= rule.fewest and everything and len(failed) >= rule.share * everything:
        return f"{len(failed)} of {everything} GPUs and workers failed within {rule.window:.0f} s"
    return ""
