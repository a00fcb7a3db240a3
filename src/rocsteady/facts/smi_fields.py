"""Which fact a field of rocm-smi or amd-smi is. Values come as text with their unit; ``N/A`` is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes

UNKNOWN = re.compile(
    r"^(?:N/A.*|NA|unsupported|not supported.*|none|unknown|-|)$|could not|unable to|not available", re.IGNORECASE
)
NUMBER = re.compile(r"^\(?(?P<number>-?\d+(?:\.\d+)?)")

# Kinds of values: n number, i integer, b bytes, t text, h hexadecimal id, g PCIe speed, u unique id as sysfs writes it.
ROCM_SMI: dict[str, tuple[str, str]] = {
    "gpu id": ("device", "h"), "device id": ("device", "h"), "guid": ("gpu_id", "i"), "node id": ("kfd_node_id", "i"),
    "device name": ("name", "t"), "card series": ("name", "t"), "gfx version": ("gfx", "t"), "subsystem id": ("subsystem_device", "h"),
    "unique id": ("unique_id", "u"), "vbios version": ("vbios", "t"), "serial number": ("serial", "s"),
    "temperature (sensor edge) (c)": ("sensors.edge", "n"), "temperature (sensor junction) (c)": ("sensors.junction", "n"),
    "temperature (sensor memory) (c)": ("sensors.mem", "n"), "performance level": ("performance_level", "t"),
    "average graphics package power (w)": ("sensors.power", "n"), "current socket graphics package power (w)": ("sensors.power", "n"),
    "max graphics package power (w)": ("sensors.power_cap", "n"), "gpu use (%)": ("sensors.busy_percent", "n"),
    "fan speed (%)": ("sensors.fan_percent", "n"), "fan rpm": ("sensors.fan", "i"), "pcie replay count": ("pcie_replays", "i"),
    "pci bus": ("bdf", "t"), "voltage (mv)": ("sensors.voltage_mv", "n"), "gpu memory vendor": ("memory.vendor", "t"),
    "vram total memory (b)": ("memory.vram_total", "i"), "vram total used memory (b)": ("memory.vram_used", "i"),
    "vis_vram total memory (b)": ("memory.visible_total", "i"), "vis_vram total used memory (b)": ("memory.visible_used", "i"),
    "gtt total memory (b)": ("memory.gtt_total", "i"), "gtt total used memory (b)": ("memory.gtt_used", "i"),
    "compute partition": ("compute_mode", "t"), "memory partition": ("memory_mode", "t"),
    "sclk clock speed": ("sensors.sclk", "n"), "mclk clock speed": ("sensors.mclk", "n"), "(topology) numa node": ("numa_node", "i"),
}  # fmt: skip
"""Names as ``rocm-smi`` prints them in lists and in JSON, lower case."""

AMD_SMI: dict[str, tuple[str, str]] = {
    "bdf": ("bdf", "t"), "gpu_bdf": ("bdf", "t"), "bus/bdf": ("bdf", "t"), "kfd_id": ("gpu_id", "i"), "node_id": ("kfd_node_id", "i"),
    "asic/market_name": ("name", "t"), "asic/device_id": ("device", "h"), "asic/target_graphics_version": ("gfx", "t"),
    "asic/num_compute_units": ("cu_count", "i"), "asic/subsystem_id": ("subsystem_device", "h"),
    "asic/asic_serial": ("unique_id", "u"), "vbios/part_number": ("vbios", "t"), "ifwi/part_number": ("vbios", "t"),
    "board/product_name": ("product_name", "t"), "board/product_serial": ("serial", "s"), "bus/max_pcie_width": ("link.max_width", "i"),
    "bus/max_pcie_speed": ("link.max_speed", "g"), "pcie/width": ("link.width", "i"), "pcie/speed": ("link.speed", "g"),
    "pcie/replay_count": ("pcie_replays", "i"), "vram/size": ("memory.vram_total", "b"), "vram/vendor": ("memory.vendor", "t"),
    "mem_usage/total_vram": ("memory.vram_total", "b"), "mem_usage/used_vram": ("memory.vram_used", "b"),
    "mem_usage/total_visible_vram": ("memory.visible_total", "b"), "mem_usage/used_visible_vram": ("memory.visible_used", "b"),
    "mem_usage/total_gtt": ("memory.gtt_total", "b"), "mem_usage/used_gtt": ("memory.gtt_used", "b"),
    "limit/max_power": ("sensors.power_cap_max", "n"), "limit/socket_power": ("sensors.power_cap", "n"),
    "limit/power_cap": ("sensors.power_cap", "n"), "power/socket_power": ("sensors.power", "n"),
    "temperature/edge": ("sensors.edge", "n"), "temperature/hotspot": ("sensors.junction", "n"), "temperature/mem": ("sensors.mem", "n"),
    "clock/gfx_0/clk": ("sensors.sclk", "n"), "clock/gfx_0/max_clk": ("sensors.sclk_max", "n"), "clock/mem_0/clk": ("sensors.mclk", "n"),
    "clock/mem_0/max_clk": ("sensors.mclk_max", "n"), "usage/gfx_activity": ("sensors.busy_percent", "n"),
    "power/throttle_status": ("sensors.throttled", "throttle"), "ecc/total_correctable_count": ("ras[all].ce", "i"),
    "ecc/total_uncorrectable_count": ("ras[all].ue", "i"), "ecc/total_deferred_count": ("ras[all].de", "i"),
    "partition/compute_partition": ("compute_mode", "t"), "partition/memory_partition": ("memory_mode", "t"),
    "numa/node": ("numa_node", "i"), "fan/rpm": ("sensors.fan", "i"), "perf_level": ("performance_level", "level"),
    "target_graphics_version": ("gfx", "t"), "market_name": ("name", "t"),
}  # fmt: skip
"""Names as ``amd-smi`` nests them, lower case, joined by /; the last two are those of its CSV."""
ECC_BLOCK = re.compile(
    r"^ecc(?:_blocks)?/(?:blocks/)?(?P<block>[a-z]\w*)/(?P<kind>correctable|uncorrectable|deferred)_count$"
)
_RAS = {"correctable": "ce", "uncorrectable": "ue", "deferred": "de"}


def field_rows(section: Section, gpu: str, name: str, text: str, index: int, tool: str) -> Iterator[Row]:
    """The fact of one field, if it is one that we keep and its value is known.

    ``gpu`` is the key of the GPU (``smi:0``), ``tool`` rocm-smi or amd-smi.
    """
    name = name.strip().rstrip(":").lower()
    text = text.strip()
    if UNKNOWN.search(text):
        return
    if tool == "rocm-smi" and (match := re.match(r"(?P<block>[a-z][\w ]*?) firmware version$", name)):
        if text not in ("0", "0x00000000"):  # a block that this GPU does not have
            yield section.fact(f"gpus[{gpu}].firmware[{match['block']}]", text, index)
        return
    if tool == "amd-smi" and (match := ECC_BLOCK.match(name)):
        if text.isdigit():
            yield section.fact(f"gpus[{gpu}].ras[{match['block']}].{_RAS[match['kind']]}", int(text), index)
        return
    path, kind = (ROCM_SMI if tool == "rocm-smi" else AMD_SMI).get(name, ("", ""))
    value = value_of(text, kind) if path else None
    if value is not None:
        yield section.fact(f"gpus[{gpu}].{path}", value, index)


def value_of(text: str, kind: str) -> str | int | float | bool | None:
    """A value of one kind; None where the text is none."""
    match = NUMBER.match(text)
    if kind == "t":
        return text.lower() if re.fullmatch(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d", text) else text
    if kind == "s":
        return text if re.fullmatch(r"[\w-]{4,}", text) else None
    if kind == "h":
        found = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{3,8})", text)
        return found[1].lower() if found else None
    if kind == "u":
        found = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{8,16})", text)
        return found[1].lower().rjust(16, "0") if found else None
    if kind == "b":
        return size_in_bytes(text)
    if kind == "throttle":
        return {"THROTTLED": True, "UNTHROTTLED": False}.get(text.upper())
    if kind == "level":
        return text.lower().removeprefix("amdsmi_dev_perf_level_")
    if match is None:
        return None
    if kind == "i":
        return int(float(match["number"]))
    if kind == "g":
        return float(match["number"]) if "GT" in text or text == match["number"] else None
    return float(match["number"])
