"""Where the ranks of TP, PP, EP and DP sit: groups placed on XGMI hives, NUMA nodes and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocsteady.catalog.knowledge import Part
from rocsteady.plan.budget import Budget


def part_topology(part: Part | None, count: int) -> list[list[int]]:
    """Sets of GPUs that XGMI joins, as a part's platform is built. Parts without XGMI stand alone."""
    if part is None or not part.id.startswith("instinct-") or part.gfx == "gfx906":
        return [[i] for i in range(count)]
    text = str(part.xgmi or "")
    size = 8 if part.gfx in ("gfx942", "gfx950") else (4 if "mi210" in part.id or "mi100" in part.id else 8)
    if "mi300a" in part.id:
        size = 4
    if not text and part.gfx in ("gfx90a", "gfx908") and "mi250" not in part.id:
        return [[i] for i in range(count)]  # bridges are optional on PCIe cards: not assumed
    return [list(range(s, min(s + size, count))) for s in range(0, count, size)]


def hives_of(gpus: list[Mapping[str, Any]]) -> list[list[int]]:
    """Sets of GPUs of a read node that share a hive; a GPU without one stands alone."""
    sets: dict[str, list[int]] = {}
    for index, gpu in enumerate(gpus):
        sets.setdefault(
            str(gpu["hive"]) if gpu.get("hive") not in (None, "", "0x0", 0) else f"alone-{index}", []
        ).append(index)
    return list(sets.values())


def place(b: Budget, topology: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Placement of all ranks, None for one GPU. TP groups go into one XGMI set where one is large enough."""
    tp, pp, dp = b.request.tp, b.request.pp, b.request.dp
    need = tp * pp * dp
    if need == 1:
        return None
    gpus = list(topology["gpus"]) if topology else []
    count = len(gpus) or need
    sets = hives_of(gpus) if gpus else part_topology(b.device.part, need)
    if count < need:
        return {
            "groups": [],
            "warning": f"{need} GPUs are needed (TP x PP x DP), the node has {count}",
            "text": [f"needs {need} GPUs, {count} are there"],
        }
    groups, crossing = _groups(sets, tp, pp * dp, gpus)
    text = []
    for index, members in enumerate(groups):
        nodes = sorted({gpus[i].get("numa_node") for i in members if gpus and gpus[i].get("numa_node") is not None})
        numa = f", NUMA {nodes}" if nodes else ""
        text.append(f"DP rank {index // pp}, PP stage {index % pp}: GPUs {members}{numa}")
    if b.request.ep:
        text.append(
            f"experts are divided over the {tp * dp} ranks of TP x DP: {-(-b.shape.experts // (tp * dp))} of {b.shape.experts} each"
        )
    warning = None
    if crossing:
        source = "this node" if gpus else "the part"
        warning = f"{crossing} TP group(s) cross PCIe (no XGMI set of {source} holds {tp} GPUs): all-reduce runs over the host; prefer TP inside a hive with PP or DP across"
    return {"groups": groups, "xgmi_sets": sets, "tp_crosses_pcie": bool(crossing), "warning": warning, "text": text}


def _groups(sets: list[list[int]], tp: int, wanted: int, gpus: list[Mapping[str, Any]]) -> tuple[list[list[int]], int]:
    """``wanted`` groups of ``tp`` GPUs, whole inside a set while there is one; the rest crosses."""
    free = [sorted(s, key=lambda i: (str(gpus[i].get("numa_node")) if gpus else "", i)) for s in sets]
    groups: list[list[int]] = []
    while len(groups) < wanted:
        home = next((s for s in sorted(free, key=len) if len(s) >= tp), None)
        if home is None:
            break
        groups.append(home[:tp])
        del home[:tp]
    rest = [i for s in free for i in s]
    crossing = 0
    while len(groups) < wanted and len(rest) >= tp:
        groups.append(rest[:tp])
        del rest[:tp]
        crossing += tp > 1
    return groups, crossing
