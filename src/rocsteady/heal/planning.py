"""From a rung to the steps of an action. Pure. A rung that does not apply is passed over, with the reason."""

from __future__ import annotations

from typing import NamedTuple

from rocsteady.heal.ladder import Rung
from rocsteady.heal.placement import place, visible
from rocsteady.heal.policy import Policy
from rocsteady.heal.records import Action, Fault, Step
from rocsteady.heal.spread import spread
from rocsteady.heal.state import State
from rocsteady.heal.view import NodeView, WorkerView


class Plan(NamedTuple):
    """What an action would do and touch."""

    steps: tuple[Step, ...]
    locks: tuple[str, ...]
    touches: tuple[str, ...]
    text: str


class PassedOver(NamedTuple):
    """The rung does not apply."""

    why: str


class Waits(NamedTuple):
    """The rung applies, but not yet."""

    why: str


def plan(state: State, view: NodeView, fault: Fault, rung: Rung, policy: Policy) -> Plan | PassedOver | Waits:
    """Steps of one rung for one fault."""
    return PLANNERS[rung.id](state, view, fault, policy)


def _affected(state: State, fault: Fault) -> tuple[WorkerView, ...]:
    if fault.worker:
        return tuple(w for w in state.workers if w.name == fault.worker)
    return state.workers_on(fault.node, (fault.gpu,)) if fault.gpu else ()


def _touches(fault: Fault, workers: tuple[WorkerView, ...], gpus: tuple[str, ...] = ()) -> tuple[str, ...]:
    bdfs = gpus or ((fault.gpu,) if fault.gpu else ())
    return (*(f"{fault.node}/{bdf}" for bdf in bdfs), *(f"worker:{w.name}" for w in workers))


def _drain(
    workers: tuple[WorkerView, ...], policy: Policy, seconds: float, *, optional: bool = True
) -> tuple[Step, ...]:  # fmt: skip
    """Where the drain comes before something stronger, a gateway that is down does not stop the repair."""
    if not policy.has_gateway:
        return ()
    return tuple(
        Step(
            actuator="gateway", verb="drain", target=w.name, arguments={"seconds": f"{seconds:.0f}"}, optional=optional
        )
        for w in workers
    )  # fmt: skip


def _undrain(workers: tuple[WorkerView, ...], policy: Policy) -> tuple[Step, ...]:
    if not policy.has_gateway:
        return ()
    return tuple(Step(actuator="gateway", verb="undrain", target=w.name, always=True, optional=True) for w in workers)


def _worker_locks(workers: tuple[WorkerView, ...], fault: Fault) -> tuple[str, ...]:
    gpus = {f"gpu:{fault.node}/{d.split('/')[0]}" for w in workers for d in w.devices}
    return (
        *(f"worker:{w.name}" for w in workers),
        *sorted(gpus | ({f"gpu:{fault.node}/{fault.gpu}"} if fault.gpu else set())),
    )


