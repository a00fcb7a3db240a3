"""Rows of GPUs: DRM card, sensors, RAS, XGMI, metrics table and KFD topology of one GPU come together by its BDF."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts.dpm import active_mhz, highest_mhz
from rocsteady.facts.drm_device import AmdgpuCard, CardPlace, find_cards, read_card
from rocsteady.facts.gpu_metrics import Metrics, read_metrics
from rocsteady.facts.hwmon import Hwmon
from rocsteady.facts.kfd_topology import XGMI, KfdGpu, Topology, gpus_of, read_topology
from rocsteady.facts.parse_file import gap_of
from rocsteady.facts.pci import PciFunction, upstream_port
from rocsteady.facts.tree_rows import Row, from_file, known, worth_listing
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap, ReadError
from rocsteady.model.facts import KfdNode, XgmiLink

LINK_FIELDS = (
    ("speed", "current_link_speed"), ("width", "current_link_width"), ("max_speed", "max_link_speed"),
    ("max_width", "max_link_width"),
)  # fmt: skip
TEXTS = (
    ("unique_id", "unique_id"), ("vbios", "vbios_version"), ("product_name", "product_name"),
    ("product_number", "product_number"), ("serial", "serial_number"), ("manufacturer", "manufacturer"),
    ("board_type", "board_info"), ("performance_level", "power_dpm_force_performance_level"),
    ("power_profile", "pp_power_profile_mode"), ("runtime_control", "power/control"),
    ("compute_mode", "current_compute_partition"), ("memory_mode", "current_memory_partition"),
)  # fmt: skip
MEMORY = (
    ("vram_total", "mem_info_vram_total"), ("vram_used", "mem_info_vram_used"),
    ("visible_total", "mem_info_vis_vram_total"), ("visible_used", "mem_info_vis_vram_used"),
    ("gtt_total", "mem_info_gtt_total"), ("gtt_used", "mem_info_gtt_used"), ("vendor", "mem_info_vram_vendor"),
)  # fmt: skip
LINK_DOWN, LINK_UP = 0, 1
"""xgmi_link_status of gpu_metrics 1.7 and later; 2 is a link that the board does not have."""


def gpu_rows(fs: HostFS, functions: dict[str, PciFunction]) -> Iterator[Row]:
    """Rows of every GPU of the tree, and of the KFD topology."""
    places, gaps = find_cards(fs)
    for gap in gaps:
        yield from worth_listing(gap)
    cards = [p for p in places if not p.partition]
    keys = {place.card: place.bdf or f"card:{place.card}" for place in cards}
    for place in cards:
        yield from card_rows(fs, place, f"gpus[{keys[place.card]}]", functions)
    topology = read_topology(fs, caches=False)
    if isinstance(topology, Gap):
        yield from worth_listing(topology)
        return
    yield from topology.gaps
    yield from topology_rows(topology)


def card_rows(fs: HostFS, place: CardPlace, base: str, functions: dict[str, PciFunction]) -> Iterator[Row]:
    """Rows of one card."""
    card = read_card(fs, place)
    f = card.folder
    where = Evidence(place.path, None, place.bdf or f"card{place.card}")
    yield from known(f"{base}.drm_card", place.card, where)
    yield from known(f"{base}.render_minor", place.render_minor, where)
    yield from known(f"{base}.driver", place.driver, where)
    for name in ("vendor", "device", "subsystem_device"):
        yield from from_file(f"{base}.{name}", card.pci.folder, name, getattr(card.pci.device, name))
    for field, name in TEXTS:
        yield from from_file(f"{base}.{field}", f, name, getattr(card, field))
    yield from from_file(f"{base}.name", f, "product_name", card.product_name)
    yield from from_file(f"{base}.gfx", f, "ip_discovery/die/0/GC/0/major", card.gfx)
    for block, version in card.firmware.items():
        yield from from_file(f"{base}.firmware[{block}]", f, f"fw_version/{block}_fw_version", f"0x{version:08x}")
    for field, name in MEMORY:
        yield from from_file(f"{base}.memory.{field}", f, name, getattr(card.memory, field))
    yield from from_file(f"{base}.sensors.busy_percent", f, "gpu_busy_percent", card.gpu_busy)
    yield from _clocks(card, base)
    yield from _slot(card, base, functions, fs)
    yield from from_file(f"{base}.pcie_replays", f, "pcie_replay_count", card.pcie_replays)
    yield from from_file(
        f"{base}.runtime_status", card.pci.folder, "power/runtime_status", card.pci.device.runtime_status
    )
    resets = tuple(sorted({word for words in card.resets.values() for word in words}))
    yield from from_file(f"{base}.reset_methods", f, "gfx_reset_mask", resets)
    if card.xgmi is not None and card.xgmi.hive_id:
        yield from from_file(f"{base}.hive_id", f, "xgmi_hive_info/xgmi_hive_id", str(card.xgmi.hive_id))
        yield from from_file(f"{base}.xgmi_physical_id", f, "xgmi_physical_id", card.xgmi.physical_id)
    yield from _ras(card, base)
    if card.hwmon is not None:
        yield from sensor_rows(card.hwmon, base)
    metrics = read_metrics(fs, place.path)
    if isinstance(metrics, Gap):
        # A cut-off or unknown table is worth a word; a GPU that is asleep or has none is not.
        if metrics.why.startswith("malformed") and "0 bytes" not in metrics.why:
            yield metrics
    else:
        yield from metrics_rows(
            metrics, base, Evidence(f"{place.path}/gpu_metrics", None, f"version {metrics.version}")
        )
    yield from card.gaps


def _clocks(card: AmdgpuCard, base: str) -> Iterator[Row]:
    for clock in ("sclk", "mclk"):
        levels = card.clocks.get(clock)
        if levels:
            name = f"pp_dpm_{clock}"
            yield from from_file(f"{base}.sensors.{clock}", card.folder, name, active_mhz(levels))
            yield from from_file(f"{base}.sensors.{clock}_max", card.folder, name, highest_mhz(levels))


def _slot(card: AmdgpuCard, base: str, functions: dict[str, PciFunction], fs: HostFS) -> Iterator[Row]:
    own = card.pci
    for field, name in LINK_FIELDS:
        yield from from_file(f"{base}.link.{field}", own.folder, name, getattr(own.device.link, field))
    yield from from_file(f"{base}.numa_node", own.folder, "numa_node", own.device.numa_node)
    top = functions.get(upstream_port(functions, own.device.bdf), own)
    for field, name in LINK_FIELDS:
        yield from from_file(f"{base}.slot_link.{field}", top.folder, name, getattr(top.device.link, field))
    if own.device.iommu_group is not None:
        path = f"sys/kernel/iommu_groups/{own.device.iommu_group}/type"
        try:
            kind = fs.line(path)
        except ReadError as error:
            yield from worth_listing(gap_of(path, error))
            return
        yield from known(f"{base}.iommu_type", kind or None, Evidence(path, 1, kind))


def _ras(card: AmdgpuCard, base: str) -> Iterator[Row]:
    if card.ras is not None:
        folder = card.ras.folder
        for block, counts in card.ras.blocks.items():
            for kind in ("ue", "ce", "de"):
                path = f"{base}.ras[{block}].{kind}"
                yield from from_file(path, folder, card.ras.files[block], getattr(counts, kind), f"{kind}:")
        for field, name in (("fatal_errors", "fatal error"), ("poison_consumed", "poison consumption")):
            if name in card.ras.events:
                yield from from_file(
                    f"{base}.{field}", folder, "event_state", card.ras.events[name].count, name.title()
                )
    pages = card.retired_pages
    if not isinstance(pages, Gap):
        where = Evidence(f"{card.place.path}/ras/gpu_vram_bad_pages", None, f"{len(pages.pages)} pages")
        yield from known(f"{base}.retired_pages", pages.retired, where)
        yield from known(f"{base}.pending_pages", pages.pending, where)
        yield from known(f"{base}.unreservable_pages", pages.unreservable, where)


def sensor_rows(hwmon: Hwmon, base: str) -> Iterator[Row]:
    """Rows of one hwmon directory."""
    folder, files = hwmon.folder, hwmon.files
    for label in ("edge", "junction", "mem"):
        sensor = hwmon.temperatures.get(label)
        if sensor is not None:
            yield from from_file(f"{base}.sensors.{label}", folder, f"{files[label]}_input", sensor.now)
            yield from from_file(f"{base}.sensors.{label}_crit", folder, f"{files[label]}_crit", sensor.crit)
    for label, power in hwmon.powers.items():
        file = files[label]
        name = f"{file}_average" if power.average is not None else f"{file}_input"
        yield from from_file(f"{base}.sensors.power", folder, name, power.now)
        yield from from_file(f"{base}.sensors.power_cap", folder, f"{file}_cap", power.cap)
        yield from from_file(f"{base}.sensors.power_cap_default", folder, f"{file}_cap_default", power.cap_default)
        yield from from_file(f"{base}.sensors.power_cap_max", folder, f"{file}_cap_max", power.cap_max)
        break
    if hwmon.fan is not None:
        yield from from_file(f"{base}.sensors.fan", folder, "fan1_input", hwmon.fan.rpm)
        if hwmon.fan.pwm is not None and hwmon.fan.pwm_max:
            percent = round(100 * hwmon.fan.pwm / hwmon.fan.pwm_max, 1)
            yield from from_file(f"{base}.sensors.fan_percent", folder, "pwm1", percent)
    if "vddgfx" in hwmon.voltages:
        yield from from_file(f"{base}.sensors.voltage_mv", folder, f"{files['vddgfx']}_input", hwmon.voltages["vddgfx"])


def metrics_rows(metrics: Metrics, base: str, where: Evidence) -> Iterator[Row]:
    """Rows of what only the metrics table has."""
    yield from known(f"{base}.metrics_version", metrics.version, where)
    yield from known(f"{base}.sensors.throttle_status", metrics.raw("throttle_status"), where)
    for stack, celsius in enumerate(metrics.base_array("temperature_hbm")):
        yield from known(f"{base}.sensors.hbm[{stack}]", celsius, where)
    states = metrics.array("xgmi_link_status")
    if any(state in (LINK_DOWN, LINK_UP) for state in states):
        yield from known(f"{base}.xgmi_links_down", states.count(LINK_DOWN), where)
        yield from known(f"{base}.xgmi_links_up", states.count(LINK_UP), where)


def topology_rows(topology: Topology) -> Iterator[Row]:
    """Rows of KFD nodes, and what they say about their GPUs."""
    gpus = gpus_of(topology.nodes)
    owner = {node.id: gpu.bdf for gpu in gpus for node in gpu.nodes}
    for node in topology.nodes:
        path = f"sys/class/kfd/kfd/topology/nodes/{node.id}"
        links = node.io_links + node.p2p_links
        row = KfdNode(
            id=node.id, gpu_id=node.gpu_id, name=node.name, properties=node.properties,
            memory_bytes=node.local_memory, links=links,
        )  # fmt: skip
        yield from known(f"kfd_nodes[{node.id}]", row, Evidence(f"{path}/properties", None, node.name or ""))
    for gpu in gpus:
        yield from _kfd_gpu(gpu, owner)


def _kfd_gpu(gpu: KfdGpu, owner: dict[int, str]) -> Iterator[Row]:
    base, first = f"gpus[{gpu.bdf}]", gpu.nodes[0]
    where = Evidence(f"sys/class/kfd/kfd/topology/nodes/{first.id}/properties", None, first.name or "")
    yield from known(f"{base}.kfd_node_id", first.id, where)
    yield from known(f"{base}.gpu_id", first.gpu_id, where)
    yield from known(f"{base}.gfx", first.gfx, where)
    yield from known(f"{base}.render_minor", first.properties.get("drm_render_minor") or None, where)
    yield from known(f"{base}.partitions", len(gpu.nodes), where)
    units = [node.compute_units for node in gpu.nodes]
    yield from known(f"{base}.cu_count", sum(u for u in units if u) or None, where)
    yield from known(f"{base}.ecc", first.ecc, where)
    if gpu.unique_id:
        yield from known(f"{base}.unique_id", f"{gpu.unique_id:016x}", where)
    hive = first.properties.get("hive_id")
    yield from known(f"{base}.hive_id", str(hive) if hive else None, where)
    if len(gpu.nodes) == 1:
        peers = tuple(
            XgmiLink(peer=owner[link.node_to], weight=link.weight)
            for link in first.io_links
            if link.type == XGMI and link.node_to in owner and owner[link.node_to] != gpu.bdf
        )
        yield from known(f"{base}.xgmi_links", peers, where)
