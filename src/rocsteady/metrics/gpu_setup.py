"""Identity and setup of a GPU, its partitions, the processes on it, and the state that rocsteady gives it."""

from __future__ import annotations

from rocsteady.metrics.declare import Metric
from rocsteady.metrics.gpu_sensors import DEVICE, INSTINCT

KFD = "sys/class/kfd/kfd/"
INFO = Metric(
    name="gpu_info", kind="info",
    labels=("gpu", "card", "unique_id", "serial", "model", "model_number", "gfx", "device_id", "subsystem_id",
            "render_node", "numa"),
    source=f"{DEVICE}unique_id, serial_number, product_name, ...", read="drm_device",
    help="Identity of a GPU.",
)  # fmt: skip
VBIOS = Metric(
    name="gpu_vbios_info", kind="info", labels=("gpu", "version"), source=f"{DEVICE}vbios_version",
    read="drm_device: vbios", help="Version of the VBIOS.",
)  # fmt: skip
FIRMWARE = Metric(
    name="gpu_firmware_info", kind="info", labels=("gpu", "block", "version"), source=f"{DEVICE}fw_version/",
    read="drm_device: firmware", help="Version of the firmware of a block.",
)  # fmt: skip
TABLE_INFO = Metric(
    name="gpu_metrics_table_info", kind="info", labels=("gpu", "version"), source=f"{DEVICE}gpu_metrics",
    read="gpu_metrics: version", help="Version of the driver's table: it decides which metrics there are.",
)  # fmt: skip
MODE = Metric(
    name="gpu_mode_info", kind="info", labels=("gpu", "compute_mode", "memory_mode"),
    source=f"{DEVICE}current_compute_partition, current_memory_partition", read="drm_device: compute_mode, memory_mode",
    since=INSTINCT, help="Partition modes.",
)  # fmt: skip
PARTITIONS = Metric(
    name="gpu_partitions", kind="gauge", labels=("gpu",), source=f"{KFD}topology", read="kfd_topology",
    help="Logical devices that a GPU shows.",
)  # fmt: skip
PARTITION_RESOURCE = Metric(
    name="gpu_partition_resources", kind="gauge", labels=("gpu", "kind"),
    source=f"{DEVICE}compute_partition_config/*/num_inst", read="drm_device: partition_resources", since=INSTINCT,
    help="Engines that a partition has, by kind (xcc, dma, dec, jpeg).",
)  # fmt: skip
PARTITION_SHARED = Metric(
    name="gpu_partition_sharing", kind="gauge", labels=("gpu", "kind"),
    source=f"{DEVICE}compute_partition_config/*/num_shared", read="drm_device: partition_resources", since=INSTINCT,
    help="Partitions that share an engine, by kind.",
)  # fmt: skip
PARTITION_INFO = Metric(
    name="gpu_partition_info", kind="info", labels=("gpu", "partition", "kfd_node_id", "gpu_id", "render_node"),
    source=f"{KFD}topology/nodes/*/properties", read="kfd_topology", help="Identity of a partition.",
)  # fmt: skip
PARTITION_MEMORY = Metric(
    name="gpu_partition_memory_size_bytes", kind="gauge", unit="bytes", labels=("gpu", "partition"),
    source=f"{KFD}topology/nodes/*/mem_banks/*/properties", read="kfd_topology: banks",
    help="GPU memory of a partition; partitions of one memory domain show the same memory.",
)  # fmt: skip
PARTITION_USED = Metric(
    name="gpu_partition_memory_used_bytes", kind="gauge", unit="bytes", labels=("gpu", "partition"),
    source=f"{KFD}topology/nodes/*/mem_banks/*/used_memory", read="kfd_topology: banks",
    help="GPU memory in use in a partition.",
)  # fmt: skip
COMPUTE_UNITS = Metric(
    name="gpu_compute_units", kind="gauge", labels=("gpu", "partition"), source=f"{KFD}topology/nodes/*/properties",
    read="kfd_topology: compute_units", help="Compute units of a partition.",
)  # fmt: skip
TOPOLOGY_VALUES = Metric(
    name="gpu_partition_limits", kind="gauge", labels=("gpu", "partition", "kind"),
    source=f"{KFD}topology/nodes/*/properties", read="kfd_topology: properties",
    help="What a partition offers: wave slots per SIMD, command queues, SDMA engines, global wave syncs.",
)  # fmt: skip
MEMORY_BUS = Metric(
    name="gpu_memory_bus_width_bytes", kind="gauge", unit="bytes", labels=("gpu", "partition"),
    source=f"{KFD}topology/nodes/*/mem_banks/*/properties", read="kfd_topology: banks",
    help="Width of the memory bus.",
)  # fmt: skip
ECC = Metric(
    name="gpu_ecc_enabled", kind="gauge", labels=("gpu", "kind"), source=f"{KFD}topology/nodes/*/properties",
    read="kfd_topology: capability", help="1 where ECC of memory, ECC of SRAM or RAS events are on.",
)  # fmt: skip
LINK_BANDWIDTH = Metric(
    name="gpu_link_bandwidth_limit_bytes_per_second", kind="gauge", unit="bytes per second",
    labels=("gpu", "kind", "peer"), source=f"{KFD}topology/nodes/*/io_links/*/properties",
    read="kfd_topology: io_links", help="Bandwidth that the driver states for a link to a peer GPU or CPU (max).",
)  # fmt: skip
LINK_WEIGHT = Metric(
    name="gpu_link_weight", kind="gauge", labels=("gpu", "kind", "peer"),
    source=f"{KFD}topology/nodes/*/io_links/*/properties", read="kfd_topology: io_links",
    help="Distance to a peer GPU or CPU as the driver weighs it.",
)  # fmt: skip
PERFORMANCE = Metric(
    name="gpu_performance_info", kind="info",
    labels=("gpu", "level", "profile", "soc_pstate", "xgmi_policy", "dpm_state"),
    source=f"{DEVICE}power_dpm_force_performance_level, pp_power_profile_mode, pm_policy/", read="drm_device",
    help="Performance level, power profile and power policies in force.",
)  # fmt: skip
RUNTIME = Metric(
    name="gpu_runtime_info", kind="info", labels=("gpu", "status", "control", "power_state"),
    source=f"{DEVICE}power/", read="pci: runtime_status", help="Runtime power management of the device.",
)  # fmt: skip
RESET_SUPPORTED = Metric(
    name="gpu_reset_supported", kind="gauge", labels=("gpu", "block", "kind"), source=f"{DEVICE}*_reset_mask",
    read="drm_device: resets", since="drivers of Linux 6.13 and later",
    help="1 where an engine can be reset in a way (soft, queue, pipe, full).",
)  # fmt: skip
ISOLATION = Metric(
    name="gpu_isolation_enforced", kind="gauge", labels=("gpu", "partition"), source=f"{DEVICE}enforce_isolation",
    read="drm_device: isolation", help="1 where processes are kept apart on the shaders of a partition.",
)  # fmt: skip
PROCESSES = Metric(
    name="gpu_processes", kind="gauge", labels=("gpu",), source=f"{KFD}proc/", read="kfd_processes",
    help="Processes with a compute context on a GPU.",
)  # fmt: skip
PROCESS_MEMORY = Metric(
    name="gpu_process_memory_bytes", kind="gauge", unit="bytes", labels=("gpu", "partition", "pid"),
    source=f"{KFD}proc/*/vram_*", read="kfd_processes: vram", help="GPU memory of a process (initial pid namespace).",
)  # fmt: skip
PROCESS_UNITS = Metric(
    name="gpu_process_compute_units", kind="gauge", labels=("gpu", "partition", "pid"),
    source=f"{KFD}proc/*/stats_*/cu_occupancy", read="kfd_processes: cu_occupancy",
    help="Compute units with waves of a process.",
)  # fmt: skip
PROCESS_EVICTED = Metric(
    name="gpu_process_evicted_seconds_total", kind="counter", unit="seconds", labels=("gpu", "partition", "pid"),
    source=f"{KFD}proc/*/stats_*/evicted_ms", read="kfd_processes: evicted_ms",
    help="Time that the queues of a process were taken off the GPU for lack of memory.",
)  # fmt: skip
PROCESS_PAGES = Metric(
    name="gpu_process_pages_total", kind="counter", labels=("gpu", "partition", "pid", "kind"),
    source=f"{KFD}proc/*/counters_*/", read="kfd_processes: faults, page_in, page_out",
    help="Pages of shared virtual memory: fault, in (to the GPU), out.",
)  # fmt: skip
PROCESS_QUEUES = Metric(
    name="gpu_process_queues", kind="gauge", labels=("gpu", "partition", "pid", "kind"),
    source=f"{KFD}proc/*/queues/*/", read="kfd_processes: queues", help="User queues of a process by kind.",
)  # fmt: skip
PROCESS_OWNER = Metric(
    name="gpu_process_owner_info", kind="info", labels=("pid", "container", "pod", "slurm_job"),
    source="proc/*/cgroup", read="process_owner",
    help="Container, pod (UID) and Slurm job of a process on a GPU: join on pid to have them as labels.",
)  # fmt: skip
CLIENT_TIME = Metric(
    name="gpu_client_engine_seconds_total", kind="counter", unit="seconds", labels=("gpu", "pid", "kind"),
    source="proc/*/fdinfo/*", read="drm_fdinfo: engines", since="Linux 5.14",
    help="Time that a process used an engine through DRM, by kind of engine. KFD queues do not count.",
)  # fmt: skip
CLIENT_MEMORY = Metric(
    name="gpu_client_memory_bytes", kind="gauge", unit="bytes", labels=("gpu", "pid", "kind"),
    source="proc/*/fdinfo/*", read="drm_fdinfo: memory", since="Linux 5.14",
    help="Memory of a process through DRM, by region and state.",
)  # fmt: skip
STATE = Metric(
    name="gpu_health_state", kind="gauge", labels=("gpu", "class"), source="GPU health of rocsteady",
    read="diagnose: health", help="1 for the state a GPU is in: healthy, suspect, unhealthy, unknown.",
)  # fmt: skip
STATE_REASON = Metric(
    name="gpu_health_reason", kind="gauge", labels=("gpu", "reason"), source="GPU health of rocsteady",
    read="diagnose: health", help="1 for each reason that holds a GPU in its state, by its id.",
)  # fmt: skip
STATE_AGE = Metric(
    name="gpu_health_state_age_seconds", kind="gauge", unit="seconds", labels=("gpu",), source="GPU health of rocsteady",
    read="diagnose: health", help="Time since the state last changed.",
)  # fmt: skip

METRICS = (
    INFO, VBIOS, FIRMWARE, TABLE_INFO, MODE, PARTITIONS, PARTITION_RESOURCE, PARTITION_SHARED, PARTITION_INFO,
    PARTITION_MEMORY, PARTITION_USED, COMPUTE_UNITS, TOPOLOGY_VALUES, MEMORY_BUS, ECC, LINK_BANDWIDTH, LINK_WEIGHT,
    PERFORMANCE, RUNTIME, RESET_SUPPORTED, ISOLATION, PROCESSES, PROCESS_MEMORY, PROCESS_UNITS, PROCESS_EVICTED,
    PROCESS_PAGES, PROCESS_QUEUES, PROCESS_OWNER, CLIENT_TIME, CLIENT_MEMORY, STATE, STATE_REASON, STATE_AGE,
)  # fmt: skip
