"""Where the ranks of TP, PP, EP and DP sit: groups placed on XGMI hives, NUMA nodes and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocsteady.catalog.knowledge import Part
from rocsteady.model import InputError
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


MODES = {"SPX": 1, "DPX": 2, "TPX": 3, "QPX": 4}
"""Partitions of a card by compute mode; CPX makes one of each XCD."""


def partitions_of(mode: str, part: Part | None) -> int:
    """How many devices a card shows in a compute mode.

    Memory: the driver divides what a card has by the number of its partitions, in NPS1 as in NPS4 (amdgpu_amdkfd.h,
    KFD_XCP_MEMORY_SIZE, https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdgpu/amdgpu_amdkfd.h).

    Raises:
        InputError: no such mode, or not on this part.
    """
    name = mode.upper()
    if name != "CPX" and name not in MODES:
        raise InputError(f"--partition {mode}: one of SPX, DPX, TPX, QPX, CPX")
    if name == "SPX":
        return 1
    if part is None or not isinstance(part.xcds, int) or part.gfx not in ("gfx942", "gfx950"):
        raise InputError(f"--partition {mode}: {part.product if part else 'this GPU'} has no compute partitions")
    count = part.xcds if name == "CPX" else MODES[name]
    if part.xcds % count:
        raise InputError(f"--partition {mode}: {part.xcds} XCDs do not divide by {count}")
    return count


def split_cards(part: Part | None, partitions: int, need: int) -> dict[str, Any]:
    """Topology of as many cards as ``need`` devices take, each in ``partitions`` devices, as the part is built."""
    cards = -(-need // partitions)
    home = {card: number for number, hive in enumerate(part_topology(part, cards)) for card in hive}
    return {
        "gpus": [
            {"card": card, "partition": index, "hive": f"hive-{home[card]}", "numa_node": None, "bdf": None}
            for card in range(cards)
            for index in range(partitions)
        ]
    }


def place(b: Budget, topology: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Placement of all ranks, None for one GPU. A TP group goes into one card where that has enough partitions, else
    into one XGMI set where one is large enough. Devices of a partitioned card are numbered one by one."""
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
    text = [
        f"DP rank {index // pp}, PP stage {index % pp}: GPUs {members}{_where(members, gpus)}"
        for index, members in enumerate(groups)
    ]
    if b.request.ep:
        text.append(
            f"experts are divided over the {tp * dp} ranks of TP x DP: {-(-b.shape.experts // (tp * dp))} of {b.shape.experts} each"
        )
    warning = None
    if crossing:
        source = "this node" if gpus else "the part"
        warning = f"{crossing} TP group(s) cross PCIe (no XGMI set of {source} holds {tp} GPUs): all-reduce runs over the host; prefer TP inside a hive with PP or DP across"
    return {
        "groups": groups, "xgmi_sets": sets, "cards": [cards_of(members, gpus) for members in groups],
        "tp_crosses_pcie": bool(crossing), "warning": warning, "text": text,
    }  # fmt: skip


def cards_of(members: list[int], gpus: list[Mapping[str, Any]]) -> list[int]:
    """The physical cards of a group's devices."""
    return sorted({int(gpus[i].get("card", i)) if gpus else i for i in members})


def _where(members: list[int], gpus: list[Mapping[str, Any]]) -> str:
    """Cards and NUMA nodes of a group, where they are known and say something."""
    if not gpus:
        return ""
    text = ""
    if any(gpus[i].get("partition") is not None for i in members):
        cards = cards_of(members, gpus)
        text += f", partitions of card{'s' if len(cards) > 1 else ''} {', '.join(map(str, cards))}"
    nodes = sorted({gpus[i]["numa_node"] for i in members if gpus[i].get("numa_node") is not None})
    return text + (f", NUMA {', '.join(map(str, nodes))}" if nodes else "")


def _groups(sets: list[list[int]], tp: int, wanted: int, gpus: list[Mapping[str, Any]]) -> tuple[list[list[int]], int]:
    """``wanted`` groups of ``tp`` devices, whole inside a card or else a set while there is one; the rest crosses."""

    def order(i: int) -> tuple[str, int, int]:
        return (str(gpus[i].get("numa_node")), int(gpus[i].get("card", i)), i) if gpus else ("", i, i)

    free = [sorted(members, key=order) for members in sets]
    groups: list[list[int]] = []
    while len(groups) < wanted:
        home = next((members for members in sorted(free, key=len) if len(members) >= tp), None)
        if home is None:
            break
        taken = _one_card(home, tp, gpus) or home[:tp]
        groups.append(taken)
        for i in taken:
            home.remove(i)
    rest = [i for members in free for i in members]
    crossing = 0
    while len(groups) < wanted and len(rest) >= tp:
        groups.append(rest[:tp])
        del rest[:tp]
        crossing += tp > 1
    return groups, crossing


def _one_card(home: list[int], tp: int, gpus: list[Mapping[str, Any]]) -> list[int] | None:
    """``tp`` free partitions of the fullest card that still has them, so that whole cards stay for larger groups."""
    if not gpus or all(gpus[i].get("partition") is None for i in home):
        return None
    cards: dict[int, list[int]] = {}
    for i in home:
        cards.setdefault(int(gpus[i].get("card", i)), []).append(i)
    fitting = [members for members in cards.values() if len(members) >= tp]
    return min(fitting, key=len)[:tp] if fitting else None
