"""Parsers of the GPU's files on the text that drivers print."""

from __future__ import annotations

from rocsteady.facts.dpm import (
    ClockLevel,
    PcieLevel,
    Policy,
    active_mhz,
    parse_clock_levels,
    parse_features,
    parse_overdrive,
    parse_pcie_levels,
    parse_policy,
    parse_power_profile,
)
from rocsteady.facts.drm_device import find_cards, parse_board_info, parse_modes, parse_words, read_card
from rocsteady.facts.hwmon import Power, Temperature, read_hwmon
from rocsteady.facts.parse_file import Malformed
from rocsteady.facts.ras import RasEvent, parse_counts, parse_events
from rocsteady.facts.retired_pages import RetiredPage, RetiredPages, parse_retired_pages
from rocsteady.facts.xgmi import XgmiPort, parse_per_node, parse_ports
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model.facts import RasBlock

DEVICE = "sys/class/drm/card10/device"


def fs(files: dict[str, str | bytes]) -> HostFS:
    return HostFS(MemoryStore(files), live=False)


def test_clock_levels() -> None:
    assert parse_clock_levels("S: 95Mhz *\n0: 500Mhz \n1: 1700MHz\n") == (
        ClockLevel(None, 95, True),
        ClockLevel(0, 500, False),
        ClockLevel(1, 1700, False),
    )
    assert active_mhz((ClockLevel(0, 500, False),)) is None
    assert isinstance(parse_clock_levels("OD_SCLK:"), Malformed)


def test_pcie_levels() -> None:
    assert parse_pcie_levels("0: 2.5GT/s, x1 78Mhz \n2: 16.0GT/s, x16 623Mhz *\n") == (
        PcieLevel(0, 2.5, 1, 78, False),
        PcieLevel(2, 16.0, 16, 623, True),
    )


def test_policy_and_profiles() -> None:
    assert parse_policy("0 : plpd_disallow\n1 : plpd_default*\n") == Policy(
        ("plpd_disallow", "plpd_default"), "plpd_default"
    )
    assert parse_power_profile(" 0 BOOTUP_DEFAULT :\n 5        COMPUTE*:\n") == "COMPUTE"
    assert parse_power_profile("  0 BOOTUP_DEFAULT  1 3D_FULL_SCREEN  4 VR            * 5 COMPUTE\n") == "VR"
    assert parse_power_profile(" 0 BOOTUP_DEFAULT :\n") is None
    assert parse_features("00. FW_DATA_READ         ( 0) : enabled\n12. DS_SOCCLK (12) : disabled") == {
        "FW_DATA_READ": True,
        "DS_SOCCLK": False,
    }
    assert parse_features("UVD_DPM             0x0000000000000010      N") == {"UVD_DPM": False}
    assert parse_overdrive("OD_SCLK:\n0: 500Mhz\n   \nOD_RANGE:\nSCLK:  1Mhz   2Mhz\n") == {
        "OD_SCLK": ("0: 500Mhz",),
        "OD_RANGE": ("SCLK: 1Mhz 2Mhz",),
    }


def test_ras_counts() -> None:
    assert parse_counts("ue: 2\nce: 41\n") == RasBlock(ue=2, ce=41)
    assert parse_counts("ue: 0\nce: 0\nde: 7\n") == RasBlock(ue=0, ce=0, de=7)
    assert parse_counts("Query currently inaccessible\n") == Malformed("the driver is recovering the GPU")
    assert parse_events(
        "current seqno: 4\nFatal Error: count:1, last_seqno:4\nPoison Creation: count:0, last_seqno:0\n"
    ) == {
        "fatal error": RasEvent(1, 4),
        "poison creation": RasEvent(0, 0),
    }


