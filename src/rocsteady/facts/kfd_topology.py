"""KFD topology: compute nodes, their memory, caches and links, and which nodes are partitions of one GPU.

Source: /sys/class/kfd/kfd/topology/
Docs:   https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_topology.c
Sample: ``properties`` = lines ``simd_count 304``, ``gfx_target_version 90402``, ``location_id 2561``.
Node numbers change over reboots and partition mode changes; ``gpu_id`` is a hash, 0 on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, gap_of, parse_numbers
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError
from rocsteady.model.facts import KfdLink

TOPOLOGY = "sys/class/kfd/kfd/topology"
PARTITION_BITS = 7
"""The driver ORs the partition number into the function bits of ``location_id``."""
PRIVATE, PUBLIC = 2, 1
XGMI, PCIE = 11, 2
LINK_ENABLED, LINK_NO_P2P = 1, 16
MEM_ECC, RAS_EVENTS, SRAM_ECC = 0x100000, 0x200000, 0x4000000


class MemoryBank(msgspec.Struct, frozen=True, kw_only=True):
    """One bank; bytes, bus bits, MHz. ``heap`` 0 system, 1 CPU-visible VRAM, 2 VRAM that the CPU cannot see."""

    heap: int
    size: int | None = None
    flags: int | None = None
    width: int | None = None
    clock_max: int | None = None
    used: int | None = None


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """One cache; KiB. ``kind`` bit mask: 1 data, 2 instruction, 4 CPU, 8 GPU."""

    level: int
    size: int
    kind: int


class TopologyNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node. ``hidden``: its files exist but the device cgroup keeps them from being read."""

    id: int
    gpu_id: int | None
    name: str | None
    properties: dict[str, int]
    banks: tuple[MemoryBank, ...] = ()
    caches: tuple[Cache, ...] = ()
    io_links: tuple[KfdLink, ...] = ()
    p2p_links: tuple[KfdLink, ...] = ()
    hidden: bool = False

    @property
    def is_gpu(self) -> bool:
        """A node with SIMD units."""
        return self.properties.get("simd_count", 0) > 0

    @property
    def local_memory(self) -> int | None:
        """Bytes of VRAM of this node."""
        sizes = [b.size for b in self.banks if b.heap in (PUBLIC, PRIVATE) and b.size is not None]
        return sum(sizes) if sizes and self.is_gpu else None

    @property
    def gfx(self) -> str | None:
        """LLVM target."""
        return gfx_name(self.properties.get("gfx_target_version", 0))

    @property
    def compute_units(self) -> int | None:
        """CUs of this node."""
        per_cu = self.properties.get("simd_per_cu", 0)
        return self.properties["simd_count"] // per_cu if self.is_gpu and per_cu else None

    @property
    def ecc(self) -> bool | None:
        """Memory ECC on."""
        capability = self.properties.get("capability")
        return None if capability is None or not self.is_gpu else bool(capability & MEM_ECC)


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes by number, and what could not be read."""

    generation: int | None
    system: dict[str, int] | None
    nodes: tuple[TopologyNode, ...]
    gaps: tuple[Gap, ...] = ()


class KfdGpu(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of one physical GPU: one, or its compute partitions in order."""

    bdf: str
    unique_id: int | None
    nodes: tuple[TopologyNode, ...]


def gfx_name(version: int) -> str | None:
    """90402 -> gfx942, 90010 -> gfx90a, 110003 -> gfx1103; None for a CPU.

    The number is major * 10000 + minor * 100 + stepping in decimal; the name has minor and stepping in hexadecimal.
    """
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    if not 0 < major < 100 or minor > 15 or stepping > 15:
        return None
    return f"gfx{major}{minor:x}{stepping:x}"


def node_bdf(properties: dict[str, int], *, partitioned: bool) -> str | None:
    """PCI address of a GPU node; of a partition the function bits hold the partition number and are cleared."""
    place = properties.get("location_id")
    if place is None or not 0 <= place <= 0xFFFF:
        return None
    function = 0 if partitioned else place & PARTITION_BITS
    return f"{properties.get('domain', 0):04x}:{place >> 8:02x}:{place >> 3 & 0x1F:02x}.{function}"


