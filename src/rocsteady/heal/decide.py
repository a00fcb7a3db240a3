"""The decision: state, event, time and policy in; the new state, new actions and notices out. Pure.

For each open fault the rungs of its course are gone through from weak to strong. A rung that does not apply, that is off
or that was taken often enough is passed over; one that applies becomes an action, unless a guard holds it back, and then
the fault says why. One action per fault at a time.
"""

from __future__ import annotations

from msgspec.structs import replace

from rocsteady.heal import guards
from rocsteady.heal.faults import observe
from rocsteady.heal.ladder import PEOPLE, Ladder, Rung, load_ladder
from rocsteady.heal.planning import PassedOver, Waits, plan, undo
from rocsteady.heal.policy import Policy
from rocsteady.heal.records import Action, Fault
from rocsteady.heal.state import Decision, Event, Notice, State

SEVERITY = {"critical": 0, "warning": 1, "info": 2}
RESTORE = "restore"
SETTLE = ("thermal", "restart", "recycle", "link", "schedule", "reset", "reload", "reboot")
"""Classes whose effect on the fault is seen only after a while."""


def decide(state: State, event: Event, now: float, policy: Policy, ladder: Ladder | None = None) -> Decision:
    """What is to be done after an event; ``now`` in seconds since 1970."""
    ladder = ladder or load_ladder()
    state = observe(state, event, now, policy)
    notices: list[Notice] = []
    if why := guards.breaker_opens(state, now, policy):
        state = replace(state, breaker_since=now)
        notices.append(
            Notice(f"breaker-{now:.0f}", f"breaker open: {why}; nothing disruptive is done until heal resume")
        )
    fresh: list[Action] = []
    for fault in sorted(state.open_faults, key=lambda f: (SEVERITY[f.severity], f.opened_at, f.id)):
        changed, action = _one(state, fault, now, policy, ladder)
        faults = tuple(changed if f.id == fault.id else f for f in state.faults)
        state = replace(state, faults=faults)
        if action is not None:
            fresh.append(action)
            state = replace(state, actions=(*state.actions, action))
        if changed.held and changed.held.startswith("budget"):
            notices.append(Notice(f"{fault.id}-budget", f"{fault.node} {fault.subject}: {changed.held}"))
    for action in _restores(state, now, policy):
        fresh.append(action)
        state = replace(state, actions=(*state.actions, action))
    for action in fresh:
        if action.phase == "approval":
            notices.append(
                Notice(
                    f"{action.id}-approval",
                    f"{action.node} {action.subject}: {action.detail}; heal approve {action.id}",
                )
            )
    return Decision(state, tuple(fresh), tuple(notices))


def _one(state: State, fault: Fault, now: float, policy: Policy, ladder: Ladder) -> tuple[Fault, Action | None]:
    """The fault with what was passed over and what holds it, and the action if there is one."""
    current = next((a for a in state.open_actions if a.fault == fault.id), None)
    if current is not None:
        words = "waits for approval" if current.phase == "approval" else "is under way"
        return replace(fault, held=f"{current.id} {words}"), None
    course = ladder.course(fault.mode, fault.advice, fault.advice)
    left = [ladder.rungs[name] for name in course if name not in fault.tried]
    if not left:
        return replace(
            fault, held="the ladder is at its end; it is with people" if PEOPLE in course else "watched"
        ), None
    if why := guards.people(state, fault.node, now, policy) or guards.evidence(state, fault, now, policy):
        return replace(fault, held=why), None
    if why := _settling(state, fault, now, policy):
        return replace(fault, held=why), None
    passed: dict[str, str] = {}
    for rung in left:
        result = _rung(state, fault, rung, now, policy)
        if isinstance(result, Action):
            return replace(fault, tried=(*fault.tried, rung.id), passed=passed, held=""), result
        if isinstance(result, PassedOver):
            passed[rung.id] = result.why  # asked again in the next round: a spare may come free
            continue
        return replace(fault, passed=passed, held=result.why), None
    return replace(fault, passed=passed, held="nothing more on the ladder applies"), None


def _settling(state: State, fault: Fault, now: float, policy: Policy) -> str:
    """The last act for this fault gets time to show whether it helped; in a dry run nothing ever will."""
    mine = [a for a in state.actions if a.fault == fault.id and not a.open and a.rung != RESTORE]
    if not mine:
        return ""
    last = max(mine, key=lambda a: a.finished_at or 0.0)
    if last.outcome == "dry-run" and last.disruptive and policy.dry_run:
        return f"dry run: {last.detail}"
    if last.outcome == "expired":
        return f"{last.id} was not approved; it is with people"
    waited = now - (last.finished_at or 0.0)
    if last.outcome == "succeeded" and last.kind in SETTLE and waited < policy.cooldown:
        return f"{last.id} is done; whether it helped is known after {policy.cooldown:.0f} s"
    return ""


