"""RDMA devices and their ports: state, rate, counters.

Source: /sys/class/infiniband/<device>/{fw_ver, hca_type, node_desc, ports/<N>/{state, phys_state, rate, link_layer,
        counters/*, hw_counters/*}}
Docs:   https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband
Samples: ``4: ACTIVE``, ``5: LinkUp``, ``400 Gb/sec (4X NDR)``; port_xmit_data and port_rcv_data count 4 bytes each.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, gap_of, shown
from rocsteady.facts.pci import BDF
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

CLASS = "sys/class/infiniband"
OCTETS_PER_COUNT = 4
"""port_xmit_data and port_rcv_data are in units of four octets."""
NOT_SUPPORTED = "N/A (no PMA)"


class RdmaPort(msgspec.Struct, frozen=True, kw_only=True):
    """One port; ``rate`` in Gbit/s, counters by file name and as printed (data counters not multiplied)."""

    number: int
    state: str | None
    physical_state: str | None
    rate: float | None
    link_layer: str | None
    counters: dict[str, int]
    hw_counters: dict[str, int]


class RdmaDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device by its name (mlx5_0, bnxt_re0)."""

    name: str
    bdf: str | None
    driver: str | None
    firmware: str | None
    hca_type: str | None
    ports: tuple[RdmaPort, ...]
    folder: Folder


def parse_state(text: str) -> str | Malformed:
    """``4: ACTIVE`` -> ``ACTIVE``."""
    match = re.fullmatch(r"\s*\d{1,2}:\s*([\w ]{1,30}?)\s*", text[:80])
    return match[1] if match else Malformed(f"'N: STATE' was wanted, found {shown(text)}")


def parse_rate(text: str) -> float | Malformed:
    """Gbit/s."""
    match = re.match(r"\s*(\d{1,5}(?:\.\d{1,2})?) ?Gb/sec", text)
    return float(match[1]) if match else Malformed(f"'N Gb/sec' was wanted, found {shown(text)}")


def read_rdma_devices(fs: HostFS) -> tuple[RdmaDevice, ...] | Gap:
    """All devices; a Gap where the class is not there (no RDMA stack loaded)."""
    try:
        names = fs.names(CLASS)
    except ReadError as error:
        return gap_of(CLASS, error)
    return tuple(_device(Folder(fs, f"{CLASS}/{name}"), name) for name in names)


def _device(folder: Folder, name: str) -> RdmaDevice:
    try:
        here = folder.fs.real(f"{folder.path}/device").rpartition("/")[2]
    except ReadError:
        here = ""
    ports = sorted((n for n in folder.names("ports") if n.isascii() and n.isdigit() and len(n) < 5), key=int)
    return RdmaDevice(
        name=name, bdf=here if BDF.fullmatch(here) else None, driver=folder.link("device/driver"),
        firmware=folder.word("fw_ver"), hca_type=folder.word("hca_type"),
        ports=tuple(_port(folder, int(n)) for n in ports), folder=folder,
    )  # fmt: skip


def _port(folder: Folder, number: int) -> RdmaPort:
    base = f"ports/{number}"
    return RdmaPort(
        number=number,
        state=folder.parsed(f"{base}/state", parse_state),
        physical_state=folder.parsed(f"{base}/phys_state", parse_state),
        rate=folder.parsed(f"{base}/rate", parse_rate),
        link_layer=folder.word(f"{base}/link_layer"),
        counters=_counters(folder, f"{base}/counters"),
        hw_counters=_counters(folder, f"{base}/hw_counters"),
    )


def _counters(folder: Folder, base: str) -> dict[str, int]:
    """Counters of one directory; ``lifespan`` is a setting and no counter."""
    values: dict[str, int] = {}
    for name in folder.names(base):
        text = folder.word(f"{base}/{name}") if name != "lifespan" else None
        if text is not None and text.isascii() and text.isdigit() and len(text) <= 20:
            values[name] = int(text)
    return values
