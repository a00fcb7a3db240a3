"""Whether an action did what it was for, as seen in the document and the workers afterwards. Pure."""

from __future__ import annotations

from rocsteady.heal.records import Action
from rocsteady.heal.state import State

BRINGS = ("replace", "restart", "start")


def verified(action: Action, state: State, now: float) -> tuple[bool | None, str]:
    """True, False, or None while it cannot be told yet; and what was seen, in words."""
    del now
    good, detail = _workers(action, state)
    if action.verify == "workers" or good is not True:
        return good, detail
    view = state.nodes.get(action.node)
    acted = action.acted_at or 0.0
    if view is None or view.at <= acted:
        return None, "no newer gpu-health document"
    if action.verify == "boot" and view.boot_id == action.prior_boot:
        return None, "still the same boot"
    touched = {t.split("/", 1)[1] for t in action.touches if t.startswith(f"{action.node}/")}
    for bdf in sorted(touched):
        rows = view.gpu(bdf)
        if not rows or any(row.state == "unknown" for row in rows):
            return None, f"{bdf} is unknown"
        bad = next((row for row in rows if row.state == "unhealthy"), None)
        if bad is not None:
            return None, f"{bdf} is unhealthy: {', '.join(r.id for r in bad.reasons)}"
    return True, f"{len(touched)} GPUs are well; {detail}"


def _workers(action: Action, state: State) -> tuple[bool | None, str]:
    """Each worker that it started serves, and it is the one that this action started, where it was told to."""
    names: list[str] = []
    for index, step in enumerate(action.steps):
        if step.verb not in BRINGS:
            continue
        worker = next((w for w in state.workers if w.name == step.target), None)
        if worker is None:
            return None, f"{step.target} is not seen"
        if worker.generation != f"{action.id}#{index}":
            if worker.generation.startswith(action.id):
                return None, f"{step.target} is of an earlier step"
            return False, f"{step.target} was started by {worker.generation or 'somebody else'}"
        if worker.state == "failed":
            return False, f"{step.target} failed: {worker.detail}"
        if worker.state not in ("serving", "draining"):
            return None, f"{step.target} is {worker.state}"
        wanted = step.arguments.get("devices")
        if wanted and set(wanted.split(",")) != set(worker.devices):
            return False, f"{step.target} runs on {', '.join(worker.devices)}"
        names.append(
            f"{step.target} serves on {', '.join(worker.devices)}" if worker.devices else f"{step.target} serves"
        )
    return True, "; ".join(names)
