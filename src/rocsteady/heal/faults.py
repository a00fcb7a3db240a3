"""Folds what was seen into the faults: opens, renews, closes. Pure.

Evidence from before the last boot or reset does not count, and a recovery closes only the fault that it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from rocsteady.heal.policy import Policy
from rocsteady.heal.records import Boot, Fault, Source
from rocsteady.heal.state import AlertSeen, Event, FindingSeen, HealthSeen, State, WorkersSeen
from rocsteady.heal.view import NodeView, WorkerView, moment
from rocsteady.model import Severity

WATERMARK = "gpu-memory-watermark"
UNRESPONSIVE, FAILED = "worker-unresponsive", "worker-failed"
FRAGMENTED, REQUESTS = "worker-fragmented", "worker-request-limit"
KEEP_CLOSED = 86400.0
"""Seconds that a closed fault stays in the state: a day, as the repeat window."""
LATE = 60.0
"""Seconds by which a document may come late: the stream and the look every few seconds overtake each other."""
BOOTS = 8
FINDING_HOLDS = 600.0
"""Seconds after which a finding that is not reported again is over: a diagnosis says nothing about later."""


def observe(state: State, event: Event, now: float, policy: Policy) -> State:
    """The state after an event; no action is decided here."""
    if isinstance(event, HealthSeen):
        state = _health(state, event.view, now, policy)
    elif isinstance(event, WorkersSeen):
        state = _workers(state, event.workers, now, policy)
    elif isinstance(event, AlertSeen):
        state = _alert(state, event, now)
    elif isinstance(event, FindingSeen):
        state = _finding(state, event)
    return _tidy(state, now)


def _health(state: State, view: NodeView, now: float, policy: Policy) -> State:
    known = state.nodes.get(view.node)
    if known is not None and known.boot_id == view.boot_id and 0 < known.at - view.at < LATE:
        return state  # an older document came late; a longer step back is a clock that was set
    boot = state.boots.get(view.node)
    if not view.boot_id:
        return replace(state, nodes={**state.nodes, view.node: view})
    if boot is None or boot.boot_id != view.boot_id:
        if boot is not None and view.boot_id in boot.previous:
            return state  # a late document of an earlier boot
        earlier = (*boot.previous, boot.boot_id)[-BOOTS:] if boot is not None else ()
        began = Boot(view.boot_id, view.at, boot is not None, earlier)
        closed = state.faults
        if boot is not None:
            closed = tuple(
                _close(f, view.at, f"boot {view.boot_id}") if f.node == view.node and f.closed_at is None else f
                for f in state.faults
            )
        over = {name: since for name, since in state.over.items() if not name.startswith(f"{view.node}/")}
        state = replace(state, boots={**state.boots, view.node: began}, faults=closed, over=over)
    state = replace(state, nodes={**state.nodes, view.node: view})
    named: set[tuple[str, str]] = set()
    unclear = {d.bdf for d in view.devices if d.state == "unknown"}
    for device in view.devices:
        if device.state in ("healthy", "unknown"):
            continue
        seen_at = _evidence(device.last_evidence_at, view.at)
        if seen_at <= state.resets.get(f"{view.node}/{device.bdf}", 0.0):
            unclear.add(device.bdf)  # neither proof that it is broken nor that it is well
            continue
        for reason in device.reasons:
            if (device.bdf, reason.id) in named:
                continue
            named.add((device.bdf, reason.id))
            state = _raise(
                state, node=view.node, gpu=device.bdf, mode=reason.id, source="health", severity=reason.severity,
                text=reason.text, at=seen_at, boot_id=view.boot_id, advice=device.advice,
            )  # fmt: skip
    readable = {d.bdf for d in view.devices} - unclear
    state = _close_where(
        state, view.at, "the gpu-health document names it no more",
        lambda f: f.source == "health" and f.node == view.node and f.gpu in readable and f.mode != WATERMARK
        and (f.gpu, f.mode) not in named,
    )  # fmt: skip
    return _watermarks(state, view, now, policy)


def _evidence(text: str | None, at: float) -> float:
    try:
        return at if text is None else min(at, moment(text))
    except ValueError:
        return at


def _watermarks(state: State, view: NodeView, now: float, policy: Policy) -> State:
    mark = policy.watermark
    if mark is None:
        return state
    over = dict(state.over)
    ended: set[str] = set()
    for device in view.devices:
        used, total = device.memory.used_bytes, device.memory.total_bytes
        if used is None or not total:
            continue
        key = f"{view.node}/{device.name}"
        share = used / total
        if share > mark.high:
            since = over.setdefault(key, now)
            if now - since >= mark.hold:
                state = _raise(
                    state, node=view.node, gpu=device.bdf, mode=WATERMARK, source="health", severity="warning",
                    text=f"{share:.0%} of the memory of {device.name} is in use, for {now - since:.0f} s",
                    at=view.at, boot_id=view.boot_id, advice="stop-new",
                )  # fmt: skip
        elif share < mark.low:
            over.pop(key, None)
            ended.add(device.bdf)
    still = {key.split("/")[1] for key in over if key.startswith(f"{view.node}/")}
    state = replace(state, over=over)
    return _close_where(
        state, view.at, "memory is below the lower mark",
        lambda f: f.mode == WATERMARK and f.node == view.node and f.gpu in ended and f.gpu not in still,
    )  # fmt: skip


def _workers(state: State, workers: tuple[WorkerView, ...], now: float, policy: Policy) -> State:
    state = replace(state, workers=tuple(sorted(workers, key=lambda w: w.name)), workers_known=True)
    for worker in workers:
        shown = dict(_worker_faults(worker, policy))
        for mode, text in shown.items():
            severity: Severity = "critical" if mode in (UNRESPONSIVE, FAILED) else "info"
            boot = state.boots.get(worker.node)
            state = _raise(
                state, node=worker.node, worker=worker.name, mode=mode, source="worker", severity=severity, text=text,
                at=now, boot_id=boot.boot_id if boot else "",
            )  # fmt: skip
        if worker.state in ("serving", "stopped"):
            state = _close_where(state, now, f"the worker is {worker.state}", _of_worker(worker.name, shown))
    return state


def _of_worker(name: str, shown: dict[str, str]) -> Callable[[Fault], bool]:
    return lambda fault: fault.source == "worker" and fault.worker == name and fault.mode not in shown


def _worker_faults(worker: WorkerView, policy: Policy) -> Iterable[tuple[str, str]]:
    if worker.state == "unresponsive":
        yield UNRESPONSIVE, worker.detail or "it answers nothing"
    if worker.state == "failed":
        yield FAILED, worker.detail or "it ends again and again"
    limit, share = policy.recycle.requests, policy.recycle.fragmentation
    if limit is not None and worker.requests is not None and worker.requests >= limit:
        yield REQUESTS, f"{worker.requests:.0f} requests since its start, {limit} were allowed"
    if share is not None and worker.fragmentation is not None and worker.fragmentation >= share:
        yield FRAGMENTED, f"{worker.fragmentation:.0%} of the memory it holds cannot be used, {share:.0%} were allowed"


def _alert(state: State, alert: AlertSeen, now: float) -> State:
    boot = state.boots.get(alert.node)
    if not alert.firing:
        return _close_where(
            state, now, f"alert {alert.fingerprint} is resolved",
            lambda f: f.source == "alert" and f.fingerprint == alert.fingerprint and f.opened_at <= alert.starts_at,
        )  # fmt: skip
    if boot is not None and boot.known_start and alert.starts_at < boot.seen_at:
        return state
    if alert.gpu and alert.starts_at <= state.resets.get(f"{alert.node}/{alert.gpu}", 0.0):
        return state
    return _raise(
        state, node=alert.node, gpu=alert.gpu, worker=alert.worker, peer=alert.peer, mode=alert.mode, source="alert",
        fingerprint=alert.fingerprint, severity=alert.severity, text=alert.text, at=now, opened=alert.starts_at,
        boot_id=boot.boot_id if boot else "",
    )  # fmt: skip


def _finding(state: State, finding: FindingSeen) -> State:
    boot = state.boots.get(finding.node)
    if boot is not None and boot.known_start and finding.at < boot.seen_at:
        return state
    if finding.gpu and finding.at <= state.resets.get(f"{finding.node}/{finding.gpu}", 0.0):
        return state
    return _raise(
        state, node=finding.node, gpu=finding.gpu, peer=finding.peer, mode=finding.mode, source="finding",
        fingerprint=finding.id, severity=finding.severity, text=finding.text, at=finding.at,
        boot_id=boot.boot_id if boot else "", advice=finding.action or "none", activity=finding.activity,
    )  # fmt: skip


def _raise(
    state: State, *, node: str, mode: str, source: Source, severity: Severity, text: str, at: float, boot_id: str,
    gpu: str = "", worker: str = "", peer: str = "", fingerprint: str = "", advice: str = "none", activity: str = "",
    opened: float | None = None,
) -> State:  # fmt: skip
    """Open a fault, or renew the one that is open for the same node, subject and mode."""
    for index, fault in enumerate(state.faults):
        same = (fault.node, fault.gpu, fault.worker, fault.mode, fault.activity) == (node, gpu, worker, mode, activity)
        if not same or fault.closed_at is not None:
            continue
        changed = replace(
            fault, evidence_at=max(at, fault.evidence_at), text=text, severity=severity, peer=peer or fault.peer,
            advice=advice if source == "health" else fault.advice, boot_id=fault.boot_id or boot_id,
        )  # fmt: skip
        if source in ("health", "worker") and fault.source in ("alert", "finding"):
            changed = replace(changed, source=source, fingerprint="")  # what looks itself is the better witness
        elif source == "alert" and fault.source == "alert":
            changed = replace(changed, fingerprint=fingerprint, opened_at=max(fault.opened_at, opened or at))
        return replace(state, faults=(*state.faults[:index], changed, *state.faults[index + 1 :]))
    since = at if opened is None else opened
    key = "|".join((node, gpu, worker, mode, activity, boot_id, f"{since:.3f}"))
    fault = Fault(
        id=hashlib.blake2s(key.encode(), digest_size=4).hexdigest(), node=node, gpu=gpu, worker=worker, peer=peer,
        mode=mode, source=source, fingerprint=fingerprint, severity=severity, text=text, boot_id=boot_id,
        opened_at=since, evidence_at=at, advice=advice, activity=activity,
    )  # fmt: skip
    if any(f.id == fault.id for f in state.faults):
        return state  # the very same evidence, of a fault that was closed
    return replace(state, faults=(*state.faults, fault))


def _close(fault: Fault, at: float, by: str) -> Fault:
    return replace(fault, closed_at=at, closed_by=by, held="")


def _close_where(state: State, at: float, by: str, which: Callable[[Fault], bool]) -> State:
    return replace(
        state, faults=tuple(_close(f, at, by) if f.closed_at is None and which(f) else f for f in state.faults)
    )  # fmt: skip


def _tidy(state: State, now: float) -> State:
    faults = tuple(
        _close(f, now, "not reported again")
        if f.closed_at is None and f.source == "finding" and now - f.evidence_at > FINDING_HOLDS
        and not any(a.fault == f.id for a in state.open_actions)
        else f
        for f in state.faults
    )  # fmt: skip
    kept = tuple(f for f in faults if f.closed_at is None or now - f.closed_at < KEEP_CLOSED)
    return replace(state, faults=kept)