def _rung(state: State, fault: Fault, rung: Rung, now: float, policy: Policy) -> Action | PassedOver | Waits:
    mode = policy.mode(rung.kind)
    if mode == "off":
        return PassedOver("off")
    if why := guards.repeated(state, fault, rung, now, policy):
        return PassedOver(why)
    found = plan(state, state.nodes[fault.node], fault, rung, policy)
    if isinstance(found, PassedOver | Waits):
        return found
    number = sum(a.fault == fault.id and a.rung == rung.id for a in state.actions) + 1
    action = Action(
        id=f"{fault.id}-{rung.id}-{number}", fault=fault.id, mode=fault.mode, node=fault.node, rung=rung.id,
        kind=rung.kind, subject=fault.subject, why=fault.text, evidence_at=fault.evidence_at, created_at=now,
        locks=found.locks, touches=found.touches, disruptive=rung.disruptive, steps=found.steps,
        verify_seconds=rung.verify_seconds, verify=rung.verify, prior_boot=state.nodes[fault.node].boot_id,
        detail=found.text,
    )  # fmt: skip
    if why := guards.busy(state, action):
        return Waits(why)
    if policy.dry_run and found.steps and rung.id != PEOPLE:
        return replace(action, phase="done", finished_at=now, outcome="dry-run", detail=f"would: {found.text}")
    if mode == "approve":
        return replace(action, phase="approval")
    if not policy.in_window(rung.kind, now):
        return Waits(f"class {rung.kind} acts only in its windows")
    if why := guards.limits(state, action, now, policy):
        return Waits(why)
    return replace(action, started_at=now)


def approved(state: State, action: Action, by: str, now: float, policy: Policy) -> tuple[Action, str]:
    """An action that a person approved: begun, or left waiting with the reason."""
    fault = next((f for f in state.open_faults if f.id == action.fault), None)
    if fault is None:
        done = replace(action, phase="done", finished_at=now, outcome="abandoned", detail="the fault is closed")
        return done, ""
    why = (
        guards.people(state, action.node, now, policy)
        or guards.evidence(state, fault, now, policy)
        or guards.busy(state, action)
        or guards.limits(state, action, now, policy)
    )
    if why:
        return replace(action, approved_by=by), why
    rung = load_ladder().rungs[action.rung]
    found = plan(state, state.nodes[action.node], fault, rung, policy)
    if isinstance(found, PassedOver | Waits):
        done = replace(action, phase="done", finished_at=now, outcome="abandoned", approved_by=by, detail=found.why)
        return done, ""
    fresh = replace(
        action, phase="running", started_at=now, approved_by=by, steps=found.steps, locks=found.locks,
        touches=found.touches, prior_boot=state.nodes[action.node].boot_id, detail=found.text,
    )  # fmt: skip
    if why := guards.busy(state, fresh) or guards.limits(state, fresh, now, policy):
        return replace(action, approved_by=by), why
    return fresh, ""


def _restores(state: State, now: float, policy: Policy) -> list[Action]:
    """Take back what was lowered for faults that are gone for long enough, on GPUs that are known to be well."""
    found: list[Action] = []
    ids = {a.id for a in state.actions}
    needed = {lock for a in state.actions for lock in a.locks if any(f.id == a.fault for f in state.open_faults)}
    for action in state.actions:
        done = action.outcome in (*guards.RELIED, "refused") and action.rung != RESTORE
        steps = undo(action.steps) if done else ()
        name = f"{action.id}-{RESTORE}"
        fault = next((f for f in state.faults if f.id == action.fault), None)
        if not steps or name in ids or fault is None or fault.closed_at is None or policy.mode(RESTORE) != "auto":
            continue
        if action.disruptive or now - fault.closed_at < policy.restore_after or set(action.locks) & needed:
            continue
        view = state.nodes.get(action.node)
        if guards.people(state, action.node, now, policy) or view is None or now - view.at > policy.document_max_age:
            continue
        rows = view.gpu(fault.gpu) if fault.gpu else ()
        if fault.gpu and (not rows or any(row.state != "healthy" for row in rows)):
            continue
        made = Action(
            id=name, fault=action.fault, mode=action.mode, node=action.node, rung=RESTORE, kind=RESTORE,
            subject=action.subject, why=f"{action.mode} is gone: {fault.closed_by}", evidence_at=fault.closed_at,
            created_at=now, started_at=now, locks=action.locks, steps=steps, verify="steps", verify_seconds=60.0,
            prior_boot=view.boot_id, detail=f"take back {action.rung}",
        )  # fmt: skip
        if not guards.busy(state, made):
            found.append(made)
    return found
