"""Partitions and processes: what KFD shows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.errors import text
from rocsteady.facts.drm_fdinfo import DrmClient, read_drm_clients
from rocsteady.facts.kfd_processes import KfdProcess, read_kfd_processes
from rocsteady.facts.kfd_topology import (
    MEM_ECC,
    PRIVATE,
    PUBLIC,
    RAS_EVENTS,
    SRAM_ECC,
    XGMI,
    Topology,
    TopologyNode,
    gpus_of,
    node_bdf,
    read_io_links,
    read_topology,
)
from rocsteady.facts.parse_file import Folder
from rocsteady.facts.process_owner import ProcessOwner, read_owner
from rocsteady.hostfs import HostFS
from rocsteady.metrics import gpu_setup as m
from rocsteady.model import Gap

EVERY = 600.0
"""Seconds between two readings of the topology: it changes with partition modes and hot-plug only, and its generation
number, which the driver raises each time, is looked at in each scrape. The rest is for a driver that was reloaded."""
NOBODY = ProcessOwner(None, None, None)
MILLI = 1e-3
MEGA = 1e6
NANO = 1e-9
LIMITS = (
    ("max_waves_per_simd", "waves_per_simd"), ("num_cp_queues", "command_queues"), ("num_sdma_engines", "sdma_engines"),
    ("num_sdma_xgmi_engines", "sdma_xgmi_engines"), ("num_gws", "global_wave_syncs"), ("num_xcc", "xcds"),
    ("lds_size_in_kb", "lds_kib"), ("max_slots_scratch_cu", "scratch_slots_per_cu"),
)  # fmt: skip
CAPABILITIES = ((MEM_ECC, "memory"), (SRAM_ECC, "sram"), (RAS_EVENTS, "ras_events"))


class KfdCollector:
    """Samples of topology and processes."""

    name = "kfd"

    def __init__(self, fs: HostFS, clock: Callable[[], float] = time.monotonic) -> None:
        self._fs = fs
        self._clock = clock
        self._read_at: float | None = None
        self._generation: int | None = None
        self._places: dict[int, tuple[str, str]] = {}
        self._banks: list[tuple[str, str, str]] = []
        self._last = Batch()

    def collect(self, batch: Batch) -> None:
        """All partitions and processes."""
        generation = Folder(self._fs, "sys/class/kfd/kfd/topology").integer("generation_id")
        now = self._clock()
        if self._read_at is None or generation != self._generation or now - self._read_at >= EVERY:
            self._topology()
            self._read_at, self._generation = now, generation
        batch.samples.update(self._last.samples)
        batch.gaps(self._last.notes)
        for path, gpu, partition in self._banks:
            batch.add(m.PARTITION_USED, Folder(self._fs, path).integer("used_memory"), gpu, partition)
        self._processes(batch)

    def close(self) -> None:
        """Nothing is held."""

    def _topology(self) -> None:
        self._last, self._places, self._banks = Batch(), {}, []
        topology = read_topology(self._fs, caches=False, links=False)
        if isinstance(topology, Gap):
            if not topology.why.startswith("absent"):
                self._last.gap(topology)
            return
        self._last.gaps(topology.gaps)
        peers = _peers(topology)
        for found in gpus_of(topology.nodes):
            self._last.add(m.PARTITIONS, len(found.nodes), found.bdf)
            for number, node in enumerate(found.nodes):
                partition = str(number)
                if node.gpu_id:
                    self._places[node.gpu_id] = (found.bdf, partition)
                self._node(node, found.bdf, partition, peers)

    def _node(self, node: TopologyNode, gpu: str, partition: str, peers: dict[int, str]) -> None:
        batch = self._last
        render = node.properties.get("drm_render_minor")
        batch.add(m.PARTITION_INFO, 1, gpu, partition, str(node.id), text(node.gpu_id), text(render or None))
        batch.add(m.PARTITION_MEMORY, node.local_memory, gpu, partition)
        batch.add(m.COMPUTE_UNITS, node.compute_units, gpu, partition)
        for field, kind in LIMITS:
            batch.add(m.TOPOLOGY_VALUES, node.properties.get(field), gpu, partition, kind)
        capability = node.properties.get("capability")
        if capability is not None:
            for bit, kind in CAPABILITIES:
                batch.add(m.ECC, int(bool(capability & bit)), gpu, kind)
        for number, bank in enumerate(node.banks):
            if bank.heap in (PUBLIC, PRIVATE):
                batch.add(m.MEMORY_BUS, None if bank.width is None else bank.width / 8, gpu, partition)
                path = f"sys/class/kfd/kfd/topology/nodes/{node.id}/mem_banks/{number}"
                self._banks.append((path, gpu, partition))
        if partition == "0":
            for link in read_io_links(self._fs, node.id):
                kind = "xgmi" if link.type == XGMI else "pcie"
                peer = peers.get(link.node_to, str(link.node_to))
                if peer == gpu:
                    continue
                if link.max_bandwidth is not None:
                    batch.add(m.LINK_BANDWIDTH, link.max_bandwidth * MEGA, gpu, kind, peer)
                batch.add(m.LINK_WEIGHT, link.weight, gpu, kind, peer)

    def _processes(self, batch: Batch) -> None:
        processes = read_kfd_processes(self._fs)
        if isinstance(processes, Gap):
            if not processes.why.startswith("absent"):
                batch.gap(processes)
            return
        count: Counter[str] = Counter({gpu: 0 for gpu, _ in self._places.values()})
        for process in processes:
            count.update({self._places.get(gpu_id, (f"kfd:{gpu_id}", "0"))[0] for gpu_id in process.gpus})
            self._process(batch, process)
            owner = read_owner(self._fs, process.pid)
            if not isinstance(owner, Gap) and owner != NOBODY:
                batch.add(
                    m.PROCESS_OWNER, 1, str(process.pid), text(owner.container), text(owner.pod), text(owner.slurm_job)
                )
            clients = read_drm_clients(self._fs, process.pid)
            if isinstance(clients, Gap):
                if not clients.why.startswith("absent"):
                    batch.gap(clients)
            else:
                _clients(batch, str(process.pid), clients)
        for gpu, number in count.items():
            batch.add(m.PROCESSES, number, gpu)

    def _process(self, batch: Batch, process: KfdProcess) -> None:
        pid = str(process.pid)
        for gpu_id, use in process.gpus.items():
            gpu, partition = self._places.get(gpu_id, (f"kfd:{gpu_id}", "0"))
            where = (gpu, partition, pid)
            batch.add(m.PROCESS_MEMORY, use.vram, *where)
            batch.add(m.PROCESS_UNITS, use.cu_occupancy, *where)
            batch.add(m.PROCESS_EVICTED, None if use.evicted_ms is None else use.evicted_ms * MILLI, *where)
            for kind, pages in (("fault", use.faults), ("in", use.page_in), ("out", use.page_out)):
                batch.add(m.PROCESS_PAGES, pages, *where, kind)
        queues = Counter((queue.gpu_id, queue.kind) for queue in process.queues)
        for (queue_gpu, queue_kind), number in queues.items():
            if queue_gpu in self._places and queue_kind is not None:
                batch.add(m.PROCESS_QUEUES, number, *self._places[queue_gpu], pid, queue_kind)


def _clients(batch: Batch, pid: str, clients: tuple[DrmClient, ...]) -> None:
    time_used: Counter[tuple[str, str]] = Counter()
    memory: Counter[tuple[str, str]] = Counter()
    for client in clients:
        gpu = client.bdf or ""
        time_used.update({(gpu, kind): nanoseconds for kind, nanoseconds in client.engines.items()})
        memory.update({(gpu, kind): size for kind, size in client.memory.items()})
    for (gpu, kind), nanoseconds in time_used.items():
        batch.add(m.CLIENT_TIME, nanoseconds * NANO, gpu, pid, kind)
    for (gpu, kind), size in memory.items():
        batch.add(m.CLIENT_MEMORY, size, gpu, pid, kind)


def _peers(topology: Topology) -> dict[int, str]:
    """KFD node -> BDF of the GPU, or cpu0, cpu1 for the nodes without a GPU."""
    peers: dict[int, str] = {}
    for found in gpus_of(topology.nodes):
        for number, node in enumerate(found.nodes):
            peers[node.id] = found.bdf if len(found.nodes) == 1 else f"{found.bdf}/{number}"
    for node in topology.nodes:
        peers.setdefault(
            node.id,
            f"cpu{node.id}" if not node.is_gpu else (node_bdf(node.properties, partitioned=False) or str(node.id)),
        )
    return peers
