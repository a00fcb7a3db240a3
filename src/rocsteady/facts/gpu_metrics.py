"""The binary tables of one GPU: gpu_metrics, partition metrics, board temperatures, the head of pm_metrics.

Source: /sys/class/drm/card*/device/{gpu_metrics, xcp/xcp_metrics, board/gpuboard_temp, board/baseboard_temp,
        pm_metrics}
Docs:   https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/include/kgd_pp_interface.h
The version depends on GPU and driver. A version that is not known is refused, never guessed. Layouts: see
``gpu_metrics_layout``. In a partition mode every card of a socket shows the socket's table: do not add them up.
"""

from __future__ import annotations

import struct
from functools import partial

import msgspec

from rocsteady.facts.gpu_metrics_layout import HEADER, ONES, SIZES, Layout, Table, Unit, layouts
from rocsteady.facts.parse_file import Malformed, parse_bytes
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

Value = int | tuple[int | None, ...] | None
STREAM_VERSIONS = {
    ("gpu_metrics", "1.9"),
    ("partition_metrics", "1.1"),
    ("gpuboard_temp", "1.1"),
    ("baseboard_temp", "1.1"),
}
FIRST_ATTRIBUTE = 8
MOST_ATTRIBUTES = 1024
"""An attribute id has ten bits."""
PM_HEADER = struct.Struct("<HHIII")
SENSOR_SHIFT, SENSOR_MASK = 24, 0xFFFFFF
FILES: dict[Table, str] = {
    "gpu_metrics": "gpu_metrics", "partition_metrics": "xcp/xcp_metrics",
    "gpuboard_temp": "board/gpuboard_temp", "baseboard_temp": "board/baseboard_temp",
}  # fmt: skip
UNIT_NOT_TRUSTED = ("pcie_bandwidth_acc", "pcie_bandwidth_inst")
"""The stream tags them as percent or not at all, the kernel comment says GB/s, AMD's tools print Mb/s."""
ENERGY_UNIT = Unit("joule", 2.0**-16, "counter")
"""Of energy_accumulator, which the stream leaves untagged."""
XGMI_SPEED_UNIT = Unit("bits_per_second", 1e9, "gauge")
"""Per lane; the stream tags it with its PCIe speed unit."""


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """One decoded table.

    ``values``: raw numbers by field name, arrays as tuples; None = not supplied. ``partitions``: the same per compute
    partition (gpu_metrics 1.6 to 1.8 only). ``units``: what a raw number means. ``skipped``: attributes of a stream
    that this version does not know.
    """

    table: str
    version: str
    size: int
    values: dict[str, Value]
    units: dict[str, Unit]
    partitions: tuple[dict[str, Value], ...] = ()
    skipped: tuple[int, ...] = ()

    def raw(self, name: str) -> int | None:
        """One number; None where it is not supplied, not in this version, or an array."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def array(self, name: str) -> tuple[int | None, ...]:
        """An array; a single number is an array of one; empty where the field is not in this version."""
        value = self.values.get(name)
        return value if isinstance(value, tuple) else () if value is None else (value,)

    def base(self, name: str) -> float | None:
        """One number in its base unit (``units[name].name``)."""
        return self._scaled(name, self.raw(name))

    def base_array(self, name: str) -> tuple[float | None, ...]:
        """An array in its base unit."""
        return tuple(self._scaled(name, value) for value in self.array(name))

    def _scaled(self, name: str, value: int | None) -> float | None:
        unit = self.units.get(name)
        if value is None or unit is None or unit.factor is None:
            return value
        return value * unit.factor


class PmHeader(msgspec.Struct, frozen=True):
    """Start of pm_metrics; the rest is private to the firmware."""

    size: int
    mp1_version: int
    firmware_version: int
    table_version: int


def decode(table: Table, data: bytes) -> Metrics | Malformed:
    """Decode one table; says why not when its version is unknown, it is cut short or its size is not the version's."""
    if len(data) < HEADER.size:
        return Malformed(f"{len(data)} bytes, a header of {HEADER.size} was wanted")
    size, major, minor = HEADER.unpack_from(data)
    version = f"{major}.{minor}"
    if size == 0 or size == ONES["H"]:
        return Malformed("the header was not written")
    known = layouts().tables[table].get(version)
    if known is None and (table, version) not in STREAM_VERSIONS:
        return Malformed(f"version {version} of {table} is not known")
    if len(data) < size:
        return Malformed(f"cut short: {len(data)} bytes of {size}")
    if known is None:
        return _decode_stream(table, version, data[:size])
    if size != known.size:
        return Malformed(f"version {version} has {known.size} bytes, the header says {size}")
    partitions: tuple[dict[str, Value], ...] = ()
    for field in known.fields:
        if field.nested:
            inner = layouts().nested[field.code]
            partitions = tuple(_values(inner, data, field.offset + i * inner.size) for i in range(field.count))
    units = {f.name: f.unit for f in known.fields if not f.nested}
    for field in known.fields:
        if field.nested:
            units |= {f.name: f.unit for f in layouts().nested[field.code].fields}
    return Metrics(
        table=table, version=version, size=size, values=_values(known, data, 0), units=units, partitions=partitions
    )


