"""The machine's make, and whether it is a virtual one.

Source: /sys/class/dmi/id/*, /proc/cpuinfo, /sys/hypervisor/type
Samples: ``product_name`` = ``PowerEdge XE9680``; cpuinfo ``model name	: AMD EPYC 9654 96-Core Processor``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

DMI = "sys/class/dmi/id"
CPUINFO = "proc/cpuinfo"
HYPERVISORS = (
    ("KVM", "kvm"), ("QEMU", "kvm"), ("VMware", "vmware"), ("Virtual Machine", "microsoft"), ("VirtualBox", "oracle"),
    ("Xen", "xen"), ("Amazon EC2", "amazon"), ("Google Compute Engine", "google"), ("OpenStack", "kvm"),
    ("Bochs", "bochs"), ("Standard PC", "kvm"),
)  # fmt: skip
"""Words of system and product names by which systemd-detect-virt tells virtual machines."""
EMPTY = ("", "none", "default string", "to be filled by o.e.m.", "system product name", "not specified", "0123456789")


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """``hypervisor``: the CPU says that it is a virtual one."""

    name: str | None
    vendor: str | None
    sockets: int | None
    threads: int
    hypervisor: bool


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """As the firmware states it; the board maker's fillers count as unknown."""

    vendor: str | None
    product: str | None
    board: str | None
    bios_version: str | None
    bios_date: str | None
    virtualization: str | None
    folder: Folder


def parse_cpuinfo(text: str) -> Cpu | Malformed:
    """x86 layout; other architectures print other keys."""
    values: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            values.setdefault(key.strip(), []).append(value.strip())
    threads = len(values.get("processor", []))
    if not threads:
        return Malformed(f"'processor : N' was wanted, found {shown(text)}")
    sockets = set(values.get("physical id", []))
    flags = values.get("flags") or [""]
    return Cpu(
        name=(values.get("model name") or [""])[0] or None, vendor=(values.get("vendor_id") or [""])[0] or None,
        sockets=len(sockets) or None, threads=threads, hypervisor="hypervisor" in flags[0].split(),
    )  # fmt: skip


def read_cpu(fs: HostFS) -> Cpu | Gap:
    """The first CPU's name, and counts."""
    return parse_file(fs, CPUINFO, parse_cpuinfo, limit=16 << 20)


def read_machine(fs: HostFS) -> Machine:
    """DMI strings; all None on machines without DMI."""
    folder = Folder(fs, DMI)

    def text(name: str) -> str | None:
        value = folder.word(name)
        return None if value is None or value.lower() in EMPTY else value

    vendor, product = text("sys_vendor"), text("product_name")
    words = f"{vendor or ''} {product or ''}"
    virtual = next((kind for word, kind in HYPERVISORS if re.search(rf"\b{re.escape(word)}\b", words)), None)
    return Machine(
        vendor=vendor, product=product, board=text("board_name"), bios_version=text("bios_version"),
        bios_date=text("bios_date"), virtualization=virtual, folder=folder,
    )  # fmt: skip