def _nothing(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan:
    del state, view, policy
    return Plan((), (), (), fault.text)


def _people(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan:
    del state, view, policy
    text = f"{fault.node} {fault.subject}: {fault.mode}: {fault.text}; no rung is left that applies now"
    return Plan((Step(actuator="people", verb="notify", target=fault.subject, arguments={"text": text}),), (), (), text)


def _stop_new(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    workers = tuple(w for w in _affected(state, fault) if w.state != "stopped")
    if not workers:
        return PassedOver("no worker is on it")
    if not policy.has_gateway:
        return PassedOver("no gateway is configured; one that follows the gpu-health document does it by itself")
    if not any(row.state == "unhealthy" for row in view.gpu(fault.gpu)):
        # it still computes right, so slow is better than nothing
        alone = {w.name for w in workers if not _others(state, w, {x.name for x in workers})}
        workers = tuple(w for w in workers if w.name not in alone)
        if not workers:
            return PassedOver(f"{', '.join(sorted(alone))} is the last capacity of its model")
    locks = tuple(f"drain:{w.name}" for w in workers)
    return Plan(_drain(workers, policy, 0, optional=False), locks, (), f"no new requests to {_names(workers)}")


def _names(workers: tuple[WorkerView, ...]) -> str:
    return ", ".join(w.name for w in workers)


def _replace(worker: WorkerView, devices: tuple[str, ...], view: NodeView, **more: str) -> Step | None:
    index = visible(view, devices)
    if index is None:
        return None
    renders = ",".join(d.render_node or "" for d in view.devices if d.name in devices)
    return Step(
        actuator=worker.executor, verb="replace", target=worker.name,
        arguments={"devices": ",".join(devices), "visible": index, "render_nodes": renders, **more},
    )  # fmt: skip


def _move(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    if fault.worker:
        bad = {
            d.bdf for w in _affected(state, fault) for n in w.devices if (d := view.device(n)) and d.state != "healthy"
        }
        without = frozenset(bad) or frozenset(d.split("/")[0] for w in _affected(state, fault) for d in w.devices)
    else:
        without = frozenset((fault.gpu,))
    workers = tuple(w for w in _affected(state, fault) if w.movable and w.state != "stopped")
    if not workers:
        return PassedOver("no worker that can move is on it")
    steps: list[Step] = []
    moved: list[WorkerView] = []
    says: list[str] = []
    taken: frozenset[str] = frozenset()
    for worker in workers:
        devices = place(state, view, worker, policy, without=without, taken=taken)
        step = _replace(worker, devices, view) if devices else None
        if devices is None or step is None:
            continue
        taken |= frozenset(devices)
        moved.append(worker)
        says.append(f"{worker.name} to {', '.join(devices)}")
        steps += (*_drain((worker,), policy, 0), step, *_undrain((worker,), policy))
    if not moved:
        return PassedOver("no healthy spare device")
    found = tuple(moved)
    locks = (*_worker_locks(found, fault), *(f"gpu:{fault.node}/{name.split('/')[0]}" for name in sorted(taken)))
    return Plan(tuple(steps), tuple(dict.fromkeys(locks)), _touches(fault, found), "move " + "; ".join(says))


def _restart(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    workers = tuple(w for w in _affected(state, fault) if w.state != "stopped")
    if not workers:
        return PassedOver("no worker is on it")
    for worker in workers:
        for name in worker.devices:
            device = view.device(name)
            if device is None or device.state not in ("healthy", "suspect"):
                return PassedOver(f"{name} of {worker.name} is {device.state if device else 'not in the document'}")
    return Plan(
        (*_drain(workers, policy, 0), *_restarts(workers), *_undrain(workers, policy)),
        _worker_locks(workers, fault), _touches(fault, workers), f"restart {_names(workers)}",
    )  # fmt: skip


def _restarts(workers: tuple[WorkerView, ...]) -> tuple[Step, ...]:
    return tuple(Step(actuator=w.executor, verb="restart", target=w.name) for w in workers)


def _others(state: State, worker: WorkerView, without: set[str]) -> list[WorkerView]:
    """Workers of the same model that serve and that nothing is done to."""
    running = [a for a in state.open_actions if a.phase != "approval"]
    busy = {lock for a in running for lock in a.locks} | {
        lock for a in state.actions if a.rung == "stop-new" and a.outcome == "succeeded" and _still(state, a)
        for lock in a.locks
    }  # fmt: skip
    return [
        w for w in state.workers
        if w.name not in without and w.model == worker.model and w.state == "serving"
        and not {f"worker:{w.name}", f"drain:{w.name}"} & busy
    ]  # fmt: skip


def _still(state: State, action: Action) -> bool:
    """The fault of a drain is open, so the worker is still drained."""
    return any(f.id == action.fault for f in state.open_faults)


def _recycle(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver | Waits:
    del view
    workers = _affected(state, fault)[:1]  # one at a time: service goes on
    if not workers:
        return PassedOver("no worker is on it")
    worker = workers[0]
    if not _others(state, worker, {worker.name}):
        return Waits(f"no other worker serves {worker.model or 'its model'}: the last capacity is not taken away")
    return Plan(
        (*_drain(workers, policy, policy.drain_seconds), *_restarts(workers), *_undrain(workers, policy)),
        (*_worker_locks(workers, fault), f"model:{worker.model}"), _touches(fault, workers), f"recycle {worker.name}",
    )  # fmt: skip


def _helper(fault: Fault, policy: Policy) -> str:
    return "" if fault.node in policy.helpers else f"no privileged helper on {fault.node}"


def _thermal(verb: str, arguments: dict[str, str], text: str, fault: Fault, policy: Policy) -> Plan | PassedOver:
    if why := _helper(fault, policy):
        return PassedOver(why)
    if not fault.gpu:
        return PassedOver("it is not about a GPU")
    step = Step(actuator="helper", verb=verb, target=fault.gpu, arguments=arguments)
    return Plan((step,), (f"{verb}:{fault.node}/{fault.gpu}",), (), text)


def _fan(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    del state, view
    curve = " ".join(f"{degrees}:{percent}" for degrees, percent in policy.thermal.fan_curve)
    return _thermal("set-fan-curve", {"curve": curve}, f"fan curve {curve}", fault, policy)


def _power(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    del state, view
    share = policy.thermal.power_share
    return _thermal(
        "set-power-share", {"share": f"{share:g}"}, f"power limit {share:.0%} of its default", fault, policy
    )


def _clock(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    del state, view
    share = policy.thermal.clock_share
    return _thermal(
        "set-clock-share", {"share": f"{share:g}"}, f"highest clock {share:.0%} of what it can", fault, policy
    )


def _exclude_link(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    groups = tuple(w for w in _affected(state, fault) if len(w.devices) > 1 and w.state != "stopped")
    if not groups:
        return PassedOver("no group of several GPUs uses its links")
    worker = groups[0]
    locks, touches = _worker_locks((worker,), fault), _touches(fault, (worker,))
    devices = place(state, view, worker, policy, without=frozenset((fault.gpu,))) if worker.movable else None
    step = _replace(worker, devices, view) if devices else None
    if devices and step:
        text = f"{worker.name} to {', '.join(devices)}, without {fault.gpu}"
        steps = (*_drain((worker,), policy, 0), step, *_undrain((worker,), policy))
        extra = tuple(f"gpu:{fault.node}/{name.split('/')[0]}" for name in devices)
        return Plan(steps, tuple(dict.fromkeys((*locks, *extra))), touches, text)
    if not worker.topology_file:
        return PassedOver(f"no other GPUs for {worker.name}, and no RCCL topology file is configured for it")
    pairs = _bad_pairs(view, fault)
    if not pairs:
        return PassedOver("which GPU the bad link leads to is not known")
    same = _replace(worker, worker.devices, view, without_links=" ".join(f"{a}>{b}" for a, b in pairs))
    if same is None:
        return PassedOver("the HIP index of a device is not known")
    steps = (*_drain((worker,), policy, 0), same, *_undrain((worker,), policy))
    return Plan(steps, locks, touches, f"{worker.name} with a topology file without {pairs[0][0]} - {pairs[0][1]}")


def _bad_pairs(view: NodeView, fault: Fault) -> tuple[tuple[str, str], ...]:
    down = {link.peer for row in view.gpu(fault.gpu) for link in row.links if not link.up and link.peer}
    if fault.peer:
        down.add(fault.peer)
    return tuple((fault.gpu, peer) for peer in sorted(down))


def _standstill(
    state: State, fault: Fault, policy: Policy, workers: tuple[WorkerView, ...], act: Step
) -> tuple[Step, ...]:
    """Everything off the GPUs, the act, everything back, whatever became of the act."""
    running = tuple(w for w in workers if w.state != "stopped")
    stop = tuple(Step(actuator=w.executor, verb="stop", target=w.name) for w in running)
    start = tuple(Step(actuator=w.executor, verb="start", target=w.name, always=True) for w in running)
    del state, fault
    return (*_drain(running, policy, policy.drain_seconds), *stop, act, *start, *_undrain(running, policy))


def _reset(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    if why := _helper(fault, policy):
        return PassedOver(why)
    if not fault.gpu:
        return PassedOver("it is not about a GPU")
    members = view.hive_members(fault.gpu)
    hive = view.hive_of(fault.gpu)
    workers = state.workers_on(fault.node, members)
    act = Step(actuator="helper", verb="reset-gpu", target=fault.gpu, arguments={"members": " ".join(members)})
    lock = f"hive:{fault.node}/{hive}" if hive else f"hive:{fault.node}/{fault.gpu}"
    locks = (lock, *(f"gpu:{fault.node}/{m}" for m in members), *(f"worker:{w.name}" for w in workers))
    text = f"reset hive {hive} ({len(members)} GPUs)" if len(members) > 1 else f"reset {fault.gpu}"
    return Plan(_standstill(state, fault, policy, workers, act), locks, _touches(fault, workers, members), text)


def _node_wide(verb: str, text: str, state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    if why := _helper(fault, policy):
        return PassedOver(why)
    workers = state.workers_on(fault.node)
    act = Step(actuator="helper", verb=verb, target=fault.node, arguments={"boot_id": view.boot_id})
    gpus = tuple(sorted({d.bdf for d in view.devices}))
    locks = (f"node:{fault.node}", *(f"worker:{w.name}" for w in workers))
    return Plan(_standstill(state, fault, policy, workers, act), locks, _touches(fault, workers, gpus), text)


def _reload(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    return _node_wide("reload-driver", f"reload the driver of {fault.node}", state, view, fault, policy)


def _reboot(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    return _node_wide("reboot", f"reboot {fault.node}", state, view, fault, policy)


def _schedules(state: State, view: NodeView, fault: Fault, policy: Policy) -> Plan | PassedOver:
    del state, view
    if why := _helper(fault, policy):
        return PassedOver(why)
    blamed = next((t for t in policy.schedules if fault.activity in t.activities), None)
    if blamed is None:
        return PassedOver(f"no [[schedule]] says which timer {fault.activity or 'it'} is")
    moves = spread(policy.schedules)
    if len(moves) < 2:
        return PassedOver("there is no second timer to move away from")
    steps = tuple(
        Step(actuator="helper", verb="set-timer", target=fault.node, arguments={"timer": timer, "calendar": calendar})
        for timer, calendar in moves
    )  # fmt: skip
    return Plan(steps, (f"schedules:{fault.node}",), (), "; ".join(f"{t} at {c}" for t, c in moves))


PLANNERS = {
    "watch": _nothing, "stop-new": _stop_new, "move-worker": _move, "restart-worker": _restart,
    "recycle-worker": _recycle, "fan-up": _fan, "power-cap": _power, "clock-limit": _clock,
    "exclude-link": _exclude_link, "spread-schedules": _schedules, "reset": _reset, "reload-driver": _reload,
    "reboot": _reboot, "people": _people,
}  # fmt: skip
"""One planner for each rung of the ladder."""
UNDO: dict[str, tuple[str, str]] = {
    "set-fan-curve": ("helper", "restore-fan"), "set-power-share": ("helper", "restore-power"),
    "set-clock-share": ("helper", "restore-clock"), "drain": ("gateway", "undrain"),
}  # fmt: skip
"""Verb -> who takes it back, and how. A moved schedule stays moved: it does no harm, and crashes would come back."""


def undo(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps that take back what was lowered, or may have been: putting back what was not changed does nothing."""
    return tuple(
        Step(actuator=UNDO[step.verb][0], verb=UNDO[step.verb][1], target=step.target)
        for step in reversed(steps)
        if step.verb in UNDO and step.state != "pending"
    )
