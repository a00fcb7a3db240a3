"""amdgpu cards: everything that the driver shows about one GPU in its DRM device directory.

Source: /sys/class/drm/card<N>/device/
Docs:   https://docs.kernel.org/gpu/amdgpu/driver-misc.html, https://docs.kernel.org/gpu/amdgpu/thermal.html
Every file may be missing; which are there depends on the GPU, the driver and whether it is a virtual function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import msgspec

from rocsteady.facts import dpm
from rocsteady.facts.hwmon import Hwmon, read_hwmon
from rocsteady.facts.parse_file import Folder, Malformed, gap_of, is_absent, parse_int, shown
from rocsteady.facts.pci import BDF, PciFunction, read_pci_folder
from rocsteady.facts.ras import Ras, read_ras
from rocsteady.facts.retired_pages import RetiredPages, read_retired_pages
from rocsteady.facts.xgmi import Xgmi, read_xgmi
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError
from rocsteady.model.facts import Memory

DRM = "sys/class/drm"
CARD = re.compile(r"card(\d{1,6})")
RENDER = re.compile(r"renderD(\d{1,7})")
AMD = "1002"
OWN_FILES = ("mem_info_vram_total", "gpu_metrics", "pp_dpm_sclk", "unique_id", "ras", "vbios_version")
"""Files that only amdgpu makes: they tell the card where neither vendor nor driver is known."""
CLOCKS = ("sclk", "mclk", "socclk", "fclk", "vclk", "vclk1", "dclk", "dclk1", "dcefclk")
RESETS = ("gfx", "compute", "sdma", "vcn", "jpeg", "vpe")
BOARD_NUMBERS = (
    "cur_node_power_limit", "node_power", "max_node_power_limit", "global_ppt_resid", "baseboard_power",
    "baseboard_power_limit",
)  # fmt: skip


class CardPlace(msgspec.Struct, frozen=True):
    """Where a card is and who it is. ``bdf`` None: the tree holds neither the link nor the uevent."""

    card: int
    path: str
    bdf: str | None
    driver: str | None
    vendor: str | None
    render_minor: int | None
    partition: bool
    """True for the platform device of a compute partition (amdgpu_xcp_<n>)."""


class PartitionResource(msgspec.Struct, frozen=True):
    """What a compute partition gets of one kind: instances, and by how many partitions each is shared."""

    instances: int | None
    shared: int | None


class AmdgpuCard(msgspec.Struct, kw_only=True, dict=True):
    """One GPU as its DRM device shows it. None = the file is not there or could not be read (then see ``gaps``).

    Bytes for memory, percent 0-100 for activity, MHz for clocks.
    """

    place: CardPlace
    folder: Folder
    pci: PciFunction
    unique_id: str | None
    vbios: str | None
    product_name: str | None
    product_number: str | None
    serial: str | None
    fru_id: str | None
    manufacturer: str | None
    board_type: str | None
    firmware: dict[str, int]
    memory: Memory
    preempt_used: int | None
    gpu_busy: int | None
    mem_busy: int | None
    vcn_busy: int | None
    performance_level: str | None
    dpm_state: str | None
    clocks: dict[str, tuple[dpm.ClockLevel, ...]]
    pcie_levels: tuple[dpm.PcieLevel, ...] | None
    power_profile: str | None
    soc_pstate: dpm.Policy | None
    xgmi_plpd: dpm.Policy | None
    features: dict[str, bool] | None
    overdrive: dict[str, tuple[str, ...]] | None
    throttling_logging: str | None
    pcie_replays: int | None
    compute_mode: str | None
    compute_modes: tuple[str, ...] | None
    memory_mode: str | None
    memory_modes: tuple[str, ...] | None
    partition_resources: dict[str, PartitionResource]
    isolation: tuple[int, ...] | None
    resets: dict[str, tuple[str, ...]]
    runtime_control: str | None
    gfx: str | None
    """From ip_discovery; None on kernels before 5.18."""
    board: dict[str, int]
    node_power_management: str | None
    xgmi: Xgmi | None
    ras: Ras | None
    retired_pages: RetiredPages | Gap
    hwmon: Hwmon | None

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What exists but could not be read."""
        gaps = [*self.folder.gaps, *self.pci.folder.gaps]
        gaps += self.ras.folder.gaps if self.ras else []
        gaps += self.hwmon.folder.gaps if self.hwmon else []
        if isinstance(self.retired_pages, Gap) and not is_absent(self.retired_pages):
            gaps.append(self.retired_pages)
        return tuple(gaps)


