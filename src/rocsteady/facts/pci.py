"""PCI functions as the kernel's PCI core shows them.

Source: /sys/bus/pci/devices/<BDF>/
Docs:   https://docs.kernel.org/PCI/sysfs-pci.html,
        https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, shown
from rocsteady.facts.pci_config import ConfigSpace, parse_config
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError
from rocsteady.model.facts import Bar, PciDevice, PcieLink

PCI_DEVICES = "sys/bus/pci/devices"
BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]")
UNKNOWN_WIDTHS = (0, 63, 255)
"""What the PCI core prints where the link register holds no width."""
BARS = 6
IO, MEM, PREFETCH, MEM_64, UNSET = 0x100, 0x200, 0x2000, 0x100000, 0x20000000
"""IORESOURCE_* flags of include/linux/ioport.h."""


class PciFunction(msgspec.Struct, frozen=True):
    """One function with what the shared model has no room for, and the places to quote."""

    device: PciDevice
    folder: Folder
    config: ConfigSpace | None = None


def read_pci(fs: HostFS) -> dict[str, PciFunction] | Gap:
    """All PCI functions by BDF, in BDF order. A Gap when the bus cannot be listed."""
    try:
        names = fs.names(PCI_DEVICES)
    except ReadError as error:
        return Gap(PCI_DEVICES, error.why)
    return {name: read_pci_function(fs, name) for name in names if BDF.fullmatch(name)}


def read_pci_function(fs: HostFS, bdf: str) -> PciFunction:
    """One function. Files that are missing leave None; the folder lists what could not be read."""
    folder = Folder(fs, f"{PCI_DEVICES}/{bdf}")
    return read_pci_folder(folder, bdf)


def read_pci_folder(folder: Folder, bdf: str) -> PciFunction:
    """As ``read_pci_function`` for a directory that is already known (``/sys/class/drm/cardN/device``)."""
    config = folder.binary("config", parse_config)
    class_code = folder.hex("class")
    device = PciDevice(
        bdf=bdf,
        vendor=folder.hex("vendor"),
        device=folder.hex("device"),
        subsystem_vendor=folder.hex("subsystem_vendor"),
        subsystem_device=folder.hex("subsystem_device"),
        class_code=class_code,
        driver=folder.link("driver"),
        numa_node=_known(folder.integer("numa_node")),
        iommu_group=folder.link("iommu_group"),
        link=read_link(folder),
        bars=folder.parsed("resource", parse_resource) or (),
        acs=config.acs_redirect if config else None,
        atomics_routing=config.atomics_routing if config else None,
        atomics_completer=config.atomics_completer if config else None,
        atomics_requester=config.atomics_requester if config else None,
        aer_correctable=folder.parsed("aer_dev_correctable", parse_aer),
        aer_nonfatal=folder.parsed("aer_dev_nonfatal", parse_aer),
        aer_fatal=folder.parsed("aer_dev_fatal", parse_aer),
        parent=parent_of(folder),
        is_bridge=class_code.startswith("0604") if class_code else None,
        power_state=folder.word("power_state"),
        runtime_status=folder.word("power/runtime_status"),
    )
    return PciFunction(device, folder, config)


def read_link(folder: Folder) -> PcieLink:
    """Speed and width, now and at most, of the link above a function."""
    return PcieLink(
        speed=_speed(folder.word("current_link_speed")),
        width=_width(folder.integer("current_link_width")),
        max_speed=_speed(folder.word("max_link_speed")),
        max_width=_width(folder.integer("max_link_width")),
    )


def parent_of(folder: Folder) -> str | None:
    """The bridge above, from the place of the device in /sys/devices."""
    try:
        steps = folder.fs.real(folder.path).split("/")
    except ReadError:
        return None
    return steps[-2] if len(steps) > 1 and BDF.fullmatch(steps[-2]) else None


def parse_link_speed(text: str) -> float | Malformed:
    """GT/s. Samples: ``16.0 GT/s PCIe``, ``8 GT/s``; ``Unknown`` and ``Unknown speed`` are malformed."""
    match = re.match(r"\s*(\d{1,3}(?:\.\d{1,3})?) ?GT/s", text)
    return float(match[1]) if match else Malformed(f"no link speed in {shown(text)}")


def _speed(text: str | None) -> float | None:
    value = parse_link_speed(text) if text is not None else None
    return value if isinstance(value, float) else None


def _width(lanes: int | None) -> int | None:
    return None if lanes in UNKNOWN_WIDTHS else lanes


def _known(numa_node: int | None) -> int | None:
    """-1 means that the firmware did not say."""
    return None if numa_node is None or numa_node < 0 else numa_node


def parse_resource(text: str) -> tuple[Bar, ...] | Malformed:
    """The six base address regions that exist; size in bytes.

    Sample: ``0x0000060000000000 0x0000062fffffffff 0x000000000014220c`` (start, end, flags).
    """
    bars: list[Bar] = []
    lines = text.splitlines()
    for index, line in enumerate(lines[:BARS]):
        parts = line.split()
        if len(parts) != 3 or not all(re.fullmatch(r"0x[0-9a-fA-F]{1,16}", p) for p in parts):
            return Malformed(f"three hexadecimal numbers were wanted, found {shown(line)}")
        start, end, flags = (int(p, 16) for p in parts)
        if flags & (IO | MEM) and end >= start and (start or end):
            bars.append(
                Bar(
                    index=index,
                    size=end - start + 1,
                    prefetchable=bool(flags & PREFETCH),
                    wide=bool(flags & MEM_64),
                    assigned=start != 0 and not flags & UNSET,
                )
            )
    return tuple(bars) if lines else Malformed("empty")


def parse_aer(text: str) -> dict[str, int] | Malformed:
    """Error counters by name, ``TOTAL_ERR_COR`` and the like included.

    Sample: ``RxErr 0`` ... ``TOTAL_ERR_COR 0``; names may hold spaces only in old kernels.
    """
    counts: dict[str, int] = {}
    for line in text.splitlines():
        name, _, count = line.strip().rpartition(" ")
        if name and count.isascii() and count.isdigit() and len(count) <= 20:
            counts[name.strip()] = int(count)
    return counts if counts else Malformed(f"lines 'name count' were wanted, found {shown(text)}")


def upstream_port(functions: dict[str, PciFunction], bdf: str) -> str:
    """The function whose link reaches the slot: the top-most bridge of the GPU's own vendor above it.

    Radeon boards hold a PCIe switch, so the link of the GPU function itself is an inner one.
    """
    here = functions.get(bdf)
    vendor = here.device.vendor if here else None
    top = bdf
    while here is not None and (parent := here.device.parent):
        here = functions.get(parent)
        if here is None or vendor is None or here.device.vendor != vendor:
            break
        top = parent
    return top
