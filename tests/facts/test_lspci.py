"""lspci from one line per device to -vvv and -t."""

from __future__ import annotations

import pytest

from tests.facts.reading import facts_of, paths_of

VERBOSE = """\
c0:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge (prog-if 00 [Normal decode])
\tBus: primary=c0, secondary=c1, subordinate=c3, sec-latency=0
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\t\t\t AtomicOpsCap: Routing- 32bit+ 64bit+ 128bitCAS-
c1:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 XL Upstream Port of PCI Express Switch [1002:1478] (rev c1)
\tBus: primary=c1, secondary=c2, subordinate=c3
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)
c2:00.0 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 XL Downstream Port of PCI Express Switch [1002:1479]
\tBus: primary=c2, secondary=c3, subordinate=c3
\t\tLnkSta:\tSpeed 16GT/s, Width x16
c3:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon Pro W7900] [1002:7448] (prog-if 00 [VGA controller])
\tSubsystem: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:0e0d]
\tNUMA node: 1
\tIOMMU group: 21
\tRegion 0: Memory at 28000000000 (64-bit, prefetchable) [size=64G]
\tRegion 2: Memory at <unassigned> (64-bit, prefetchable) [disabled]
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16
\t\tLnkSta:\tSpeed 16GT/s, Width x16
\t\tDevCtl2: Completion Timeout: 50us to 50ms
\t\t\t AtomicOpsCtl: ReqEn+
\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO+ CmpltAbrt-
\t\tStatus: D3 NoSoftRst+ PME-Enable-
\tKernel driver in use: amdgpu
c3:00.1 Audio device [0403]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 HDMI/DP Audio [1002:ab30]
\tKernel driver in use: snd_hda_intel
c4:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [10de:2204] (rev ff)
"""


def test_verbose() -> None:
    """Link, slot behind the board's switch, BARs, ACS, atomics, AER, driver, parents; other vendors are no AMD GPUs."""
    facts = facts_of(VERBOSE)
    (gpu,) = facts.gpus
    assert (gpu.bdf, gpu.device, gpu.driver, gpu.numa_node) == ("0000:c3:00.0", "7448", "amdgpu", 1)
    assert gpu.name == "Navi 31 [Radeon Pro W7900]" and gpu.subsystem_device == "0e0d"
    assert (gpu.link.speed, gpu.link.width) == (16.0, 16)
    assert (gpu.slot_link.speed, gpu.slot_link.width, gpu.slot_link.max_width) == (8.0, 8, 16)
    device = facts.pci["0000:c3:00.0"]
    assert [(b.index, b.size, b.assigned) for b in device.bars] == [(0, 64 << 30, True), (2, None, False)]
    assert (device.iommu_group, device.atomics_requester, device.power_state) == ("21", True, "D3")
    assert device.aer_status == {"UESta.CmpltTO": True} and device.memory_enabled is False
    root = facts.pci["0000:c0:01.1"]
    assert (root.acs, root.atomics_routing, root.is_bridge, root.link.speed) == (True, False, True, 8.0)
    assert device.parent == "0000:c2:00.0" and facts.pci["0000:c1:00.0"].parent == "0000:c0:01.1"
    assert facts.pci["0000:c4:00.0"].unreachable is True and facts.gpus_by_tool == {"lspci": 1}
    assert facts.origins["gpus.0000:c3:00.0.slot_link.speed"].line == 10


@pytest.mark.parametrize(
    ("line", "bdf", "device"),
    [
        ("c1:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200 [Instinct MI210] (rev 02)", "0000:c1:00.0", None),
        ("0002:00:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74b5]", "0002:00:00.0", "74b5"),
        ("c1:00.0 0380: 1002:740f (rev 02)", "0000:c1:00.0", "740f"),
        ("> c1:00.0 3D controller [0302]: Advanced Micro Devices, Inc. [AMD/ATI] X [1002:738c]\n> \tSubsystem: y", "0000:c1:00.0", "738c"),
    ],
)  # fmt: skip
def test_short(line: str, bdf: str, device: str | None) -> None:
    """One line per device: names, numbers, both."""
    (gpu,) = facts_of(line).gpus
    assert (gpu.bdf, gpu.device) == (bdf, device)


def test_tree() -> None:
    """Chains of bridges; the domain of the root is carried on."""
    facts = facts_of(
        "-+-[0000:e0]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex\n"
        " |           +-03.1-[e2-e4]----00.0-[e3-e4]----00.0-[e4]----00.0  Advanced Micro Devices, Inc. [AMD/ATI] Device 738c\n"
        " \\-[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship Root Complex\n"
    )
    assert [(g.bdf, g.device) for g in facts.gpus] == [("0000:e4:00.0", "738c")]
    assert facts.pci["0000:e4:00.0"].parent == "0000:e3:00.0" and facts.pci["0000:e2:00.0"].parent == "0000:e0:03.1"


def test_without_root() -> None:
    """Hidden capabilities are a gap, not an absence."""
    facts = facts_of(
        "c1:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] X\n\tCapabilities: <access denied>\n"
    )
    assert facts.gpus[0].link.width is None and facts.gaps[0].why.startswith("denied")


@pytest.mark.parametrize(
    "text",
    [
        "[   1.0] pci 0000:c1:00.0: [1002:740f] type 00 class 0x038000\n", "LnkSta: the speed was bad",
        "at 12:00:00.0 Display: nothing", "c1:00.0 was the Display controller in question",
    ],
)  # fmt: skip
def test_near_misses(text: str) -> None:
    """Kernel log and prose."""
    assert not paths_of(text)
