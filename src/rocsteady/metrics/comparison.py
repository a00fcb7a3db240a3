"""Each GPU metric of the other exporters beside ours, or why it cannot be had without the vendor's library.

``peers.json`` holds their names as their sources have them: ROCm/device-metrics-exporter at commit afd0fe81 (GPU part),
ROCm/omnistat at e93110f. The first pattern that matches a whole name decides.
"""

from __future__ import annotations

import json
import re
from importlib import resources

import msgspec

from rocsteady.metrics import gpu_errors as e
from rocsteady.metrics import gpu_sensors as s
from rocsteady.metrics import gpu_setup as u
from rocsteady.metrics import node as n
from rocsteady.metrics.declare import Metric

PROFILER = (
    "needs rocprofiler, which opens the device, takes counters from the application and can keep it from saving power"
)
DRIVER = "not in any kernel interface; the driver gives it to the vendor's library by ioctl only"
RATE = "a share over an interval: rate() of the counter"
SUM = "sum() over the blocks in the query; a ready sum would count twice"
FREE = "size minus used in the query"


class Ours(msgspec.Struct, frozen=True):
    """What we have for names that match; ``metric`` None: nothing, and ``note`` says why."""

    pattern: str
    metric: Metric | None
    note: str = ""


CLASS = 'class="corrected", "uncorrected" or "deferred", block='
ROWS = (
    Ours(r"gpu_nodes_total", n.GPUS), Ours(r"gpu_package_power|gpu_power_usage", s.POWER, 'kind="instant"'),
    Ours(r"gpu_average_package_power|rocm_average_socket_power_watts", s.POWER, 'kind="average" where the GPU has it'),
    Ours(r"rocm_.*power.*cap.*|rocm_power_cap_watts", s.POWER_LIMIT, 'kind="current"'),
    Ours(r"gpu_edge_temperature|rocm_temperature_(edge_)?celsius", s.TEMPERATURE, 'sensor="edge", "junction"'),
    Ours(r"gpu_junction_temperature", s.TEMPERATURE, 'sensor="junction"'),
    Ours(r"gpu_memory_temperature|rocm_temperature_memory_celsius", s.TEMPERATURE, 'sensor="memory"'),
    Ours(r"gpu_hbm_temperature", s.HBM_TEMPERATURE, "per stack, with the gradient"),
    Ours(r"gpu_gfx_activity|rocm_utilization_percentage", s.ACTIVITY, 'domain="gfx"'),
    Ours(r"gpu_umc_activity|rocm_vram_busy_percentage", s.ACTIVITY, 'domain="memory"'),
    Ours(r"gpu_mma_activity", s.ACTIVITY, 'domain="media"'),
    Ours(r"gpu_vcn_(activity|busy_instantaneous)", s.MEDIA_BUSY, 'kind="vcn"'),
    Ours(r"gpu_jpeg_(activity|busy_instantaneous)", s.MEDIA_BUSY, 'kind="jpeg"'),
    Ours(r"rocm_average_decoder_utilization_percentage", s.MEDIA_BUSY, 'avg() over kind="vcn"'),
    Ours(r"gpu_voltage|gpu_gfx_voltage|gpu_memory_voltage", s.VOLTAGE, "where the GPU has it"),
    Ours(r"gpu_energy_consumed|rocm_energy_joules", s.ENERGY), Ours(r"gpu_clock|rocm_[sm]clk_clock_mhz", s.CLOCK, "and per XCD"),
    Ours(r"gpu_m(in|ax)_clock", s.CLOCK_LIMIT), Ours(r"gpu_vram_max_bandwidth", s.MEMORY_BANDWIDTH),
    Ours(r"gpu_total_(vram|visible_vram|gtt)|rocm_vram_total_bytes", s.MEMORY_TOTAL),
    Ours(r"gpu_used_(vram|visible_vram|gtt)", s.MEMORY_USED),
    Ours(r"gpu_free_(vram|visible_vram|gtt)", s.MEMORY_USED, FREE),
    Ours(r"rocm_vram_used_percentage", s.MEMORY_USED, "divided by the size"),
    Ours(r"gpu_health", u.STATE, "four states, with reasons"), Ours(r"gpu_gfx_busy_instantaneous", s.XCD_BUSY),
    Ours(r"gpu_afid_errors", None, DRIVER + "; we count the same events by kind from the kernel log"),
    Ours(r"gpu_process_cu_occupancy|rocm_compute_unit_occupancy", u.PROCESS_UNITS, "per process; sum() for the GPU"),
    Ours(r"pcie_speed|pcie_max_speed", e.PCIE_SPEED, "and the width"),
    Ours(r"pcie_bandwidth", e.PCIE_BANDWIDTH), Ours(r"pcie_bidirectional_bandwidth", e.PCIE_TRAFFIC),
    Ours(r"pcie_replay_count", e.PCIE_REPLAY),
    Ours(r"pcie_(recovery|replay_rollover|nack_sent|nack_received)_count", e.PCIE_EVENTS),
    Ours(r"pcie_[rt]x", None, "declared there and never filled; pcie_bw is not in drivers of MI300 and sleeps a second"),
    Ours(r"gpu_ecc_(correct|uncorrect|deferred)_total", e.RAS, SUM),
    Ours(r"gpu_ecc_(correct|uncorrect|deferred)_(?P<block>\w+)", e.RAS, CLASS + '"{block}"'),
    Ours(r"rocm_ras_(?P<block>\w+)_(un)?correctable_count|rocm_ras_(?P<other>\w+)_deferred_count", e.RAS, CLASS + '"{block}"'),
    Ours(r"gpu_xgmi_nbr_\d_(nop|req|resp|beats)_tx|gpu_xgmi_nbr_\d_tx_thrput", None,
         "performance counters of the data fabric: need perf events as root; the bytes per link are there"),
    Ours(r"gpu_xgmi_link_[rt]x|rocm_xgmi_total_(read|write)_kilobytes", e.XGMI_TRAFFIC, "in bytes, per link"),
    Ours(r"gpu_violation_current_accumulated_counter", s.SAMPLES),
    Ours(r"gpu_violation_(processor_hot|ppt|socket_thermal|vr_thermal|hbm_thermal)_residency_accumulated", s.THROTTLE),
    Ours(r"gpu_violation_\w+_residency_percentage", s.THROTTLE, RATE),
    Ours(r"gpu_violation_\w+_accumulated", s.XCD_BELOW_LIMIT), Ours(r"gpu_violation_\w+_percentage", s.XCD_BELOW_LIMIT, RATE),
    Ours(r"rocm_num_gpus|omnistat_num_gpus", n.GPUS), Ours(r"rocm_version_info", u.INFO, "and firmware, VBIOS, module"),
    Ours(r"rocm_num_compute_units", u.COMPUTE_UNITS), Ours(r"gpu_prof_\w+|omnistat_(hardware|kernel)_\w+", None, PROFILER),
)  # fmt: skip


