"""The host: memory, pressure, NUMA, limits, IOMMU, modules, disks, RDMA, and the engines that run on it."""

from __future__ import annotations

from rocsteady.metrics.declare import Metric

NODE = "every Linux node"
RDMA = "sys/class/infiniband/*/ports/*/"


def _node(name: str, **more: object) -> Metric:
    return Metric(name=f"node_{name}", since=NODE, **more)  # type: ignore[arg-type]


INFO = _node(
    "info", kind="info", labels=("kernel", "os", "vendor", "product", "boot_id"), source="proc/version, etc/os-release",
    read="kernel, os_release, dmi", help="Identity of the node.",
)  # fmt: skip
UPTIME = _node(
    "uptime_seconds", kind="gauge", unit="seconds", source="proc/uptime", read="exporter", help="Time since boot.",
)  # fmt: skip
TAINT = _node(
    "kernel_taint_mask", kind="gauge", source="proc/sys/kernel/tainted", read="kernel: tainted",
    help="Taint bits: 128 an oops, 512 a warning, 4096 out-of-tree module, 8192 unsigned module.",
)  # fmt: skip
MEMORY = _node(
    "memory_bytes", kind="gauge", unit="bytes", labels=("kind",), source="proc/meminfo", read="meminfo",
    help="Memory of the host by kind, as /proc/meminfo names them.",
)  # fmt: skip
HUGEPAGES = _node(
    "hugepages", kind="gauge", labels=("kind", "class"), source="sys/kernel/mm/hugepages/", read="meminfo: pools",
    help="Huge pages by page size (kind) and class: total, free, reserved, surplus.",
)  # fmt: skip
THP = _node(
    "transparent_hugepages_info", kind="info", labels=("mode",), source="sys/kernel/mm/transparent_hugepage/enabled",
    read="meminfo: transparent hugepages", help="Mode of transparent huge pages.",
)  # fmt: skip
PRESSURE = _node(
    "pressure_seconds_total", kind="counter", unit="seconds", labels=("kind", "class"), source="proc/pressure/",
    read="pressure", help="Time that some or all (full) tasks waited for memory, cpu or io.",
)  # fmt: skip
NUMA_MEMORY = _node(
    "numa_memory_bytes", kind="gauge", unit="bytes", labels=("numa", "kind"),
    source="sys/devices/system/node/node*/meminfo", read="numa: memory", help="Memory of a NUMA node: total, free.",
)  # fmt: skip
NUMA_PAGES = _node(
    "numa_pages_total", kind="counter", labels=("numa", "kind"), source="sys/devices/system/node/node*/numastat",
    read="numa: statistics", help="Page allocations of a NUMA node: hit, miss, foreign, interleave, local, other.",
)  # fmt: skip
NUMA_BALANCING = _node(
    "numa_balancing", kind="gauge", source="proc/sys/kernel/numa_balancing", read="sysctls",
    help="1 while the kernel moves pages between NUMA nodes on its own; AMD asks for 0.",
)  # fmt: skip
SYSCTL = _node(
    "sysctl_value", kind="gauge", labels=("kind",), source="proc/sys/", read="sysctls",
    help="Kernel settings that inference depends on, by name.",
)  # fmt: skip
LIMIT = _node(
    "exporter_limit", kind="gauge", labels=("kind",), source="proc/self/limits", read="limits",
    help="Soft limits of the exporter's own process (a tree: of the process that took it); unlimited has no sample.",
)  # fmt: skip
LOAD = _node(
    "load1", kind="gauge", source="proc/loadavg", read="exporter", help="Runnable tasks, mean over a minute.",
)  # fmt: skip
IOMMU = _node(
    "iommu_groups", kind="gauge", labels=("class",), source="sys/kernel/iommu_groups/*/type", read="iommu",
    help="IOMMU groups by way of translation: identity (pass-through), DMA, DMA-FQ.",
)  # fmt: skip
IOMMU_ACTIVE = _node(
    "iommu_active", kind="gauge", source="sys/kernel/iommu_groups", read="iommu", help="1 where the kernel uses an IOMMU.",
)  # fmt: skip
MODULE = _node(
    "module_info", kind="info", labels=("kind", "version", "srcversion"), source="sys/module/*/",
    read="modules", help="Version of a GPU driver module (kind = its name); the version is empty for the kernel's own.",
)  # fmt: skip
PARAMETER = _node(
    "module_parameter_info", kind="info", labels=("domain", "kind", "value"), source="sys/module/*/parameters/",
    read="modules: parameters", help="Module parameter in force: domain is the module, kind the parameter.",
)  # fmt: skip
DISK = _node(
    "filesystem_bytes", kind="gauge", unit="bytes", labels=("device", "kind"), source="statvfs of model directories",
    read="exporter", help="Size and free bytes of the file system of each directory named with --model-dir.",
)  # fmt: skip
GPUS = _node(
    "gpus", kind="gauge", source="sys/class/drm", read="drm_device", help="GPUs that the driver shows.",
)  # fmt: skip
LOG_LINES = _node(
    "kernel_log_bytes_total", kind="counter", unit="bytes", source="/dev/kmsg or the kernel's log file",
    read="hostfs: kernel log", help="Bytes of the kernel log that were read.",
)  # fmt: skip
LOG_LOST = _node(
    "kernel_log_losses_total", kind="counter", labels=("reason",), source="/dev/kmsg or the kernel's log file",
    read="hostfs: kernel log", help="Times that part of the kernel log was lost (overrun) or the file began anew (rotated).",
)  # fmt: skip
KERNEL_EVENTS = _node(
    "kernel_events_total", kind="counter", labels=("kind",), source="/dev/kmsg or the kernel's log file",
    read="events: kinds of the kernel log", help="Messages of the kernel about the node since boot, by kind of event.",
)  # fmt: skip
RDMA_INFO = Metric(
    name="rdma_info", kind="info", labels=("device", "board", "firmware", "driver", "bdf"),
    source="sys/class/infiniband/*/", read="infiniband", since="RDMA NICs", help="Identity of an RDMA device.",
)  # fmt: skip
RDMA_UP = Metric(
    name="rdma_port_up", kind="gauge", labels=("device", "port", "kind"), source=f"{RDMA}state, phys_state",
    read="infiniband: state", since="RDMA NICs", help="1 where a port is up: logical (ACTIVE), physical (LinkUp).",
)  # fmt: skip
RDMA_RATE = Metric(
    name="rdma_port_rate_bytes_per_second", kind="gauge", unit="bytes per second", labels=("device", "port"),
    source=f"{RDMA}rate", read="infiniband: rate", since="RDMA NICs", help="Signalling rate of a port.",
)  # fmt: skip
RDMA_BYTES = Metric(
    name="rdma_port_bytes_total", kind="counter", unit="bytes", labels=("device", "port", "direction"),
    source=f"{RDMA}counters/port_*_data", read="infiniband: counters", since="RDMA NICs",
    help="Data through a port, by direction (receive, transmit).",
)  # fmt: skip
RDMA_PACKETS = Metric(
    name="rdma_port_packets_total", kind="counter", labels=("device", "port", "direction", "class"),
    source=f"{RDMA}counters/*_packets", read="infiniband: counters", since="RDMA NICs",
    help="Packets through a port, by direction and class (all, unicast, multicast).",
)  # fmt: skip
RDMA_COUNTER = Metric(
    name="rdma_port_events_total", kind="counter", labels=("device", "port", "class", "kind"),
    source=f"{RDMA}counters/, {RDMA}hw_counters/", read="infiniband: counters, hw_counters", since="RDMA NICs",
    help="Other counters of a port, named as the driver does; class says whether the port or the hardware counts.",
)  # fmt: skip

METRICS = (
    INFO, UPTIME, TAINT, MEMORY, HUGEPAGES, THP, PRESSURE, NUMA_MEMORY, NUMA_PAGES, NUMA_BALANCING, SYSCTL, LIMIT, LOAD,
    IOMMU, IOMMU_ACTIVE, MODULE, PARAMETER, DISK, GPUS, LOG_LINES, LOG_LOST, KERNEL_EVENTS, RDMA_INFO, RDMA_UP,
    RDMA_RATE, RDMA_BYTES, RDMA_PACKETS, RDMA_COUNTER,
)  # fmt: skip
