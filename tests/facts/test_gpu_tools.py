"""rocminfo, rocm-smi, amd-smi, hipconfig, clinfo in the formats of several releases."""

from __future__ import annotations

import pytest

from tests.facts.reading import facts_of, paths_of

ROCMINFO = """\
$ /opt/rocm/bin/rocminfo
ROCk module version 6.12.12 is loaded
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
DMAbuf Support:          YES

==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD EPYC 9554 64-Core Processor
  Device Type:             CPU
  Node:                    0
*******
Agent 2
*******
  Name:                    gfx942
  Uuid:                    GPU-fb16d220f7154018
  Marketing Name:          AMD Instinct MI300X
  Node:                    1
  Device Type:             GPU
  Chip ID:                 29857(0x74a1)
  BDFID:                   50432
  Compute Unit:            304
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
*** Done ***
"""


def test_rocminfo() -> None:
    """Driver, runtime, one GPU with its address."""
    facts = facts_of(ROCMINFO)
    (gpu,) = facts.gpus
    assert (gpu.bdf, gpu.gfx, gpu.device, gpu.cu_count, gpu.kfd_node_id) == ("0000:c5:00.0", "gfx942", "74a1", 304, 1)
    assert (gpu.name, gpu.unique_id) == ("AMD Instinct MI300X", "fb16d220f7154018")
    assert facts.gpus_by_tool == {"rocminfo": 1} and facts.rocm.runtime_works is True
    assert (facts.rocm.driver, facts.rocm.features) == ("6.12.12", {"dmabuf": "YES"})
    assert facts.origins["gpus.0000:c5:00.0.gfx"].text == "  Name:                    gfx942"


def test_rocminfo_cut_short_counts_nothing() -> None:
    """Without its last line nobody knows how many agents followed."""
    cut = facts_of(ROCMINFO.replace("*** Done ***\n", ""))
    assert cut.gpus_seen is None and len(cut.gpus) == 1
    assert facts_of("rocminfo | grep gfx\n  Name:                    gfx1100\n").gpus[0].gfx == "gfx1100"


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("ROCk module is NOT loaded, possibly no GPU devices", "modules.amdgpu.loaded", False),
        ("Unable to open /dev/kfd read-write: No such file or directory", "devices./dev/kfd.exists", False),
        ("Unable to open /dev/kfd read-write: Permission denied", "devices./dev/kfd.error", "EACCES"),
        ("Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: x\nROCk module is loaded", "rocm.runtime_works", False),
    ],
)
def test_rocminfo_failures(text: str, path: str, value: object) -> None:
    """Why it does not start."""
    from rocsteady.diagnose.lookup import lookup

    assert lookup(facts_of(text), path).value == value


def test_as_user_and_as_root() -> None:
    """sudo is remembered."""
    fails = "ROCk module is loaded\nhsa api call failure at: x\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: y\n"
    facts = facts_of("$ rocminfo\n" + fails + "\n$ sudo " + ROCMINFO[2:])
    assert (facts.rocm.runtime_works, facts.rocm.runtime_works_as_root) == (False, True)


OLD = """\
======================= ROCm System Management Interface =======================
================================= Concise Info =================================
GPU  Temp   AvgPwr  SCLK    MCLK    Fan   Perf  PwrCap  VRAM%  GPU%
0    43.0c  36.0W   800Mhz  1600Mhz  0.0%  auto  300.0W    5%   0%
1    41.0c  N/A     N/A     N/A      0%    auto  300.0W    0%   0%
================================================================================
"""
NEW = """\
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
==========================================================================================================
0       2     0x74a1,   28851  37.0°C      132.0W    NPS1, SPX, 0        132Mhz  900Mhz   0%   auto  750.0W  0%     7%
"""


