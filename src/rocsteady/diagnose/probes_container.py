"""What a container or node was given, against what is asked for."""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import Gpu, Subject

RANK_FLAGS = ("tensor-parallel-size", "tp", "tp-size", "tensor_parallel_size")
"""How vLLM and SGLang name the tensor parallel size."""


def _ranks_against_render_nodes(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """Single render nodes are passed in, and fewer than the tensor parallel size."""
    container = world.facts.container
    if container is None or container.devices is None or container.privileged:
        return Probed(None if container is None else False)
    nodes = {d for d in container.devices if re.search(r"/dev/dri/renderD\d+", d)}
    if not nodes or any(re.fullmatch(r"/dev(?:/dri)?/?", d) for d in container.devices):
        return Probed(False)
    for flag in RANK_FLAGS:
        found = lookup(world.facts, f"engine.flags.{flag}")
        if found.value is not None and str(found.value).isdigit():
            break
    else:
        return Probed(None)
    ranks = int(str(found.value))
    where = lookup(world.facts, "container.devices").evidence
    evidence = tuple(dict.fromkeys(e for e in (where, found.evidence) if e is not None))
    return Probed(len(nodes) < ranks, evidence, {"nodes": str(len(nodes)), "ranks": str(ranks)})


def _gpus_taken(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The node's GPUs that no pod requests are fewer than the pending pod wants (1 where that is not known)."""
    node = world.facts.kubernetes
    if node.gpu_allocatable is None or node.gpu_requested is None:
        return Probed(None)
    wanted = world.facts.container.gpu_request if world.facts.container is not None else None
    free = node.gpu_allocatable - node.gpu_requested
    evidence = tuple(
        e
        for e in (
            lookup(world.facts, "kubernetes.gpu_requested").evidence,
            lookup(world.facts, "kubernetes.gpu_allocatable").evidence,
        )
        if e is not None
    )
    bindings = {
        "requested": str(node.gpu_requested),
        "allocatable": str(node.gpu_allocatable),
        "wanted": str(wanted) if wanted is not None else "one or more",
    }
    return Probed(free < (wanted or 1), evidence, bindings)


PROBES: dict[str, Probe] = {
    "container_render_nodes_below_ranks": _ranks_against_render_nodes,
    "kubernetes_gpus_taken": _gpus_taken,
}
