"""Whatever a file holds, a parser answers with a value or ``Malformed``; nothing is raised, nothing takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocsteady.facts import (
    cgroup,
    device_nodes,
    dmi,
    dpm,
    drm_device,
    drm_fdinfo,
    infiniband,
    kernel,
    kfd_topology,
    limits,
    meminfo,
    modules,
    mounts,
    numa,
    os_release,
    packages,
    parse_file,
    pci,
    pressure,
    ras,
    retired_pages,
    rocm_install,
    xgmi,
)
from rocsteady.facts.gpu_metrics import decode, parse_pm_header
from rocsteady.facts.gpu_metrics_layout import layouts
from rocsteady.facts.pci_config import parse_config
from rocsteady.facts.tree import read_tree
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model import Fact, Gap

TEXT_PARSERS: list[Callable[[str], Any]] = [
    parse_file.parse_text, parse_file.parse_int, parse_file.parse_hex, parse_file.parse_float,
    parse_file.parse_numbers, pci.parse_link_speed, pci.parse_resource, pci.parse_aer, ras.parse_counts,
    ras.parse_mask, ras.parse_events, retired_pages.parse_retired_pages, xgmi.parse_ports, xgmi.parse_per_node,
    dpm.parse_clock_levels, dpm.parse_pcie_levels, dpm.parse_policy, dpm.parse_power_profile, dpm.parse_features,
    dpm.parse_overdrive, drm_device.parse_uevent, drm_device.parse_board_info, drm_device.parse_words,
    drm_device.parse_modes, drm_device.parse_isolation, kfd_topology.parse_link, modules.parse_modules,
    partial(modules.parse_modprobe, "x"), device_nodes.parse_groups, partial(device_nodes.parse_listing, "x"),
    os_release.parse_os_release, kernel.parse_version, kernel.parse_command_line, kernel.parse_lockdown,
    meminfo.parse_meminfo, meminfo.parse_bracketed, numa.parse_cpu_list, numa.parse_node_memory,
    numa.parse_distances, limits.parse_limits, limits.parse_identity, cgroup.parse_runtime, cgroup.parse_limit,
    mounts.parse_mounts, pressure.parse_pressure, dmi.parse_cpuinfo, rocm_install.parse_rocm_version,
    infiniband.parse_state, infiniband.parse_rate, drm_fdinfo.parse_fdinfo, lambda text: packages.parse_dpkg(text.split("\n")),
    lambda text: packages.parse_installed_debs(text.split("\n")),
    lambda text: packages.parse_installed_rpms(text.split("\n")),
]  # fmt: skip
SAMPLES = (
    "1: 31Mhz *\n", "2: 16.0GT/s, x16 619Mhz *", "ue: 0\nce: 3\nde: 1", "01:02 ->  02:05", "key 12\n",
    "0x0000060000000000 0x0000062fffffffff 0x000000000014220c", "0x00000001 : 0x00001000 : R", "[none] integrity",
    "amdgpu 19529728 12 - Live 0x0 (OE)", "options amdgpu noretry=0", "SPX, DPX", "4: ACTIVE", "0-63,128",
    "Max open files            1024                 1048576              files", "0::/docker/abc",
    "tmpfs /dev/shm tmpfs rw,size=64k 0 0", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1",
    "crw-rw---- 1 0 109 226, 128 Nov 30 12:00 /dev/dri/renderD128", "ii  rocm-core  6.4", "current seqno: 4",
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(SAMPLES), max_size=6).map("\n".join),
    st.tuples(st.sampled_from(SAMPLES), st.text(max_size=9)).map("".join),
    st.sampled_from("0123456789٣²-+xX").flatmap(lambda c: st.integers(1, 6000).map(lambda n: c * n)),
    st.text(alphabet="0123456789abcdefx:,.-> *\n\t\0KMhzGT/s[]{}()=", max_size=120),
)


@pytest.mark.parametrize("parse", TEXT_PARSERS)
@given(text=texts)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_text(parse: Callable[[str], Any], text: str) -> None:
    parse(text)


@given(st.binary(max_size=4096))
@settings(max_examples=200, deadline=None)
def test_bytes(data: bytes) -> None:
    for table in layouts().tables:
        decode(table, data)  # type: ignore[arg-type]
    parse_config(data)
    parse_pm_header(data)
    kernel.parse_secure_boot(data)


@given(st.sampled_from([(1, n) for n in range(10)] + [(2, 1), (3, 0)]), st.binary(max_size=4000), st.integers(0, 5000))
@settings(max_examples=200, deadline=None)
def test_tables_with_a_good_header(version: tuple[int, int], rest: bytes, size: int) -> None:
    data = size.to_bytes(2, "little") + bytes(version) + rest
    for table in layouts().tables:
        decode(table, data)  # type: ignore[arg-type]


PATHS = (
    "sys/class/drm/card0/device/uevent", "sys/class/drm/card0/device/vendor", "sys/class/drm/card0/device/gpu_metrics",
    "sys/class/drm/card0/device/ras/umc_err_count", "sys/class/drm/card0/device/ras/gpu_vram_bad_pages",
    "sys/class/drm/card0/device/hwmon/hwmon0/temp1_input", "sys/class/drm/card0/device/unique_id",
    "sys/class/drm/card0/device/fw_version/mec_fw_version", "sys/class/kfd/kfd/topology/nodes/0/properties",
    "sys/class/kfd/kfd/topology/nodes/0/io_links/0/properties", "sys/bus/pci/devices/0000:01:00.0/config",
    "sys/bus/pci/devices/0000:01:00.0/class", "proc/modules", "proc/cmdline", "proc/meminfo", "proc/mounts",
    "etc/os-release", "etc/modprobe.d/a.conf", "var/lib/dpkg/status", "opt/rocm/.info/version",
    "sys/class/infiniband/mlx5_0/ports/1/state", "sys/devices/system/node/node0/meminfo", "proc/self/limits",
    "commands/ls_-ln_dev", "sys/kernel/iommu_groups/1/type", "sys/class/dmi/id/product_name", "proc/cpuinfo",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(PATHS), st.one_of(texts, st.binary(max_size=300)), max_size=12))
@settings(max_examples=150, deadline=None)
def test_whole_trees(files: dict[str, str | bytes]) -> None:
    for row in read_tree(HostFS(MemoryStore(files), live=False)):
        assert isinstance(row, Fact | Gap)
        if isinstance(row, Gap):
            assert row.why.split(":")[0] in ("absent", "denied", "malformed", "timeout", "failed")