def test_rocm_smi_tables() -> None:
    """Columns of version 5 and of version 6; N/A is unknown."""
    first, second = facts_of(OLD).gpus
    assert (first.sensors.edge, first.sensors.power, first.sensors.power_cap) == (43.0, 36.0, 300.0)
    assert (first.sensors.sclk, first.sensors.mclk, first.performance_level) == (800.0, 1600.0, "auto")
    assert (second.sensors.sclk, second.sensors.power, second.sensors.power_cap) == (None, None, 300.0)
    (new,) = facts_of(NEW).gpus
    assert (new.kfd_node_id, new.gpu_id, new.device, new.memory_mode, new.compute_mode) == (
        2,
        28851,
        "74a1",
        "NPS1",
        "SPX",
    )
    assert (new.sensors.junction, new.sensors.power, new.sensors.busy_percent) == (37.0, 132.0, 7.0)


def test_rocm_smi_lists_and_json() -> None:
    """The same field names in both; index and address join."""
    listed = facts_of(
        "GPU[0]\t\t: Temperature (Sensor junction) (C): 47.0\nGPU[0]\t\t: PCI Bus: 0000:C5:00.0\nGPU[0]\t\t: Unique ID: N/A\n"
        "GPU[1]\t\t: sclk clock level: 1: (2100Mhz)\nGPU[1]\t\t: MEC firmware version: 		116\n"
    )
    assert [g.key for g in listed.gpus] == ["0000:c5:00.0", "smi:1"]
    assert (listed.gpus[0].sensors.junction, listed.gpus[0].unique_id, listed.gpus[0].smi_index) == (47.0, None, 0)
    assert (listed.gpus[1].sensors.sclk, listed.gpus[1].firmware) == (2100.0, {"mec": "116"})
    text = '{"card0": {"VRAM Total Memory (B)": "100", "Card Series": "Navi 21", "CE firmware version": "0"}, "system": {"Driver version": "6.8.5"}}'
    parsed = facts_of(text)
    assert (parsed.gpus[0].memory.vram_total, parsed.gpus[0].name, parsed.gpus[0].firmware) == (100, "Navi 21", {})
    assert parsed.rocm.driver == "6.8.5"
    assert facts_of("Driver version: 6.8.0-41-generic").kernel.release == "6.8.0-41-generic"


def test_rocm_smi_ras_and_errors() -> None:
    """RAS table, missing driver, low-power warning."""
    facts = facts_of(
        "GPU[1]: RAS INFO\n   Block   Status   Correctable Error  Uncorrectable Error\n     UMC   ENABLED   3   1\n"
    )
    assert facts.gpus[0].ras is not None and facts.gpus[0].ras["umc"].ue == 1 and facts.gpus[0].smi_index == 1
    assert facts_of("ERROR:root:Driver not initialized (amdgpu not found in modules)").modules["amdgpu"].loaded is False
    assert facts_of("WARNING: AMD GPU device(s) is/are in a low-power state. x").rocm.low_power_warning is True


AMD_SMI = """\
AMDSMI Tool: 25.4.2+aca1101 | AMDSMI Library version: 25.4.0 | ROCm version: 6.4.1 | amdgpu version: 6.12.12
GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        DEVICE_ID: 0x74a1
        ASIC_SERIAL: 0xAF54E92B0A5D57C8
        TARGET_GRAPHICS_VERSION: gfx942
    BUS:
        BDF: 0000:05:00.0
        MAX_PCIE_SPEED: 32 GT/s
    PCIE:
        WIDTH: 8
        SPEED: 16 GT/s
    VRAM:
        SIZE: 196592 MB
    TEMPERATURE:
        EDGE: N/A
        HOTSPOT: 47 °C
    ECC:
        TOTAL_UNCORRECTABLE_COUNT: 2
    ECC_BLOCKS:
        UMC:
            CORRECTABLE_COUNT: 5
            UNCORRECTABLE_COUNT: 2
            DEFERRED_COUNT: N/A
    RETIRED:
        - PAGE_ADDRESS: 0x1000
        - PAGE_ADDRESS: 0x2000
    PENDING: No bad pages found.
    FW_LIST:
        FW 0:
            FW_ID: RLC
            FW_VERSION: 64
"""


