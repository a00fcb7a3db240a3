"""What ``heal status``, ``history`` and ``explain`` say, as documents and as text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from rocsteady.heal.journal import AuditLine, Journal
from rocsteady.heal.ladder import load_ladder
from rocsteady.heal.records import Action, Fault
from rocsteady.heal.state import State
from rocsteady.model import InputError


def when(at: float | None) -> str:
    """UTC, to the second; '-' for no time."""
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status(state: State, running: bool, now: float) -> dict[str, Any]:
    """The document ``rocsteady.heal-status/1``."""
    return {
        "schema": "rocsteady.heal-status/1", "at": when(now), "running": running,
        "breaker_open_since": None if state.breaker_since is None else when(state.breaker_since),
        "pauses": [msgspec.to_builtins(p) for p in state.pauses if p.until is None or now < p.until],
        "faults": [msgspec.to_builtins(f) for f in state.open_faults],
        "actions": [msgspec.to_builtins(a) for a in state.open_actions],
    }  # fmt: skip


def status_text(document: dict[str, Any]) -> str:
    """For people."""
    lines = [f"heal run: {'running' if document['running'] else 'not running'}"]
    if document["breaker_open_since"]:
        lines.append(f"breaker open since {document['breaker_open_since']}: heal resume closes it")
    lines += [f"paused: {p['node'] or 'all'} by {p['by']}: {p['reason']}" for p in document["pauses"]]
    lines.append(f"{len(document['faults'])} open faults")
    for fault in document["faults"]:
        subject = fault["worker"] or fault["gpu"] or fault["node"]
        lines.append(
            f"  {fault['id']}  {fault['node']} {subject}  {fault['mode']} {fault['severity']}: {fault['text']}"
        )
        if fault["held"]:
            lines.append(f"            {fault['held']}")
    lines.append(f"{len(document['actions'])} open actions")
    lines += [f"  {a['id']}  {a['phase']}: {a['detail']}" for a in document["actions"]]
    return "\n".join(lines) + "\n"


def history(receipts: list[Action], audit: list[AuditLine]) -> dict[str, Any]:
    """The document ``rocsteady.heal-history/1``: receipts and audit lines, oldest first."""
    return {
        "schema": "rocsteady.heal-history/1", "receipts": [receipt(action) for action in receipts],
        "audit": [msgspec.to_builtins(line) for line in audit],
    }  # fmt: skip


def receipt(action: Action) -> dict[str, Any]:
    """One action that ended, with the times that matter: evidence, decision, begin, end of the acts, end."""
    raw: dict[str, Any] = msgspec.to_builtins(action)
    begun, ended = action.started_at, action.finished_at
    raw["seconds"] = None if begun is None or ended is None else round(ended - begun, 3)
    return raw


def history_text(document: dict[str, Any]) -> str:
    """For people: one line for each receipt."""
    if not document["receipts"]:
        return "no receipts\n"
    lines = []
    for one in document["receipts"]:
        took = f" in {one['seconds']:.1f} s" if one["seconds"] is not None and one["outcome"] != "dry-run" else ""
        lines.append(f"{when(one['finished_at'])}  {one['outcome']}{took}  {one['id']}")
        lines.append(f"    {one['node']} {one['subject']}, {one['mode']}: {one['why']}")
        lines.append(f"    {one['detail']}")
    return "\n".join(lines) + "\n"


def explain(journal: Journal, state: State, name: str) -> dict[str, Any]:
    """The document ``rocsteady.heal-explain/1`` of a fault, an action, a GPU or a worker.

    Raises:
        InputError: nothing is called so.
    """
    faults = _named(journal, state, name)
    if not faults:
        raise InputError(f"no fault, action, GPU or worker with faults is called {name}")
    return {"schema": "rocsteady.heal-explain/1", "faults": [_explained(journal, state, fault) for fault in faults]}


def _named(journal: Journal, state: State, name: str) -> list[Fault]:
    action = journal.action(name)
    one = journal.fault(action.fault if action is not None else name) if name else None
    if one is not None:
        return [one]
    found = [f for f in state.faults if name in (f.gpu, f.worker, f.node)]
    return [f for f in found if f.closed_at is None] or found[-3:]


def _explained(journal: Journal, state: State, fault: Fault) -> dict[str, Any]:
    ladder = load_ladder()
    course = ladder.course(fault.mode, fault.advice, fault.advice)
    known = ladder.modes.get(fault.mode) or ladder.words.get(fault.mode)
    actions = [a for a in state.actions if a.fault == fault.id]
    rungs = []
    for name in course:
        mine = [a for a in actions if a.rung == name]
        if mine:
            says = f"{mine[-1].outcome or mine[-1].phase}: {mine[-1].detail}"
        elif name in fault.passed:
            says = f"passed over: {fault.passed[name]}"
        else:
            says = "not yet"
        rungs.append({"rung": name, "text": ladder.rungs[name].text, "says": says})
    return {
        "fault": msgspec.to_builtins(fault), "why": known.why if known else f"by the advice {fault.advice}",
        "source": known.source if known else None, "rungs": rungs,
        "actions": [receipt(a) for a in actions],
        "audit": [msgspec.to_builtins(line) for line in journal.audit_lines(50, fault.id)],
    }  # fmt: skip


def explain_text(document: dict[str, Any], now: float) -> str:
    """For people."""
    return "\n".join(line for one in document["faults"] for line in _lines(one, now)) + "\n"


def _lines(one: dict[str, Any], now: float) -> Iterable[str]:
    fault = one["fault"]
    yield f"{fault['id']}: {fault['node']} {fault['worker'] or fault['gpu']}  {fault['mode']} {fault['severity']}"
    yield f"  {fault['text']}"
    age = now - fault["evidence_at"]
    yield f"  seen by {fault['source']}, since {when(fault['opened_at'])}, evidence {age:.0f} s old, boot {fault['boot_id'] or '?'}"
    if fault["closed_at"] is not None:
        yield f"  closed {when(fault['closed_at'])}: {fault['closed_by']}"
    yield f"  why these rungs: {one['why']}"
    for rung in one["rungs"]:
        yield f"    {rung['rung']}: {rung['says']}"
    if fault["held"] and fault["closed_at"] is None:
        yield f"  now: {fault['held']}"