def gpus_of(nodes: Iterable[TopologyNode]) -> tuple[KfdGpu, ...]:
    """GPU nodes grouped by physical GPU: same unique_id, or same bus and device where unique_id is 0."""
    groups: dict[tuple[int, int, int], list[TopologyNode]] = {}
    for node in nodes:
        if not node.is_gpu:
            continue
        place = node.properties.get("location_id", 0) >> 3
        unique = node.properties.get("unique_id", 0)
        groups.setdefault((unique, node.properties.get("domain", 0), place), []).append(node)
    gpus: list[KfdGpu] = []
    for (unique, _, _), members in groups.items():
        members.sort(key=lambda n: n.properties.get("location_id", 0) & PARTITION_BITS)
        bdf = node_bdf(members[0].properties, partitioned=len(members) > 1)
        if bdf is not None:
            gpus.append(KfdGpu(bdf=bdf, unique_id=unique or None, nodes=tuple(members)))
    return tuple(sorted(gpus, key=lambda g: g.bdf))


def read_topology(fs: HostFS, *, caches: bool = True, links: bool = True) -> Topology | Gap:
    """The whole topology; a Gap where KFD is not there. ``caches=False`` leaves out what never changes.

    ``links=False`` leaves out the links: with 64 partitions they are some four thousand files.
    """
    try:
        names = fs.names(f"{TOPOLOGY}/nodes")
    except ReadError as error:
        return gap_of(f"{TOPOLOGY}/nodes", error)
    top = Folder(fs, TOPOLOGY)
    gaps: list[Gap] = []
    nodes: list[TopologyNode] = []
    for number in sorted(int(n) for n in names if n.isascii() and n.isdigit() and len(n) < 7):
        folder = Folder(fs, f"{TOPOLOGY}/nodes/{number}")
        nodes.append(_node(folder, number, caches, links))
        gaps.extend(g for g in folder.gaps if not nodes[-1].hidden)
        if nodes[-1].hidden:
            gaps.append(Gap(folder.path, "denied: the device cgroup hides this GPU"))
    gaps.extend(top.gaps)
    return Topology(
        generation=top.integer("generation_id"),
        system=top.parsed("system_properties", parse_numbers),
        nodes=tuple(nodes),
        gaps=tuple(gaps),
    )


def read_io_links(fs: HostFS, node: int) -> tuple[KfdLink, ...]:
    """Links of one node."""
    return _links(Folder(fs, f"{TOPOLOGY}/nodes/{node}"), "io_links")


def _node(folder: Folder, number: int, caches: bool, links: bool) -> TopologyNode:
    properties = folder.parsed("properties", parse_numbers)
    hidden = properties is None and any(g.why.startswith("denied") for g in folder.gaps)
    if hidden:
        return TopologyNode(id=number, gpu_id=None, name=None, properties={}, hidden=True)
    banks: list[MemoryBank] = []
    for entry in _numbered(folder, "mem_banks"):
        values = folder.parsed(f"mem_banks/{entry}/properties", parse_numbers)
        if values and "heap_type" in values:
            used = (
                folder.integer(f"mem_banks/{entry}/used_memory") if values["heap_type"] in (PUBLIC, PRIVATE) else None
            )
            banks.append(
                MemoryBank(
                    heap=values["heap_type"], size=values.get("size_in_bytes"), flags=values.get("flags"),
                    width=values.get("width"), clock_max=values.get("mem_clk_max"), used=used,
                )
            )  # fmt: skip
    found: list[Cache] = []
    for entry in _numbered(folder, "caches") if caches else ():
        values = folder.parsed(f"caches/{entry}/properties", parse_numbers)
        if values and "level" in values:
            found.append(Cache(level=values["level"], size=values.get("size", 0), kind=values.get("type", 0)))
    return TopologyNode(
        id=number,
        gpu_id=folder.integer("gpu_id"),
        name=folder.word("name"),
        properties=properties or {},
        banks=tuple(banks),
        caches=tuple(found),
        io_links=_links(folder, "io_links") if links else (),
        p2p_links=_links(folder, "p2p_links") if links else (),
    )


def _numbered(folder: Folder, name: str) -> list[str]:
    return sorted((n for n in folder.names(name) if n.isascii() and n.isdigit() and len(n) < 7), key=int)


def _links(folder: Folder, kind: str) -> tuple[KfdLink, ...]:
    links: list[KfdLink] = []
    for entry in _numbered(folder, kind):
        link = folder.parsed(f"{kind}/{entry}/properties", parse_link)
        if link is not None:
            links.append(link)
    return tuple(links)


def parse_link(text: str) -> KfdLink | Malformed:
    """One io_link or p2p_link; a bandwidth of 0 means that the driver does not know it."""
    values = parse_numbers(text)
    if isinstance(values, Malformed):
        return values
    if not {"type", "node_from", "node_to"} <= values.keys():
        return Malformed("a link without type, node_from or node_to")
    return KfdLink(
        type=values["type"], node_from=values["node_from"], node_to=values["node_to"], weight=values.get("weight"),
        max_bandwidth=values.get("max_bandwidth") or None, flags=values.get("flags"),
    )  # fmt: skip
