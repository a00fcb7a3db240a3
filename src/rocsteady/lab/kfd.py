"""The KFD topology of a synthetic node, and the processes that hold /dev/kfd open."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocsteady.facts.kfd_topology import XGMI
from rocsteady.lab.gpu import Slot, hive_id, hops, links
from rocsteady.lab.shapes import Shape
from rocsteady.lab.state import GpuState
from rocsteady.lab.tree import Tree

KFD = "sys/devices/virtual/kfd/kfd"
TOPOLOGY = f"{KFD}/topology"
CPU_LINK, PCIE = 1, 2
PER_HOP, INSIDE_SOCKET, TO_CPU, BETWEEN_CPUS = 15, 13, 20, 32
"""Link weights as the driver computes them."""
ONE_LINK, INSIDE, GEN1_X1 = 50000, 819200, 312
FIRST_SIMD = 2147487744
LARGE_BAR_HEAP = 1
XGMI_ENGINES = 28
"""SDMA engines that MI210 recommends for XGMI peers."""


class Node(msgspec.Struct, kw_only=True):
    """One node on its way to the tree. ``gpu``: number of its GPU, None for a CPU."""

    id: int
    socket: int
    gpu: int | None = None
    partition: int = 0


def add_kfd(tree: Tree, shape: Shape, slots: list[Slot], states: list[GpuState]) -> None:
    """Write topology and processes."""
    nodes = plan_nodes(shape)
    tree.text(f"{KFD}/dev", "236:0")
    tree.text(f"{KFD}/uevent", "MAJOR=236\nMINOR=0\nDEVNAME=kfd\nDEVMODE=0666")
    tree.text(f"{TOPOLOGY}/generation_id", "2")
    tree.text(f"{TOPOLOGY}/system_properties", "platform_oem 35322352389441\nplatform_id 1096041729601\nplatform_rev 1")
    tree.link("sys/class/kfd/kfd", KFD)
    for node in nodes:
        _add_node(tree, shape, node, nodes, slots, states)
    _add_processes(tree, shape, slots, states)


def plan_nodes(shape: Shape) -> list[Node]:
    """CPU sockets first, then the GPUs in order, each with its partitions."""
    nodes = [Node(id=socket, socket=socket) for socket in range(shape.host.sockets)]
    for gpu, socket in enumerate(shape.sockets):
        for partition in range(shape.partitions):
            nodes.append(Node(id=len(nodes), socket=socket, gpu=gpu, partition=partition))
    return nodes


def gpu_id(slot: Slot, partition: int) -> int:
    """A number of 16 bits that is the same for the same slot."""
    return (int(slot.bdf[5:7], 16) * 257 + partition * 4099 + 977) % 65521 or 1


def _add_node(
    tree: Tree, shape: Shape, node: Node, nodes: list[Node], slots: list[Slot], states: list[GpuState]
) -> None:
    base = f"{TOPOLOGY}/nodes/{node.id}"
    io = list(io_links(shape, node, nodes))
    p2p = list(p2p_links(shape, node, nodes))
    banks, caches = 1, 0
    if node.gpu is None:
        tree.text(f"{base}/gpu_id", "0")
        tree.text(f"{base}/name", "\n")
        _bank(tree, base, 0, shape.host.memory_gib << 30, 64, 4800)
    else:
        part = shape.part
        assert part is not None
        tree.text(f"{base}/gpu_id", gpu_id(slots[node.gpu], node.partition))
        tree.text(f"{base}/name", part.kfd_name)
        _bank(tree, base, LARGE_BAR_HEAP, node_memory(shape), part.mem_width, part.mem_clock)
        used = states[node.gpu].vram_used if node.partition == 0 else 0
        tree.text(f"{base}/mem_banks/0/used_memory", used)
        caches = _add_caches(tree, base, shape, _first_simd(shape, node))
    properties = _properties(shape, node, slots, states, (banks, caches, len(io), len(p2p)))
    tree.text(f"{base}/properties", "\n".join(f"{key} {value}" for key, value in properties.items()))
    for kind, entries in (("io_links", io), ("p2p_links", p2p)):
        tree.folder(f"{base}/{kind}")
        for number, link in enumerate(entries):
            tree.text(f"{base}/{kind}/{number}/properties", "\n".join(f"{k} {v}" for k, v in link.items()))


def node_memory(shape: Shape) -> int:
    """VRAM of one node: a partition's share is an even one."""
    assert shape.part is not None
    return shape.part.vram if shape.partitions == 1 else (192 << 30) // shape.partitions


