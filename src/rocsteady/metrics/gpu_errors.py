"""Errors of a GPU: RAS, retired pages, PCIe errors, and events of the kernel log."""

from __future__ import annotations

from rocsteady.metrics.declare import Field, Metric
from rocsteady.metrics.gpu_sensors import DEVICE, INSTINCT, TABLE

RAS = Metric(
    name="gpu_ras_errors_total", kind="counter", labels=("gpu", "block", "class"),
    source=f"{DEVICE}ras/*_err_count", read="ras: blocks",
    since="GPUs with RAS; deferred errors from MI300",
    help="Errors that a RAS block counted since the driver was loaded: corrected, uncorrected, deferred.",
)  # fmt: skip
RAS_EVENTS = Metric(
    name="gpu_ras_events_total", kind="counter", labels=("gpu", "kind"), source=f"{DEVICE}ras/event_state",
    read="ras: events", since="drivers of Linux 6.12 and later",
    help="RAS events by kind: fatal_error, poison_creation, poison_consumption.",
)  # fmt: skip
PAGES = Metric(
    name="gpu_bad_pages", kind="gauge", labels=("gpu", "kind"), source=f"{DEVICE}ras/gpu_vram_bad_pages",
    read="retired_pages", since="GPUs with RAS",
    help="Bad pages of GPU memory: retired (out of use), pending (at the next reset), unreservable (still in use).",
)  # fmt: skip
AER = Metric(
    name="gpu_pcie_aer_errors_total", kind="counter", labels=("gpu", "class", "kind"),
    source=f"{DEVICE}aer_dev_correctable, aer_dev_nonfatal, aer_dev_fatal", read="pci: aer_*",
    help="PCIe errors of the GPU's link by class (correctable, nonfatal, fatal) and kind, as the kernel counts them.",
)  # fmt: skip
PCIE_REPLAY = Metric(
    name="gpu_pcie_replays_total", kind="counter", labels=("gpu",), source=f"{TABLE}, {DEVICE}pcie_replay_count",
    read="gpu_metrics: pcie_replay_count_acc; drm_device: pcie_replays", help="Packets that the link sent again.",
    fields=(Field("pcie_replay_count_acc"),),
)  # fmt: skip
PCIE_EVENTS = Metric(
    name="gpu_pcie_link_events_total", kind="counter", labels=("gpu", "kind"), source=TABLE,
    read="gpu_metrics: pcie_*_count_acc", since=INSTINCT,
    help="Link events: recovery (left L0), recovery_by_peer, replay_rollover, nak_sent, nak_received.",
    fields=(
        Field("pcie_l0_to_recov_count_acc", ("recovery",)), Field("pcie_replay_rover_count_acc", ("replay_rollover",)),
        Field("pcie_nak_sent_count_acc", ("nak_sent",)), Field("pcie_nak_rcvd_count_acc", ("nak_received",)),
        Field("pcie_lc_perf_other_end_recovery", ("recovery_by_peer",)),
        Field("pcie_lc_perf_other_end_recovery_count", ("recovery_by_peer",)),
    ),
)  # fmt: skip
PCIE_SPEED = Metric(
    name="gpu_pcie_speed_transfers_per_second", kind="gauge", unit="transfers per second", labels=("gpu", "kind"),
    source=f"{DEVICE}current_link_speed, max_link_speed", read="pci: link", help="Speed of the link, now and max.",
)  # fmt: skip
PCIE_WIDTH = Metric(
    name="gpu_pcie_width_lanes", kind="gauge", labels=("gpu", "kind"),
    source=f"{DEVICE}current_link_width, max_link_width", read="pci: link", help="Lanes of the link, now and max.",
)  # fmt: skip
PCIE_BANDWIDTH = Metric(
    name="gpu_pcie_bandwidth_raw", kind="gauge", labels=("gpu",), source=TABLE,
    read="gpu_metrics: pcie_bandwidth_inst", since=INSTINCT,
    help="Traffic of the link now, in the firmware's unit: the kernel says GB/s, AMD's tools print Mb/s.",
    fields=(Field("pcie_bandwidth_inst"),),
)  # fmt: skip
PCIE_TRAFFIC = Metric(
    name="gpu_pcie_bandwidth_accumulator_total", kind="counter", labels=("gpu",), source=TABLE,
    read="gpu_metrics: pcie_bandwidth_acc", since=INSTINCT,
    help="Sum of the link's traffic over the firmware's samples, in the firmware's unit (see the raw bandwidth).",
    fields=(Field("pcie_bandwidth_acc"),),
)  # fmt: skip
XGMI_STATE = Metric(
    name="gpu_xgmi_link_up", kind="gauge", labels=("gpu", "link"), source=TABLE,
    read="gpu_metrics: xgmi_link_status", since="MI300 (gpu_metrics 1.7 and later)",
    help="1 where an XGMI link is up, 0 where it is down; no sample for a link that the board does not have.",
)  # fmt: skip
XGMI_LINKS = Metric(
    name="gpu_xgmi_links", kind="gauge", labels=("gpu", "class"), source=f"{TABLE}, {DEVICE}xgmi_num_links",
    read="gpu_metrics: xgmi_link_status; xgmi: links", since="GPUs in a hive",
    help="Number of links: up, down, and wired (to peers of the hive).",
)  # fmt: skip
XGMI_WIDTH = Metric(
    name="gpu_xgmi_width_lanes", kind="gauge", labels=("gpu",), source=TABLE, read="gpu_metrics: xgmi_link_width",
    since=INSTINCT, help="Lanes of each XGMI link.", fields=(Field("xgmi_link_width"),),
)  # fmt: skip
XGMI_SPEED = Metric(
    name="gpu_xgmi_speed_transfers_per_second", kind="gauge", unit="transfers per second", labels=("gpu",),
    source=TABLE, read="gpu_metrics: xgmi_link_speed", since=INSTINCT, help="Speed of each XGMI lane.",
    fields=(Field("xgmi_link_speed"),),
)  # fmt: skip
XGMI_TRAFFIC = Metric(
    name="gpu_xgmi_bytes_total", kind="counter", unit="bytes", labels=("gpu", "direction", "link"), source=TABLE,
    read="gpu_metrics: xgmi_read_data_acc, xgmi_write_data_acc", since=INSTINCT,
    help="Data over an XGMI link, by direction as this GPU sees it (read, write).",
    fields=(
        Field("xgmi_read_data_acc", ("read",), each=True), Field("xgmi_write_data_acc", ("write",), each=True),
    ),
)  # fmt: skip
XGMI_HOPS = Metric(
    name="gpu_xgmi_hops", kind="gauge", labels=("gpu", "peer"), source=f"{DEVICE}xgmi_num_hops", read="xgmi: hops",
    since="GPUs in a hive", help="XGMI hops to a peer, by the peer's position in the hive.",
)  # fmt: skip
XGMI_INFO = Metric(
    name="gpu_xgmi_info", kind="info", labels=("gpu", "hive", "node_id", "physical_id"),
    source=f"{DEVICE}xgmi_hive_info, xgmi_device_id, xgmi_physical_id", read="xgmi", since="GPUs in a hive",
    help="Place of a GPU in its hive.",
)  # fmt: skip
KERNEL_EVENTS = Metric(
    name="gpu_kernel_events_total", kind="counter", labels=("gpu", "kind"), source="/dev/kmsg or the kernel's log file",
    read="events: kinds of the kernel log", help="Messages of the kernel about a GPU since boot, by kind of event.",
)  # fmt: skip
RESETS = Metric(
    name="gpu_resets_total", kind="counter", labels=("gpu", "kind", "class"),
    source="/dev/kmsg or the kernel's log file", read="events: resets",
    help="Resets since boot, by kind (gpu, ring, queue) and class of outcome (started, succeeded, failed).",
)  # fmt: skip
RAS_LOGGED = Metric(
    name="gpu_ras_logged_errors_total", kind="counter", labels=("gpu", "block", "class"),
    source="/dev/kmsg or the kernel's log file", read="events: ras-corrected, ras-uncorrected, ras-deferred",
    help="Errors that the kernel log reported since boot, by block and class. Survives a driver reload.",
)  # fmt: skip
XGMI_LOGGED = Metric(
    name="gpu_xgmi_errors_total", kind="counter", labels=("gpu", "kind"),
    source="/dev/kmsg or the kernel's log file", read="events: xgmi-link-error",
    help="Errors of XGMI and WAFL links that the kernel log reported since boot, by kind.",
)  # fmt: skip

METRICS = (
    RAS, RAS_EVENTS, PAGES, AER, PCIE_REPLAY, PCIE_EVENTS, PCIE_SPEED, PCIE_WIDTH, PCIE_BANDWIDTH, PCIE_TRAFFIC,
    XGMI_STATE, XGMI_LINKS, XGMI_WIDTH, XGMI_SPEED, XGMI_TRAFFIC, XGMI_HOPS, XGMI_INFO, KERNEL_EVENTS, RESETS,
    RAS_LOGGED, XGMI_LOGGED,
)  # fmt: skip
