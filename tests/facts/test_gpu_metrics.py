"""Binary tables: versions, what is not supplied, what is cut short, what nobody knows."""

from __future__ import annotations

import struct

import pytest

from rocsteady.facts.gpu_metrics import (
    Metrics,
    PmHeader,
    board_temperatures,
    decode,
    parse_pm_header,
    read_metrics,
    throttle_reasons,
)
from rocsteady.facts.gpu_metrics_layout import Table, layouts
from rocsteady.facts.parse_file import Malformed
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model import Gap

FIXED: list[tuple[Table, str]] = [(t, v) for t, versions in layouts().tables.items() for v in versions]  # type: ignore[misc]


def empty(table: Table, version: str) -> bytearray:
    """A table as the driver starts it: a header and ones."""
    size = layouts().tables[table][version].size
    data = bytearray(b"\xff" * size)
    major, minor = map(int, version.split("."))
    struct.pack_into("<HBB", data, 0, size, major, minor)
    return data


def stream(*attributes: tuple[int, int, int, bytes], count: int | None = None) -> bytes:
    """(id, type, instances, values) as gpu_metrics 1.9."""
    body = b"".join(struct.pack("<Q", kind << 20 | ident << 10 | n) + raw for ident, kind, n, raw in attributes)
    size = 8 + len(body)
    return struct.pack("<HBBi", size, 1, 9, len(attributes) if count is None else count) + body


@pytest.mark.parametrize(("table", "version"), FIXED)
def test_what_no_driver_wrote_is_unknown(table: Table, version: str) -> None:
    metrics = decode(table, bytes(empty(table, version)))
    assert isinstance(metrics, Metrics) and metrics.version == version
    for values in (metrics.values, *metrics.partitions):
        for value in values.values():
            assert value is None or set(value) == {None}  # type: ignore[arg-type]


@pytest.mark.parametrize(("table", "version"), FIXED)
def test_cut_short(table: Table, version: str) -> None:
    data = bytes(empty(table, version))
    assert decode(table, data[:-1]) == Malformed(f"cut short: {len(data) - 1} bytes of {len(data)}")
    assert isinstance(decode(table, data + b"\0" * 4000), Metrics)


def test_values_in_base_units() -> None:
    data = empty("gpu_metrics", "1.3")
    struct.pack_into("<HHH", data, 4, 56, 59, 54)
    struct.pack_into("<Q", data, 24, 65536)
    metrics = decode("gpu_metrics", bytes(data))
    assert isinstance(metrics, Metrics)
    assert [metrics.base(n) for n in ("temperature_edge", "temperature_hotspot", "temperature_mem")] == [56, 59, 54]
    assert metrics.base("energy_accumulator") == 1.0 and metrics.units["energy_accumulator"].name == "joule"
    assert metrics.base("temperature_vrgfx") is None and metrics.base("no_such_field") is None


def test_unknown_version_and_wrong_size_are_refused() -> None:
    assert decode("gpu_metrics", struct.pack("<HBB", 8, 1, 42) + b"\0" * 8) == Malformed(
        "version 1.42 of gpu_metrics is not known"
    )
    answer = decode("gpu_metrics", struct.pack("<HBB", 100, 1, 3) + b"\0" * 200)
    assert answer == Malformed("version 1.3 has 120 bytes, the header says 100")
    assert decode("gpu_metrics", b"\0" * 4096) == Malformed("the header was not written")
    assert decode("gpu_metrics", b"\xff" * 120) == Malformed("the header was not written")
    assert decode("gpu_metrics", b"") == Malformed("0 bytes, a header of 4 was wanted")


def test_stream_skips_what_it_does_not_know() -> None:
    data = stream((0, 2, 1, b"\x40\x00"), (1000, 2, 2, b"\1\0\2\0"), (48, 2, 2, b"\x30\x00\xff\xff"))
    metrics = decode("gpu_metrics", data)
    assert isinstance(metrics, Metrics)
    assert metrics.values == {"temperature_hotspot": 64, "temperature_hbm": (48, None)} and metrics.skipped == (1000,)


@pytest.mark.parametrize("count", [-1, 0, 5, 2000])
def test_stream_with_a_wrong_count(count: int) -> None:
    assert isinstance(decode("gpu_metrics", stream((0, 2, 1, b"\x40\x00"), count=count)), Malformed)


def test_stream_that_claims_more_values_than_there_are() -> None:
    assert isinstance(decode("gpu_metrics", stream((0, 2, 1023, b"\x40\x00"))), Malformed)


def test_throttle_reasons() -> None:
    data = empty("gpu_metrics", "1.3")
    assert throttle_reasons(decode("gpu_metrics", bytes(data))) is None  # type: ignore[arg-type]
    offset = next(f.offset for f in layouts().tables["gpu_metrics"]["1.3"].fields if f.name == "indep_throttle_status")
    struct.pack_into("<Q", data, offset, 1 << 36 | 1)
    assert throttle_reasons(decode("gpu_metrics", bytes(data))) == ("PPT0", "TEMP_HOTSPOT")  # type: ignore[arg-type]


def test_board_temperatures() -> None:
    data = empty("gpuboard_temp", "1.0")
    struct.pack_into("<II", data, 16, 61, 1 << 24 | 55)
    metrics = decode("gpuboard_temp", bytes(data))
    assert isinstance(metrics, Metrics)
    assert board_temperatures(metrics) == {"retimer_x": 61, "oam_x_ibc": 55}


def test_pm_header() -> None:
    assert parse_pm_header(struct.pack("<HHIII", 900, 0, 0x0D000600, 0x00557300, 9)) == PmHeader(
        900, 0x0D000600, 0x00557300, 9
    )
    assert isinstance(parse_pm_header(b"\0" * 15), Malformed)


def test_a_gap_says_which_file() -> None:
    device = "sys/class/drm/card0/device"
    fs = HostFS(MemoryStore({f"{device}/gpu_metrics": b"\x78\x00\x01\x03"}), live=False)
    assert read_metrics(fs, device) == Gap(f"{device}/gpu_metrics", "malformed: cut short: 4 bytes of 120")
    assert read_metrics(HostFS(MemoryStore({}), live=False), device) == Gap(f"{device}/gpu_metrics", "absent")