def _first_simd(shape: Shape, node: Node) -> int:
    """The driver counts on by the CU slots of each node."""
    part = shape.part
    assert part is not None
    step = part.arrays * part.cu_per_array * part.xcds // shape.partitions
    return FIRST_SIMD + step * (node.id - shape.host.sockets)


def _bank(tree: Tree, base: str, heap: int, size: int, width: int, clock: int) -> None:
    lines = {"heap_type": heap, "size_in_bytes": size, "flags": 0, "width": width, "mem_clk_max": clock}
    tree.text(f"{base}/mem_banks/0/properties", "\n".join(f"{k} {v}" for k, v in lines.items()))


def _add_caches(tree: Tree, base: str, shape: Shape, simd: int) -> int:
    """One entry per cache; a cache of level 3 once per GPU, all others per XCD."""
    part = shape.part
    assert part is not None
    xcds = part.xcds // shape.partitions
    number = 0
    for level, size, kind, count in part.caches:
        for index in range(count * (1 if level == 3 else xcds)):
            lines = {
                "processor_id_low": simd + index, "level": level, "size": size, "cache_line_size": 0,
                "cache_lines_per_tag": 0, "association": 0, "latency": 0, "type": kind, "sibling_map": _SIBLINGS,
            }  # fmt: skip
            tree.text(f"{base}/caches/{number}/properties", "\n".join(f"{k} {v}" for k, v in lines.items()))
            number += 1
    return number


_SIBLINGS = ",".join(["1"] + ["0"] * 31)


def _properties(
    shape: Shape, node: Node, slots: list[Slot], states: list[GpuState], counts: tuple[int, int, int, int]
) -> dict[str, int]:
    host = shape.host
    keys = ("mem_banks_count", "caches_count", "io_links_count", "p2p_links_count")
    shared = dict(zip(keys, counts, strict=True))
    if node.gpu is None:
        zero = dict.fromkeys(_GEOMETRY, 0)
        return {"cpu_cores_count": host.cores, "simd_count": 0, **shared,
                "cpu_core_id_base": host.cores * node.socket, **zero,
                "max_engine_clk_ccompute": host.clock}  # fmt: skip
    part = shape.part
    assert part is not None
    slot, state, xcds = slots[node.gpu], states[node.gpu], part.xcds // shape.partitions
    return {
        "cpu_cores_count": 0, "simd_count": part.compute_units * 4 // shape.partitions, **shared,
        "cpu_core_id_base": 0, "simd_id_base": _first_simd(shape, node), "max_waves_per_simd": part.max_waves,
        "lds_size_in_kb": part.lds_kib, "gds_size_in_kb": 0, "num_gws": part.gws,
        "wave_front_size": part.wave_front, "array_count": part.arrays * xcds, "simd_arrays_per_engine": 1,
        "cu_per_simd_array": part.cu_per_array, "simd_per_cu": 4, "max_slots_scratch_cu": part.scratch_slots,
        "gfx_target_version": part.gfx_version, "vendor_id": 0x1002, "device_id": part.device_id,
        "location_id": (int(slot.bdf[5:7], 16) << 8) | node.partition, "domain": 0,
        "drm_render_minor": slot.minor + node.partition, "hive_id": hive_id(shape) if part.xgmi else 0,
        "num_sdma_engines": part.sdma, "num_sdma_xgmi_engines": part.sdma_xgmi if shape.partitions == 1 else 0,
        "num_sdma_queues_per_engine": 8, "num_cp_queues": part.cp_queues, "max_engine_clk_fcompute": part.sclk[-1],
        "local_mem_size": 0, "fw_version": part.mec, "capability": part.capability, "debug_prop": part.debug_prop,
        "sdma_fw_version": part.sdma_firmware, "unique_id": state.unique_id, "num_xcc": xcds,
        "max_engine_clk_ccompute": host.clock,
    }  # fmt: skip


_GEOMETRY = (
    "simd_id_base", "max_waves_per_simd", "lds_size_in_kb", "gds_size_in_kb", "num_gws", "wave_front_size",
    "array_count", "simd_arrays_per_engine", "cu_per_simd_array", "simd_per_cu", "max_slots_scratch_cu",
    "gfx_target_version", "vendor_id", "device_id", "location_id", "domain", "drm_render_minor", "hive_id",
    "num_sdma_engines", "num_sdma_xgmi_engines", "num_sdma_queues_per_engine", "num_cp_queues",
)  # fmt: skip


