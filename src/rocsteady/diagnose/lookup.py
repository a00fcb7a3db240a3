"""Finds a fact by its dotted path, with the line it came from."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.model import Evidence, Gpu, NodeFacts


class Found(msgspec.Struct, frozen=True):
    """A value and where it was read; ``value`` None = not known."""

    value: Any
    evidence: Evidence | None
    key: str


def gpu_key(gpu: Gpu) -> str:
    """How a GPU is called in findings: its BDF, else the index that a tool printed."""
    if gpu.bdf:
        return gpu.bdf
    if gpu.smi_index is not None:
        return f"GPU {gpu.smi_index}"
    for name, number in (("HIP device", gpu.hip_index), ("KFD node", gpu.kfd_node_id), ("card", gpu.drm_card)):
        if number is not None:
            return f"{name} {number}"
    return "GPU"


def lookup(facts: NodeFacts, path: str, gpu: Gpu | None = None) -> Found:
    """The value at ``path``; a path below ``gpu.`` needs ``gpu``.

    Keys of dictionaries may hold dots (sysctl names): the longest key that fits is taken.
    """
    steps = path.split(".")
    here: Any = facts
    origin: list[str] = []
    if steps[0] == "gpu":
        if gpu is None:
            return Found(None, None, path)
        here, steps = gpu, steps[1:]
        origin = ["gpus", gpu.key or gpu.bdf or f"smi:{gpu.smi_index}"]
    while steps and here is not None:
        if isinstance(here, msgspec.Struct):
            here = getattr(here, steps[0], None)
            origin.append(steps.pop(0))
        elif isinstance(here, dict):
            for length in range(len(steps), 0, -1):
                key = ".".join(steps[:length])
                if key in here:
                    here = here[key]
                    origin.append(key)
                    steps = steps[length:]
                    break
            else:
                here = None
        else:
            here = None
    key = ".".join(origin)
    return Found(here, None if here is None else _origin(facts, key), key)


def _origin(facts: NodeFacts, key: str) -> Evidence | None:
    """The line of the value itself, or of the first value below it."""
    exact = facts.origins.get(key)
    if exact is not None:
        return exact
    prefix = key + "."
    return next((e for k, e in facts.origins.items() if k.startswith(prefix)), None)