def peers() -> dict[str, list[str]]:
    """Names by exporter."""
    text = resources.files("rocsteady.metrics").joinpath("peers.json").read_text(encoding="utf-8")
    names: dict[str, list[str]] = json.loads(text)
    return names


def ours(name: str) -> Ours | None:
    """What we have for a name of theirs; None: nobody has looked at it."""
    for row in ROWS:
        match = re.fullmatch(row.pattern, name)
        if match:
            groups = {key: value for key, value in match.groupdict().items() if value}
            block = groups.get("block") or groups.get("other") or ""
            return msgspec.structs.replace(row, note=row.note.replace("{block}", block))
    return None


def comparison_page() -> str:
    """docs/metrics-comparison.md."""
    lines = [
        "# GPU metrics of other exporters beside ours", "",
        "Generated from `src/rocsteady/metrics/comparison.py`; do not edit. Names are those of "
        "ROCm/device-metrics-exporter (commit afd0fe81, GPU part) and ROCm/omnistat (commit e93110f).",
    ]  # fmt: skip
    for peer, names in peers().items():
        found = [(name, ours(name)) for name in names]
        have = sum(1 for _, row in found if row is not None and row.metric is not None)
        lines += [
            "",
            f"## {peer}: {len(names)} names, {have} of them here",
            "",
            "| theirs | ours | note |",
            "|---|---|---|",
        ]
        for name, row in found:
            metric = f"`{row.metric.full_name}`" if row is not None and row.metric is not None else "none"
            lines.append(f"| `{name}` | {metric} | {row.note if row is not None else 'not looked at'} |")
    return "\n".join(lines) + "\n"