def test_retired_pages() -> None:
    text = "0x0000000a : 0x00001000 : R\n0x0000000b : 0x00001000 : P\n0x0000000c : 0x00001000 : F\n"
    pages = parse_retired_pages(text)
    assert pages == RetiredPages((RetiredPage(10, 4096, "R"), RetiredPage(11, 4096, "P"), RetiredPage(12, 4096, "F")))
    assert isinstance(pages, RetiredPages) and (pages.retired, pages.pending, pages.unreservable) == (1, 1, 1)
    assert parse_retired_pages("") == RetiredPages(())
    assert isinstance(parse_retired_pages("0x0000000a : 0x0000"), Malformed)


def test_xgmi() -> None:
    assert parse_ports("01:00 ->  02:03\n01:01 ->  03:00\n") == (XgmiPort(1, 0, 2, 3), XgmiPort(1, 1, 3, 0))
    assert parse_per_node("00 41 41 41\n") == (0, 0x41, 0x41, 0x41)


def test_words() -> None:
    assert parse_modes("SPX, DPX, QPX, CPX\n") == ("SPX", "DPX", "QPX", "CPX")
    assert parse_modes("Not supported\n") == ()
    assert parse_words("unsupported\n") == () and parse_words("soft queue full\n") == ("soft", "queue", "full")
    assert parse_board_info("type : oam\n") == "oam" and parse_board_info("type : unknown\n") is None


def test_hwmon_prefers_the_average_and_ignores_limits_that_are_not_set() -> None:
    base = f"{DEVICE}/hwmon/hwmon7"
    hwmon = read_hwmon(
        fs(
            {
                f"{base}/name": "amdgpu\n", f"{base}/temp2_input": "48000\n", f"{base}/temp2_label": "junction\n",
                f"{base}/temp2_crit": "100000\n", f"{base}/temp2_crit_hyst": "-273150\n",
                f"{base}/power1_average": "90000000\n", f"{base}/power1_input": "95000000\n",
                f"{base}/power1_cap": "300000000\n", f"{base}/power1_label": "PPT\n",
                f"{base}/freq1_input": "1700000000\n", f"{base}/freq1_label": "sclk\n",
            }
        ),
        DEVICE,
    )  # fmt: skip
    assert hwmon is not None
    assert hwmon.temperatures == {"junction": Temperature(now=48.0, crit=100.0)}
    assert hwmon.powers == {"PPT": Power(average=90.0, instant=95.0, cap=300.0)} and hwmon.powers["PPT"].now == 90.0
    assert hwmon.clocks == {"sclk": 1700.0} and hwmon.fan is None


def test_cards_of_other_vendors_and_partitions() -> None:
    files: dict[str, str | bytes] = {
        "sys/class/drm/card0": "link:../../devices/pci0000:00/0000:00:01.0/drm/card0",
        "sys/devices/pci0000:00/0000:00:01.0/drm/card0/device": "link:../../../0000:00:01.0",
        "sys/devices/pci0000:00/0000:00:01.0/vendor": "0x1a03\n",
        "sys/class/drm/card12": "link:../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/drm/card12",
        "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/drm/card12/device": "link:../../../0000:c1:00.0",
        "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/vendor": "0x1002\n",
        "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/driver": "link:../../../../bus/pci/drivers/amdgpu",
        "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/unique_id": "18f7e5c3a1b2d4e6\n",
        "sys/class/drm/card13": "link:../../devices/platform/amdgpu_xcp_0/drm/card13",
        "sys/devices/platform/amdgpu_xcp_0/drm/card13/device": "link:../../../amdgpu_xcp_0",
        "sys/devices/platform/amdgpu_xcp_0/uevent": "DRIVER=amdgpu_xcp\n",
        "sys/class/drm/renderD140": "link:../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/drm/renderD140",
        "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/drm/renderD140/device": "link:../../../0000:c1:00.0",
    }
    places, gaps = find_cards(fs(files))
    assert [(p.card, p.bdf, p.partition, p.render_minor) for p in places] == [
        (12, "0000:c1:00.0", False, 140),
        (13, None, True, None),
    ]
    assert not gaps
    card = read_card(fs(files), places[0])
    assert card.unique_id == "18f7e5c3a1b2d4e6" and card.pci.device.parent == "0000:c0:01.1" and card.gaps == ()