def find_cards(fs: HostFS) -> tuple[list[CardPlace], list[Gap]]:
    """All DRM cards of amdgpu, partitions included, by card number; other vendors' cards are left out."""
    try:
        names = fs.names(DRM)
    except ReadError as error:
        return [], [gap_of(DRM, error)]
    renders = _render_minors(fs, names)
    places: list[CardPlace] = []
    for name in names:
        if match := CARD.fullmatch(name):
            place = _place(fs, int(match[1]), renders)
            if place is not None:
                places.append(place)
    return sorted(places, key=lambda p: p.card), []


def _place(fs: HostFS, card: int, renders: dict[str, int]) -> CardPlace | None:
    path = f"{DRM}/card{card}/device"
    folder = Folder(fs, path)
    uevent = folder.parsed("uevent", parse_uevent) or {}
    here = _last(fs, path)
    partition = here.startswith("amdgpu_xcp")
    driver = folder.link("driver") or uevent.get("DRIVER")
    vendor = folder.hex("vendor") or (uevent.get("PCI_ID", "").partition(":")[0].lower() or None)
    if not partition and (vendor not in (None, AMD) or driver not in (None, "amdgpu")):
        return None
    if vendor is None and driver is None and not partition and not set(folder.names()).intersection(OWN_FILES):
        return None
    bdf = here if BDF.fullmatch(here) else uevent.get("PCI_SLOT_NAME", "").lower()
    return CardPlace(card, path, bdf or None, driver, vendor, renders.get(here), partition)


def _render_minors(fs: HostFS, names: list[str]) -> dict[str, int]:
    """Name of the PCI or platform device -> minor number of its render node."""
    minors: dict[str, int] = {}
    for name in names:
        if match := RENDER.fullmatch(name):
            minors[_last(fs, f"{DRM}/{name}/device")] = int(match[1])
    return minors


def _last(fs: HostFS, path: str) -> str:
    try:
        return fs.real(path).rpartition("/")[2]
    except ReadError:
        return ""


def read_card(fs: HostFS, place: CardPlace) -> AmdgpuCard:
    """Everything about one card."""
    f = Folder(fs, place.path)
    clocks = {name: f.parsed(f"pp_dpm_{name}", dpm.parse_clock_levels) for name in CLOCKS}
    resets = {name: f.parsed(f"{name}_reset_mask", parse_words) for name in RESETS}
    board = {name: f.integer(f"board/{name}") for name in BOARD_NUMBERS}
    return AmdgpuCard(
        place=place, folder=f, pci=read_pci_folder(Folder(fs, place.path), place.bdf or ""),
        unique_id=f.hex("unique_id"), vbios=f.word("vbios_version"),
        product_name=f.word("product_name"), product_number=f.word("product_number"),
        serial=f.word("serial_number"), fru_id=f.word("fru_id"), manufacturer=f.word("manufacturer"),
        board_type=f.parsed("board_info", parse_board_info), firmware=read_firmware(f), memory=_memory(f),
        preempt_used=f.integer("mem_info_preempt_used"), gpu_busy=f.integer("gpu_busy_percent"),
        mem_busy=f.integer("mem_busy_percent"), vcn_busy=f.integer("vcn_busy_percent"),
        performance_level=f.word("power_dpm_force_performance_level"), dpm_state=f.word("power_dpm_state"),
        clocks={name: levels for name, levels in clocks.items() if levels},
        pcie_levels=f.parsed("pp_dpm_pcie", dpm.parse_pcie_levels),
        power_profile=f.parsed("pp_power_profile_mode", dpm.parse_power_profile),
        soc_pstate=f.parsed("pm_policy/soc_pstate", dpm.parse_policy),
        xgmi_plpd=f.parsed("pm_policy/xgmi_plpd", dpm.parse_policy),
        features=f.parsed("pp_features", dpm.parse_features),
        overdrive=f.parsed("pp_od_clk_voltage", dpm.parse_overdrive),
        throttling_logging=f.word("thermal_throttling_logging"), pcie_replays=f.integer("pcie_replay_count"),
        compute_mode=_mode(f.word("current_compute_partition")),
        compute_modes=f.parsed("available_compute_partition", parse_modes),
        memory_mode=_mode(f.word("current_memory_partition")),
        memory_modes=f.parsed("available_memory_partition", parse_modes),
        partition_resources=_resources(f), isolation=f.parsed("enforce_isolation", parse_isolation),
        resets={name: words for name, words in resets.items() if words},
        runtime_control=f.word("power/control"), gfx=_gfx(f),
        board={name: value for name, value in board.items() if value is not None},
        node_power_management=f.word("board/npm_status"), xgmi=read_xgmi(f), ras=read_ras(fs, place.path),
        retired_pages=read_retired_pages(fs, place.path), hwmon=read_hwmon(fs, place.path),
    )  # fmt: skip


