"""Where a worker can go: healthy devices of its node that nobody uses, XGMI neighbours first. Pure."""

from __future__ import annotations

from rocsteady.heal.policy import Policy
from rocsteady.heal.state import State
from rocsteady.heal.view import Device, NodeView, WorkerView


def spare_devices(state: State, view: NodeView, policy: Policy) -> tuple[Device, ...]:
    """Healthy devices with a known HIP index that no worker is configured for and no process works on."""
    taken = {name for worker in state.workers if worker.node == view.node for name in worker.devices}
    found = []
    for device in view.devices:
        allowed = policy.spares is None or device.name in policy.spares or device.bdf in policy.spares
        if device.state == "healthy" and device.hip_index is not None and device.name not in taken and allowed:
            if sum(process.vram_bytes for process in device.processes) > policy.spare_idle_bytes:
                continue  # somebody else's work
            found.append(device)
    return tuple(found)


def place(
    state: State,
    view: NodeView,
    worker: WorkerView,
    policy: Policy,
    *,
    without: frozenset[str],
    taken: frozenset[str] = frozenset(),
) -> tuple[str, ...] | None:
    """Devices for a worker that may use none of the GPUs in ``without``; None where there is no such set.

    Healthy devices of its own are kept. A group of several stays within one hive where that is possible, and takes no
    GPU with a link that is down. Among equals: fewest changes, then the lowest HIP indices.
    """
    own = [view.device(name) for name in worker.devices]
    if not own or any(device is None for device in own):
        return None
    needs = max((d.memory.total_bytes or 0 for d in own if d is not None), default=0)
    group = len(own) > 1
    keep = [d for d in own if d is not None and _usable(d, without, needs, group)]
    free = [d for d in spare_devices(state, view, policy) if _usable(d, without, needs, group) and d.name not in taken]
    candidates = sorted((*keep, *free), key=lambda d: d.hip_index if d.hip_index is not None else 1 << 30)
    pools: list[list[Device]] = []
    if group:
        for hive in dict.fromkeys(d.hive for d in candidates if d.hive):
            pools.append([d for d in candidates if d.hive == hive])
    pools.append(candidates)
    kept = {d.name for d in keep}
    best: tuple[tuple[int, int, int], tuple[str, ...]] | None = None
    for order, pool in enumerate(pools):
        if len(pool) < len(own):
            continue
        chosen = sorted(pool, key=lambda d: d.name not in kept)[: len(own)]
        one_hive = len({d.hive for d in chosen}) == 1 and (not group or bool(chosen[0].hive))
        score = (0 if one_hive or not group else 1, sum(d.name not in kept for d in chosen), order)
        names = tuple(d.name for d in sorted(chosen, key=lambda d: d.hip_index or 0))
        if best is None or score < best[0]:
            best = (score, names)
    if best is None or set(best[1]) == set(worker.devices):
        return None
    return best[1]


def _usable(device: Device, without: frozenset[str], needs: int, group: bool) -> bool:
    if device.bdf in without or device.state != "healthy" or device.hip_index is None:
        return False
    if needs and (device.memory.total_bytes or 0) < needs:
        return False
    return not (group and device.links_down)


def visible(view: NodeView, devices: tuple[str, ...]) -> str | None:
    """``HIP_VISIBLE_DEVICES`` for these devices; None where an index is unknown."""
    found = [view.device(name) for name in devices]
    if any(d is None or d.hip_index is None for d in found):
        return None
    return ",".join(str(d.hip_index) for d in found if d is not None)