def _values(layout: Layout, data: bytes, start: int) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for field, reader in layout.flat:
        numbers = reader.unpack_from(data, start + field.offset)
        values[field.name] = _supplied(numbers, field.code, field.count)
    return values


def _supplied(numbers: tuple[int, ...], code: str, count: int) -> Value:
    ones = ONES[code]
    if count == 1:
        return None if numbers[0] == ones else numbers[0]
    return tuple(None if n == ones else n for n in numbers)


def _decode_stream(table: Table, version: str, data: bytes) -> Metrics | Malformed:
    if len(data) < FIRST_ATTRIBUTE:
        return Malformed(f"cut short: {len(data)} bytes of a stream")
    attributes = layouts().attributes
    (count,) = struct.unpack_from("<i", data, HEADER.size)
    if not 0 < count <= MOST_ATTRIBUTES:
        return Malformed(f"{count} attributes")
    shift, mask = attributes.shifts, attributes.masks
    values: dict[str, Value] = {}
    units: dict[str, Unit] = {}
    skipped: list[int] = []
    place = FIRST_ATTRIBUTE
    for _ in range(count):
        if place + 8 > len(data):
            return Malformed(f"cut short inside the attributes, at byte {place}")
        (word,) = struct.unpack_from("<Q", data, place)
        part = {key: (word & mask[key]) >> shift[key] for key in mask}
        code = attributes.types.get(part["type"])
        if code is None:
            return Malformed(f"attribute type {part['type']} is not known")
        place += 8
        length = SIZES[code] * part["instances"]
        if place + length > len(data):
            return Malformed(f"cut short inside the attributes, at byte {place}")
        name = attributes.ids.get(part["id"])
        if name is None:
            skipped.append(part["id"])
        elif part["instances"]:
            numbers = struct.unpack_from(f"<{part['instances']}{code}", data, place)
            values[name] = _supplied(numbers, code, part["instances"])
            units[name] = _stream_unit(name, part["unit"])
        place += length
    return Metrics(table=table, version=version, size=len(data), values=values, units=units, skipped=tuple(skipped))


def _stream_unit(name: str, tag: int) -> Unit:
    attributes = layouts().attributes
    if name == "energy_accumulator":
        return ENERGY_UNIT
    if name == "xgmi_link_speed":
        return XGMI_SPEED_UNIT
    if name in UNIT_NOT_TRUSTED:
        return Unit("GB/s", 1, "counter" if name.endswith("_acc") else "gauge")
    base, factor = attributes.units.get(tag, (None, 1))
    return Unit(base, factor, attributes.kinds.get(name, "gauge"))


def board_temperatures(metrics: Metrics) -> dict[str, int]:
    """Sensor name -> degrees Celsius, of a board temperature table of either version."""
    found: dict[str, int] = {}
    sensors = layouts().sensors
    for field, value in metrics.values.items():
        numbers = value if isinstance(value, tuple) else (value,)
        unit = metrics.units[field]
        for number in numbers:
            if number is None:
                continue
            if unit.kind == "encoded":
                index, names = number >> SENSOR_SHIFT, sensors[field]
                name = names[index] if index < len(names) else f"{field}_{index}"
                found[name.lower()] = number & SENSOR_MASK
            elif unit.name == "celsius":
                found[field] = number
    return found


def throttle_reasons(metrics: Metrics) -> tuple[str, ...] | None:
    """Names of the limits that hold now, from the ASIC independent mask (1.3, 2.2 to 2.4); None without one."""
    mask = metrics.raw("indep_throttle_status")
    if mask is None:
        return None
    return tuple(name for name, bit in layouts().throttle.items() if mask >> bit & 1)


def parse_pm_header(data: bytes) -> PmHeader | Malformed:
    """Head of pm_metrics."""
    if len(data) < PM_HEADER.size:
        return Malformed(f"{len(data)} bytes, a header of {PM_HEADER.size} was wanted")
    size, _, mp1, firmware, table = PM_HEADER.unpack_from(data)
    return PmHeader(size, mp1, firmware, table)


def read_metrics(fs: HostFS, device: str, table: Table = "gpu_metrics") -> Metrics | Gap:
    """One table of one card. ``device``: ``sys/class/drm/card0/device``."""
    return parse_bytes(fs, f"{device}/{FILES[table]}", partial(decode, table))


def read_pm_header(fs: HostFS, device: str) -> PmHeader | Gap:
    """Head of pm_metrics of one card."""
    return parse_bytes(fs, f"{device}/pm_metrics", parse_pm_header)