def read_cards(fs: HostFS) -> Iterator[AmdgpuCard]:
    """All GPUs, each once: the platform devices of further partitions have no files of their own worth reading."""
    for place in find_cards(fs)[0]:
        if not place.partition:
            yield read_card(fs, place)


def _memory(f: Folder) -> Memory:
    def amount(name: str) -> int | None:
        return f.integer(f"mem_info_{name}")

    return Memory(
        vram_total=amount("vram_total"), vram_used=amount("vram_used"),
        visible_total=amount("vis_vram_total"), visible_used=amount("vis_vram_used"),
        gtt_total=amount("gtt_total"), gtt_used=amount("gtt_used"), vendor=f.word("mem_info_vram_vendor"),
    )  # fmt: skip


def read_firmware(f: Folder) -> dict[str, int]:
    """Block -> version. Older drivers show 0x00000000 for a block without firmware; that is left out."""
    versions: dict[str, int] = {}
    for name in f.names("fw_version"):
        if name.endswith("_fw_version"):
            value = f.integer(f"fw_version/{name}")
            if value:
                versions[name.removesuffix("_fw_version")] = value
    return versions


def _mode(word: str | None) -> str | None:
    return None if word is None or word.upper() == "UNKNOWN" else word


def _gfx(f: Folder) -> str | None:
    """LLVM target from the graphics core's version in the discovery table; stepping and minor are hexadecimal."""
    base = "ip_discovery/die/0/GC/0"
    numbers = [f.integer(f"{base}/{part}") for part in ("major", "minor", "revision")]
    major, minor, revision = numbers
    if major is None or minor is None or revision is None or minor > 15 or revision > 15:
        return None
    return f"gfx{major}{minor:x}{revision:x}"


def _resources(f: Folder) -> dict[str, PartitionResource]:
    found: dict[str, PartitionResource] = {}
    for kind in ("xcc", "dma", "dec", "jpeg"):
        base = f"compute_partition_config/{kind}"
        instances, shared = f.integer(f"{base}/num_inst"), f.integer(f"{base}/num_shared")
        if instances is not None or shared is not None:
            found[kind] = PartitionResource(instances, shared)
    return found


def parse_uevent(text: str) -> dict[str, str] | Malformed:
    """``KEY=value`` lines. Sample: ``PCI_SLOT_NAME=0000:03:00.0``."""
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return pairs if pairs else Malformed(f"lines KEY=value were wanted, found {shown(text)}")


def parse_board_info(text: str) -> str | Malformed | None:
    """``type : oam``, ``type : cem``; ``unknown`` is None."""
    match = re.search(r"type[ \t]*:[ \t]*(\w+)", text)
    if match is None:
        return Malformed(f"'type : name' was wanted, found {shown(text)}")
    return None if match[1] == "unknown" else match[1]


def parse_words(text: str) -> tuple[str, ...] | Malformed:
    """Words of a reset mask: ``soft queue full``; ``unsupported`` gives none."""
    words = tuple(text.split())
    if not words or not all(re.fullmatch(r"[a-z_]{1,20}", w) for w in words):
        return Malformed(f"reset kinds were wanted, found {shown(text)}")
    return () if words == ("unsupported",) else words


def parse_modes(text: str) -> tuple[str, ...] | Malformed:
    """``SPX, DPX, QPX, CPX`` or ``Not supported`` (none)."""
    if text.strip().lower() == "not supported":
        return ()
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words or not all(re.fullmatch(r"[A-Z]{3}\d?", w) for w in words):
        return Malformed(f"partition modes were wanted, found {shown(text)}")
    return words


def parse_isolation(text: str) -> tuple[int, ...] | Malformed:
    """``enforce_isolation``: one number per partition."""
    numbers = [parse_int(word) for word in text.split()]
    whole = tuple(n for n in numbers if isinstance(n, int))
    return whole if whole and len(whole) == len(numbers) else Malformed(f"numbers were wanted, found {shown(text)}")