def test_amd_smi_text() -> None:
    """Nested fields, versions, bad pages, firmware."""
    facts = facts_of(AMD_SMI)
    (gpu,) = facts.gpus
    assert (gpu.bdf, gpu.smi_index, gpu.gfx, gpu.unique_id) == ("0000:05:00.0", 0, "gfx942", "af54e92b0a5d57c8")
    assert (gpu.link.width, gpu.link.speed, gpu.link.max_speed) == (8, 16.0, 32.0)
    assert (gpu.memory.vram_total, gpu.sensors.junction, gpu.sensors.edge) == (196592 << 20, 47.0, None)
    assert gpu.ras is not None and (gpu.ras["umc"].ce, gpu.ras["umc"].de, gpu.ras["all"].ue) == (5, None, 2)
    assert (gpu.retired_pages, gpu.pending_pages, gpu.unreservable_pages, gpu.firmware) == (2, 0, None, {"rlc": "64"})
    assert (facts.rocm.version, facts.rocm.driver) == ("6.4.1", "6.12.12")


def test_amd_smi_json_csv_and_box() -> None:
    """Three more formats of the same."""
    text = '[{"gpu": 0, "bus": {"bdf": "0000:05:00.0"}, "vram": {"size": {"value": 196592, "unit": "MB"}}}]'
    (gpu,) = facts_of(text).gpus
    assert (gpu.bdf, gpu.memory.vram_total) == ("0000:05:00.0", 196592 << 20)
    assert facts_of("gpu,gpu_bdf,gpu_uuid\n0,0000:05:00.0,x\n").gpus[0].bdf == "0000:05:00.0"
    box = (
        "| AMD-SMI 26.0.0+37d158ab   amdgpu version: 6.12.12   ROCm version: 7.0.0      |\n"
        "| 0000:05:00.0     AMD Instinct MI300X | 0 %      37 °C   0           132/750 W |\n"
        "|   0       0       7        SPX/NPS1 | 0 %        N/A           283/196592 MB |\n"
    )
    facts = facts_of(box)
    assert (facts.gpus[0].bdf, facts.gpus[0].smi_index, facts.gpus[0].compute_mode) == ("0000:05:00.0", 0, "SPX")
    assert (facts.gpus[0].memory.vram_used, facts.rocm.version) == (283 << 20, "7.0.0")


def test_hip_tools() -> None:
    """Versions and installs."""
    facts = facts_of(
        "$ hipcc --version\nHIP version: 6.2.41133-dd7f95766\nInstalledDir: /opt/rocm-6.2.0/lib/llvm/bin\n"
    )
    assert facts.rocm.components["hip"] == "6.2.41133-dd7f95766" and facts.rocm.installs == {"/opt/rocm-6.2.0": "6.2.0"}
    assert facts_of("$ cat /opt/rocm/.info/version\n6.2.0-66\n").rocm.version == "6.2.0"
    assert facts_of("Number of platforms:                             0\n").rocm.opencl_platforms == 0


def test_one_gpu_of_each_tool_is_the_same_gpu() -> None:
    """Without an address; with two GPUs nobody knows."""
    assert len(facts_of("  Name:                    gfx1100\n" + NEW).gpus) == 1
    assert len(facts_of("  Name:                    gfx1100\n" + OLD).gpus) == 3


@pytest.mark.parametrize(
    "text",
    [
        "Name: gfx is a word\nThe GPU: 0 was fine and the rocminfo output looked odd.",
        "[   12.0] amdgpu 0000:c1:00.0: amdgpu: ring gfx timeout\n" * 3,
        "GPU 0 has a total capacity of 24.00 GiB",
    ],
)
def test_near_misses(text: str) -> None:
    """Prose and logs say nothing."""
    assert not paths_of(text)
