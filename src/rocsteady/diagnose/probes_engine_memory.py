"""Which of the kinds of "GPU out of memory" this is: each has another cure.

PyTorch prints what it tried, the total, what is free, and what itself holds. From these follow, in this order:
another process holds the memory; the driver refuses although memory is free; PyTorch holds unused blocks that do
not fit (fragmentation). Else the stage decides: loading weights, profiling activations, capturing graphs, serving.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.model import Event, Gpu, Subject

_SIZE = re.compile(r"([\d.]+) ?([KMGT]?)")
_FACTOR = {"K": 1 / 1024**2, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "": 1 / 1024**3}
FOREIGN_SHARE = 0.15
"""Of the total: what neither PyTorch nor the runtime (RCCL buffers, code, scratch: under 3 GiB in the start-ups
that were looked at) can account for belongs to another process. With ``FOREIGN_GIB`` as the least amount."""
FOREIGN_GIB = 4.0
REFUSED = 1.3
"""Free memory over the amount tried, from which a refusal is no matter of the amount."""
HOURS = 3600.0
"""Seconds of serving after which an out-of-memory error is called one of long running: warm-up is over by then."""

_STAGES = {
    "weights": {"load_model", "load_weights", "initialize_model", "create_weights", "make_layers"},
    "activations": {
        "determine_available_memory", "determine_num_available_blocks", "profile_run", "profile_num_available_blocks",
    },
    "kv-cache": {"initialize_kv_cache", "initialize_kv_caches", "init_memory_pool"},
    "graphs": {
        "capture_model", "capture_graph", "init_cuda_graph", "init_cuda_graphs", "init_device_graphs",
        "compile_or_warm_up_model",
    },
    "serving": {"execute_model", "forward_extend", "forward_decode", "run_batch"},
}  # fmt: skip


class _Oom(msgspec.Struct, frozen=True):
    """What is known about the first out-of-memory error. Sizes in GiB."""

    event: Event
    kind: str
    events: tuple[Event, ...]
    numbers: dict[str, float]


def gib(text: str | None) -> float | None:
    """A size as PyTorch prints it, in GiB.

    >>> gib("512.00 MiB")
    0.5
    """
    match = _SIZE.match(text or "")
    return float(match[1]) * _FACTOR[match[2]] if match else None


def classify(world: World) -> _Oom | None:
    """The kind of the first out-of-memory error of PyTorch, None when there is none."""
    events = world.by_kind.get("torch-out-of-memory", [])
    if not events:
        return None
    event = events[0]
    numbers = {k: v for k in ("tried", "total", "free", "own", "allocated", "reserved")
               if (v := gib(event.fields.get(k))) is not None}  # fmt: skip
    stage, used = _stage(world, event)
    kind = _by_numbers(numbers) or stage
    return _Oom(event, kind, (event, *used), numbers)


def _by_numbers(n: dict[str, float]) -> str | None:
    if {"total", "free", "tried"} <= n.keys() and ("own" in n or "allocated" in n):
        held = n["own"] if "own" in n else n["allocated"] + n.get("reserved", 0.0)
        foreign = n["total"] - n["free"] - held
        if foreign > max(FOREIGN_SHARE * n["total"], FOREIGN_GIB):
            n["foreign"] = foreign
            return "other-process"
        if n["free"] > REFUSED * n["tried"] and n["free"] - n["tried"] > 1:
            return "refused"
    if n.get("reserved", 0.0) >= n.get("tried", float("inf")) and n.get("reserved", 0.0) > 0.05 * n.get("total", 0.0):
        return "fragmentation"
    return None


def _stage(world: World, event: Event) -> tuple[str, tuple[Event, ...]]:
    """From the frames of the traceback, else from which milestones came before."""
    failed = world.by_kind.get("graph-capture-failed", [])
    if failed:
        return "graphs", tuple(failed[:1])
    for trace in world.by_kind.get("python-traceback", []):
        if "OutOfMemory" in trace.fields.get("exception", "") or "out of memory" in trace.fields.get("message", ""):
            name = next((k for k, names in _STAGES.items() if trace.fields.get("stage") in names), None)
            if "graph_runner" in trace.fields.get("last_file", ""):
                name = "graphs"
            if name == "serving":
                return _serving(world, event)
            if name is not None:
                return name, (trace,)
            break
    ready = [e for e in world.by_kind.get("engine-ready", []) if e.order < event.order]
    if ready:
        return _serving(world, event)
    loaded = [e for e in world.by_kind.get("engine-model-loaded", []) if e.order < event.order]
    if loaded:
        return "activations", (loaded[-1],)
    started = [
        e for k in ("engine-vllm-config", "engine-sglang-config", "engine-vllm-arguments")
        for e in world.by_kind.get(k, []) if e.order < event.order
    ]  # fmt: skip
    return ("weights", (started[-1],)) if started else ("unknown", ())


def _serving(world: World, event: Event) -> tuple[str, tuple[Event, ...]]:
    for ready in world.by_kind.get("engine-ready", []):
        if ready.at is not None and event.at is not None and event.at - ready.at > HOURS:
            return "long-running", (ready,)
    return "serving", ()


def _probe(*kinds: str) -> Probe:
    def probe(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
        oom = classify(world)
        if oom is None or oom.kind not in kinds:
            return Probed(False)
        bindings = {k: f"{v:.1f} GiB" for k, v in oom.numbers.items()} | {"stage": oom.kind}
        evidence = tuple(e.evidence for e in oom.events)
        repeats = world.by_kind["torch-out-of-memory"]
        return Probed(True, evidence, bindings, (oom.event, *(e for e in repeats if e is not oom.event)))

    return probe


PROBES: dict[str, Probe] = {
    "oom-other-process": _probe("other-process"),
    "oom-refused": _probe("refused"),
    "oom-fragmentation": _probe("fragmentation"),
    "oom-weights": _probe("weights"),
    "oom-activations": _probe("activations"),
    "oom-kv-cache": _probe("kv-cache"),
    "oom-graphs": _probe("graphs"),
    "oom-long-running": _probe("long-running"),
    "oom-serving": _probe("serving", "unknown"),
}