def _link(
    kind: int, here: int, there: int, weight: int, bandwidth: tuple[int, int], flags: int, mask: int
) -> dict[str, int]:
    return {
        "type": kind, "version_major": 0, "version_minor": 0, "node_from": here, "node_to": there, "weight": weight,
        "min_latency": 0, "max_latency": 0, "min_bandwidth": bandwidth[0], "max_bandwidth": bandwidth[1],
        "recommended_transfer_size": 0, "recommended_sdma_engine_id_mask": mask, "flags": flags,
    }  # fmt: skip


def io_links(shape: Shape, node: Node, nodes: list[Node]) -> Iterator[dict[str, int]]:
    """Direct links of one node."""
    part = shape.part
    gen = 64000 if part is not None and part.pcie_speed >= 32 else 32000
    for other in nodes:
        if other.id == node.id:
            continue
        pair = (node.gpu is None, other.gpu is None)
        if pair == (True, True):
            yield _link(CPU_LINK, node.id, other.id, BETWEEN_CPUS, (0, 0), 0, 0)
        elif pair != (False, False):
            if node.socket == other.socket:
                yield _link(PCIE, node.id, other.id, TO_CPU, (GEN1_X1, gen), 3 if node.gpu is None else 1, 3)
        elif part is not None and part.xgmi and node.gpu is not None and other.gpu is not None:
            yield _xgmi_link(shape, node, other, node.gpu, other.gpu)


def _xgmi_link(shape: Shape, node: Node, other: Node, here: int, there: int) -> dict[str, int]:
    if here == there:
        return _link(XGMI, node.id, other.id, INSIDE_SOCKET, (INSIDE, INSIDE), 1, 3)
    if shape.partitions > 1:
        weight = INSIDE_SOCKET + PER_HOP + INSIDE_SOCKET
        return _link(XGMI, node.id, other.id, weight, (0, 0), 1, 3)
    width = ONE_LINK * links(shape, here, there)
    mask = XGMI_ENGINES if shape.package == 1 and shape.part is not None and not shape.part.instinct_300 else 3
    weight = PER_HOP * hops(shape, here, there)
    return _link(XGMI, node.id, other.id, weight, (min(width, ONE_LINK), width), 1, mask)


def p2p_links(shape: Shape, node: Node, nodes: list[Node]) -> Iterator[dict[str, int]]:
    """Links that go through CPUs: to the far socket, and between GPUs without XGMI."""
    part = shape.part
    if part is None:
        return
    for other in nodes:
        if other.id == node.id or (node.gpu is None and other.gpu is None):
            continue
        far = node.socket != other.socket
        if node.gpu is None or other.gpu is None:
            if far:
                flags = 3 if node.gpu is None else 1
                yield _link(PCIE, node.id, other.id, TO_CPU + BETWEEN_CPUS, (0, 0), flags, 0)
        elif not part.xgmi:
            yield _link(PCIE, node.id, other.id, 2 * TO_CPU + (BETWEEN_CPUS if far else 0), (0, 0), 1, 0)


FIRST_PID = 48211


def serving_gpus(shape: Shape) -> range:
    """GPUs that the engine of a healthy tree uses: all, or one partition in CPX."""
    return range(1 if shape.partitions > 1 else len(shape.buses))


def _add_processes(tree: Tree, shape: Shape, slots: list[Slot], states: list[GpuState]) -> None:
    tree.folder(f"{KFD}/proc")
    for gpu in serving_gpus(shape):
        key = gpu_id(slots[gpu], 0)
        base = f"{KFD}/proc/{FIRST_PID + gpu}"
        files = {
            "pasid": 32770 + gpu, f"vram_{key}": states[gpu].vram_used - (300 << 20), f"sdma_{key}": 1_250_000,
            f"stats_{key}/evicted_ms": 0, f"stats_{key}/cu_occupancy": 3 * states[gpu].busy,
            f"counters_{key}/faults": 0, f"counters_{key}/page_in": 0, f"counters_{key}/page_out": 0,
            "queues/0/gpuid": key, "queues/0/size": 16384, "queues/0/type": 2,
        }  # fmt: skip
        for name, value in files.items():
            tree.text(f"{base}/{name}", value)
