"""PCI functions of a synthetic node: attributes, configuration space, links between the parts of sysfs."""

from __future__ import annotations

import struct

import msgspec

from rocsteady.lab.tree import Tree

DEVICES = "sys/devices"
ROOT_PORT = 0x14AB
"""Device id of a GPP bridge of EPYC hosts (vendor 1022)."""
NO_AER = ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC",
          "UnsupReq", "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked")  # fmt: skip
CORRECTABLE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
MEM_64_PREFETCH, MEM_32, IO_PORTS = 0x14220C, 0x40200, 0x40101
"""Flags of a resource line as the kernel prints them."""


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function. ``bars``: (start, size, flags) of the regions; ``place``: path below /sys/devices."""

    bdf: str
    place: str
    vendor: int
    device: int
    subsystem: tuple[int, int] = (0, 0)
    revision: int = 0
    class_code: int
    numa_node: int
    cpus: str
    speed: float
    width: int
    bars: tuple[tuple[int, int, int], ...] = ()
    driver: str | None = None
    iommu_group: int | None = None
    atomics: bool = True


def bdf_of(bus: int, device: int = 0, function: int = 0) -> str:
    """``0000:c1:00.0``."""
    return f"0000:{bus:02x}:{device:02x}.{function}"


def add_function(tree: Tree, f: Function) -> None:
    """Write one function and its links."""
    base = f"{DEVICES}/{f.place}"
    values: dict[str, object] = {
        "vendor": f"0x{f.vendor:04x}", "device": f"0x{f.device:04x}", "subsystem_vendor": f"0x{f.subsystem[0]:04x}",
        "subsystem_device": f"0x{f.subsystem[1]:04x}", "revision": f"0x{f.revision:02x}",
        "class": f"0x{f.class_code:06x}", "numa_node": f.numa_node, "local_cpulist": f.cpus, "irq": 0,
        "current_link_speed": f"{f.speed:.1f} GT/s PCIe", "current_link_width": f.width,
        "max_link_speed": f"{f.speed:.1f} GT/s PCIe", "max_link_width": f.width, "power_state": "D0",
        "power/runtime_status": "active", "power/control": "on", "d3cold_allowed": 0, "enable": 1,
        "broken_parity_status": 0, "ari_enabled": 0, "dma_mask_bits": 48, "consistent_dma_mask_bits": 48, "msi_bus": 1,
        "modalias": _modalias(f), "uevent": _uevent(f), "resource": _resource(f),
        "aer_dev_correctable": _aer(CORRECTABLE, "COR"), "aer_dev_fatal": _aer(NO_AER, "FATAL"),
        "aer_dev_nonfatal": _aer(NO_AER, "NONFATAL"),
    }  # fmt: skip
    for name, value in values.items():
        tree.text(f"{base}/{name}", str(value))
    tree.data(f"{base}/config", config_space(f))
    tree.link(f"{base}/subsystem", "sys/bus/pci")
    tree.link(f"sys/bus/pci/devices/{f.bdf}", base)
    if f.driver is not None:
        tree.link(f"{base}/driver", f"sys/bus/pci/drivers/{f.driver}")
        tree.link(f"sys/bus/pci/drivers/{f.driver}/{f.bdf}", base)
    if f.iommu_group is not None:
        group = f"sys/kernel/iommu_groups/{f.iommu_group}"
        tree.link(f"{base}/iommu_group", group)
        tree.link(f"{group}/devices/{f.bdf}", base)
        tree.text(f"{group}/type", "identity")


def root_port(bus: int, device: int, numa_node: int, cpus: str, speed: float, group: int) -> Function:
    """The port that a device sits on: one PCI domain root per device."""
    root = f"pci0000:{bus:02x}"
    bdf = bdf_of(bus, device, 1)
    return Function(
        bdf=bdf, place=f"{root}/{bdf}", vendor=0x1022, device=ROOT_PORT, subsystem=(0x1022, 0x1453), revision=1,
        class_code=0x060400, numa_node=numa_node, cpus=cpus, speed=speed, width=16, driver="pcieport",
        iommu_group=group,
    )  # fmt: skip


def _uevent(f: Function) -> str:
    lines = [
        f"PCI_CLASS={f.class_code:X}", f"PCI_ID={f.vendor:04X}:{f.device:04X}",
        f"PCI_SUBSYS_ID={f.subsystem[0]:04X}:{f.subsystem[1]:04X}", f"PCI_SLOT_NAME={f.bdf}",
        f"MODALIAS={_modalias(f)}",
    ]  # fmt: skip
    return "\n".join(([f"DRIVER={f.driver}"] if f.driver else []) + lines)


def _modalias(f: Function) -> str:
    code = f"{f.class_code:06x}"
    return (
        f"pci:v{f.vendor:08X}d{f.device:08X}sv{f.subsystem[0]:08X}sd{f.subsystem[1]:08X}"
        f"bc{code[:2]}sc{code[2:4]}i{code[4:]}"
    )


def _resource(f: Function) -> str:
    lines: list[str] = []
    for start, size, flags in f.bars:
        lines.append(f"0x{start:016x} 0x{start + size - 1:016x} 0x{flags:016x}" if size else _NO_RESOURCE)
    lines += [_NO_RESOURCE] * (13 - len(lines))
    return "\n".join(lines)


_NO_RESOURCE = "0x0000000000000000 0x0000000000000000 0x0000000000000000"


def _aer(names: tuple[str, ...], total: str) -> str:
    return "\n".join([*(f"{name} 0" for name in names), f"TOTAL_ERR_{total} 0"])


def aer_correctable(counts: dict[str, int]) -> str:
    """``aer_dev_correctable`` with these counts by name."""
    lines = [f"{name} {counts.get(name, 0)}" for name in CORRECTABLE]
    return "\n".join([*lines, f"TOTAL_ERR_COR {sum(counts.values())}"])


def config_space(f: Function) -> bytes:
    """4096 bytes: ids, a PCI Express capability, and for a bridge an ACS capability with redirection off."""
    bridge = f.class_code >> 8 == 0x0604
    data = bytearray(4096)
    struct.pack_into("<HHHH", data, 0, f.vendor, f.device, 0x0407, 0x0010)
    data[8] = f.revision
    data[9:12] = f.class_code.to_bytes(3, "little")
    data[0x0E] = 1 if bridge else 0
    struct.pack_into("<HH", data, 0x2C, *(f.subsystem if not bridge else (0, 0)))
    data[0x34] = 0x40
    data[0x40], data[0x41] = 0x10, 0
    port = 4 if bridge else 0
    struct.pack_into("<H", data, 0x42, port << 4 | 2)
    abilities = (0x40 if bridge else 0) | (0x380 if f.atomics else 0)
    struct.pack_into("<I", data, 0x40 + 0x24, abilities)
    struct.pack_into("<H", data, 0x40 + 0x28, 0x40 if f.atomics and not bridge else 0)
    if bridge:
        struct.pack_into("<I", data, 0x100, 0x000D | 1 << 16)
        struct.pack_into("<HH", data, 0x104, 0x005F, 0)
    return bytes(data)
