"""Binary tables of a GPU, built from the layouts that ``facts`` decodes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from rocsteady.facts.gpu_metrics_layout import HEADER, ONES, SIZES, Layout, StreamField, layouts
from rocsteady.lab.shapes import Shape
from rocsteady.lab.state import GpuState
from rocsteady.model import InputError

STREAM = "1.9 with temperatures per stack"
ENERGY_STEP = 2.0**-16
NANO = 1_000_000_000
FIRMWARE_TICK = 100_000_000
"""firmware_timestamp counts 10 ns."""
LINK_UP, LINK_MISSING = 1, 2
RESIDENCIES = ("prochot", "ppt", "socket_thm", "vr_thm", "hbm_thm")
KNOWN_300 = ("1.4", "1.5", "1.6", "1.7", "1.8", "1.9")


def encode_fixed(layout: Layout, version: str, values: Mapping[str, Any]) -> bytes:
    """A fixed table: what ``values`` does not name stays all ones, as the driver leaves it."""
    table = bytearray(b"\xff" * layout.size)
    _fill(table, layout, 0, values)
    major, minor = (int(part) for part in version.split("."))
    HEADER.pack_into(table, 0, layout.size, major, minor)
    return bytes(table)


def _fill(table: bytearray, layout: Layout, start: int, values: Mapping[str, Any]) -> None:
    for field in layout.fields:
        if field.name not in values:
            continue
        value = values[field.name]
        if field.nested:
            inner = layouts().nested[field.code]
            for index, entry in enumerate(value[: field.count]):
                _fill(table, inner, start + field.offset + index * inner.size, entry)
            continue
        _pack(table, start + field.offset, field.code, field.count, value)


def _pack(table: bytearray, place: int, code: str, count: int, value: Any) -> None:
    numbers = list(value) if isinstance(value, (list, tuple)) else [value]
    numbers = (numbers + [None] * count)[:count]
    mask = ONES[code] if code.isupper() else (1 << 8 * SIZES[code]) - 1
    plain = [ONES[code] if n is None else int(n) & mask for n in numbers]
    struct.pack_into(f"<{count}{code}", table, place, *plain)


def encode_stream(fields: tuple[StreamField, ...], version: str, values: Mapping[str, Any]) -> bytes:
    """A self-describing table."""
    body = bytearray()
    for field in fields:
        body += struct.pack("<Q", field.encoding)
        place = len(body)
        body += b"\xff" * (SIZES[field.code] * field.count)
        if field.name in values:
            _pack(body, place, field.code, field.count, values[field.name])
    major, minor = (int(part) for part in version.split("."))
    size = HEADER.size + 4 + len(body)
    return HEADER.pack(size, major, minor) + struct.pack("<i", len(fields)) + bytes(body)


def metrics_version(shape: Shape, wanted: str | None) -> str | None:
    """The version that a shape's tables have.

    Raises:
        InputError: no driver of this GPU emits the wanted version.
    """
    if shape.part is None:
        return None
    possible = KNOWN_300 if shape.part.instinct_300 else (shape.part.metrics,)
    if wanted is not None and wanted not in possible:
        raise InputError(f"gpu_metrics {wanted}: drivers of {shape.part.market_name} emit {', '.join(possible)}")
    return wanted or shape.part.metrics


def gpu_metrics(shape: Shape, state: GpuState, version: str) -> bytes:
    """The table of one GPU."""
    part = shape.part
    assert part is not None
    values = _values_300(shape, state) if part.instinct_300 else _values_13(shape, state)
    if version == "1.9":
        return encode_stream(layouts().streams["gpu_metrics"][STREAM], version, values)
    return encode_fixed(layouts().tables["gpu_metrics"][version], version, values)


def partition_metrics(shape: Shape, state: GpuState, partition: int) -> bytes:
    """The table of one partition (drivers that emit gpu_metrics 1.9)."""
    values = _partition(shape, state, partition)
    values |= {"current_gfxclk": [state.sclk] * (8 // shape.partitions), "current_socclk": [state.socclk],
               "current_vclk0": [29], "current_dclk0": [22], "current_uclk": state.mclk}  # fmt: skip
    return encode_stream(layouts().streams["partition_metrics"]["1.1"], "1.1", values)


def _values_13(shape: Shape, state: GpuState) -> dict[str, Any]:
    """v1_3: MI200 fills stacks, activity counters and the firmware time; Navi voltages and the fan."""
    part = shape.part
    assert part is not None
    instinct = part.hbm_stacks > 0
    values: dict[str, Any] = {
        "temperature_edge": state.edge, "temperature_hotspot": state.junction,
        "temperature_mem": state.memory_temperature, "temperature_vrgfx": state.edge - 2,
        "temperature_vrsoc": state.edge - 4, "temperature_vrmem": state.edge - 3,
        "average_gfx_activity": state.busy, "average_umc_activity": state.mem_busy, "average_mm_activity": 0,
        "average_socket_power": state.power if state.primary else 0, "system_clock_counter": state.uptime * NANO,
        "average_gfxclk_frequency": state.sclk, "average_socclk_frequency": state.socclk,
        "average_uclk_frequency": state.mclk, "average_vclk0_frequency": 0, "average_dclk0_frequency": 0,
        "current_gfxclk": state.sclk, "current_socclk": state.socclk, "current_uclk": state.mclk,
        "throttle_status": 0, "current_fan_speed": state.fan if part.fan else 0, "pcie_link_width": state.pcie_width,
        "pcie_link_speed": round((state.pcie_speed or part.pcie_speed) * 10),
        "indep_throttle_status": sum(1 << layouts().throttle[name] for name in state.throttled),
    }  # fmt: skip
    if instinct:
        values |= {
            "energy_accumulator": state.energy / ENERGY_STEP, "gfx_activity_acc": state.activity // 1000,
            "mem_activity_acc": state.memory_activity // 1000, "temperature_hbm": state.hbm,
            "firmware_timestamp": state.uptime * FIRMWARE_TICK,
        }  # fmt: skip
    else:
        values |= {"energy_accumulator": 0, "voltage_soc": 890, "voltage_gfx": 906, "voltage_mem": 1350}
    return values


def _values_300(shape: Shape, state: GpuState) -> dict[str, Any]:
    """All versions of the MI300 family: each takes the fields that it has."""
    part = shape.part
    assert part is not None
    links = len(state.xgmi_read)
    count = shape.partitions
    whole = {"gfx_busy_inst": _busy(state, part.xcds), "jpeg_busy": [0] * 32, "vcn_busy": [0] * 4,
             "gfx_busy_acc": _activity(state, part.xcds)}  # fmt: skip
    below = {kind: state.below_limit.get(kind, [0] * 8) for kind in ("ppt", "thm", "total", "low")}
    residency = {f"{kind}_residency_acc": state.residency.get(kind, 0) for kind in RESIDENCIES}
    return {
        "temperature_hotspot": state.junction, "temperature_mem": state.memory_temperature,
        "temperature_vrsoc": state.edge + 2, "curr_socket_power": state.power, "average_gfx_activity": state.busy,
        "average_umc_activity": state.mem_busy, "mem_max_bandwidth": 5300, "vcn_activity": [0] * 4,
        "jpeg_activity": [0] * 32, "energy_accumulator": state.energy / ENERGY_STEP,
        "system_clock_counter": state.uptime * NANO, "accumulation_counter": state.accumulated,
        **residency, "throttle_status": 0, "gfxclk_lock_status": 0, "pcie_link_width": state.pcie_width,
        "pcie_link_speed": round((state.pcie_speed or part.pcie_speed) * 10), "xgmi_link_width": 16,
        "xgmi_link_speed": 32, "gfx_activity_acc": state.activity // 1000,
        "mem_activity_acc": state.memory_activity // 1000,
        "pcie_bandwidth_acc": state.accumulated // 64 if state.pcie_traffic is None else state.pcie_traffic,
        "pcie_bandwidth_inst": state.pcie_bandwidth, "pcie_l0_to_recov_count_acc": state.pcie_recoveries,
        "pcie_replay_count_acc": state.pcie_replays, "pcie_replay_rover_count_acc": 0,
        "pcie_nak_sent_count_acc": state.pcie_naks, "pcie_nak_rcvd_count_acc": state.pcie_naks_received,
        "xgmi_read_data_acc": state.xgmi_read, "xgmi_write_data_acc": state.xgmi_write,
        "xgmi_link_status": (state.link_status or [LINK_UP] * links) + [LINK_MISSING] * (8 - links),
        "firmware_timestamp": state.uptime * FIRMWARE_TICK, "current_gfxclk": [state.sclk] * part.xcds,
        "current_socclk": [state.socclk] * 4, "current_vclk0": [29] * 4, "current_dclk0": [22] * 4,
        "current_uclk": state.mclk, "num_partition": count, "pcie_lc_perf_other_end_recovery": 0,
        **whole,
        "gfx_below_host_limit_acc": below["total"], "gfx_below_host_limit_ppt_acc": below["ppt"],
        "gfx_below_host_limit_thm_acc": below["thm"], "gfx_low_utilization_acc": below["low"],
        "gfx_below_host_limit_total_acc": below["total"], "temperature_hbm": state.hbm,
        "temperature_aid": [state.edge + i % 2 for i in range(4)],
        "temperature_xcd": [state.junction - i % 3 for i in range(part.xcds)],
        "xcp_stats": [_partition(shape, state, number) for number in range(count)],
    }  # fmt: skip


def _busy(state: GpuState, xcds: int) -> list[int]:
    return state.xcd_busy or [state.busy] * xcds


def _activity(state: GpuState, xcds: int) -> list[int]:
    return state.xcd_activity or [state.activity] * xcds


def _partition(shape: Shape, state: GpuState, partition: int) -> dict[str, Any]:
    """XCDs of one partition; in CPX only the first partition of a GPU works."""
    size = 8 // shape.partitions
    active = shape.partitions == 1 or partition == 0
    own = slice(partition * size, partition * size + size)
    below = {kind: state.below_limit.get(kind, [0] * 8)[own] for kind in ("ppt", "thm", "total", "low")}
    return {
        "gfx_busy_inst": _busy(state, 8)[own] if active else [0] * size, "jpeg_busy": [0] * 8, "vcn_busy": [0],
        "gfx_busy_acc": _activity(state, 8)[own] if active else [0] * size, "gfx_below_host_limit_acc": below["total"],
        "gfx_below_host_limit_ppt_acc": below["ppt"], "gfx_below_host_limit_thm_acc": below["thm"],
        "gfx_low_utilization_acc": below["low"], "gfx_below_host_limit_total_acc": below["total"],
    }  # fmt: skip
