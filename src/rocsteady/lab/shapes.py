"""The node shapes of the lab, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocsteady.lab.parts import MI210, MI250, MI300X, W7900, Part

METRICS_DRIVERS = {
    "1.4": ("6.3.6", "6.0.2"), "1.5": ("6.7.0", "6.1.0"), "1.6": ("6.10.5", "6.3.0"), "1.7": ("6.12.12", "6.4.1"),
    "1.8": ("6.14.14", "7.0.2"), "1.9": ("6.18.3", "7.2.1"),
}  # fmt: skip
"""Of the MI300 family: which driver emits which version of gpu_metrics, and a ROCm release of that time."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine around the GPUs. One NUMA node per socket; ``memory_gib`` per node."""

    os: Literal["ubuntu-22.04", "ubuntu-24.04"]
    kernel: str
    vendor: str
    product: str
    cpu: str
    sockets: int
    cores: int
    """Per socket; simultaneous multithreading is off."""
    clock: int
    memory_gib: int
    driver: str
    rocm: str


class Nic(msgspec.Struct, frozen=True, kw_only=True):
    """One RDMA NIC."""

    bus: int
    name: str


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of node. ``buses``: PCI bus of each GPU in order; ``sockets``: its NUMA node.

    ``package``: GPUs that share one package (the two dies of an MI250).
    """

    name: str
    text: str
    host: Host
    part: Part | None = None
    buses: tuple[int, ...] = ()
    sockets: tuple[int, ...] = ()
    package: int = 1
    compute_mode: str = "SPX"
    memory_mode: str = "NPS1"
    nics: tuple[Nic, ...] = ()

    @property
    def partitions(self) -> int:
        """Logical devices per GPU."""
        return 8 if self.compute_mode == "CPX" else 1


_PCIE = Host(
    os="ubuntu-22.04", kernel="5.15.0-164-generic", vendor="Supermicro", product="AS -4124GS-TNR",
    cpu="AMD EPYC 7763 64-Core Processor", sockets=2, cores=64, clock=2450, memory_gib=256, driver="6.12.12",
    rocm="6.4.1",
)  # fmt: skip
_OAM = Host(
    os="ubuntu-22.04", kernel="5.15.0-164-generic", vendor="Supermicro", product="AS -8125GS-TNMR2",
    cpu="AMD EPYC 9654 96-Core Processor", sockets=2, cores=96, clock=2400, memory_gib=1024, driver="6.18.3",
    rocm="7.2.1",
)  # fmt: skip
_WORKSTATION = Host(
    os="ubuntu-24.04", kernel="6.8.0-60-generic", vendor="ASUS", product="Pro WS WRX90E-SAGE SE",
    cpu="AMD Ryzen Threadripper PRO 7965WX 24-Cores", sockets=1, cores=24, clock=4200, memory_gib=256,
    driver="6.12.12", rocm="6.4.1",
)  # fmt: skip
_EIGHT = (0x05, 0x26, 0x46, 0x65, 0x85, 0xA6, 0xC6, 0xE5)
_HALVES = (0, 0, 0, 0, 1, 1, 1, 1)
_NICS = tuple(Nic(bus=bus + 7, name=f"mlx5_{number}") for number, bus in enumerate(_EIGHT))

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape(
            name="mi210x4", text="four MI210 PCIe cards in one XGMI bridge", host=_PCIE, part=MI210,
            buses=(0x03, 0x26, 0x43, 0x63), sockets=(0, 0, 0, 0),
        ),
        Shape(
            name="mi250x4", text="four MI250 OAMs, eight devices", host=_PCIE, part=MI250,
            buses=(0x29, 0x2C, 0x2F, 0x32, 0xAD, 0xB0, 0xB3, 0xB6), sockets=_HALVES, package=2,
        ),
        Shape(
            name="mi300x8", text="eight MI300X OAMs, SPX and NPS1, eight RDMA NICs", host=_OAM, part=MI300X,
            buses=_EIGHT, sockets=_HALVES, nics=_NICS,
        ),
        Shape(
            name="mi300x8-cpx", text="eight MI300X OAMs, CPX and NPS4: 64 partitions, eight RDMA NICs", host=_OAM,
            part=MI300X, buses=_EIGHT, sockets=_HALVES, compute_mode="CPX", memory_mode="NPS4", nics=_NICS,
        ),
        Shape(
            name="w7900x2", text="two Radeon PRO W7900", host=_WORKSTATION, part=W7900, buses=(0x03, 0xC3),
            sockets=(0, 0),
        ),
        Shape(name="no-gpu", text="a server without a GPU", host=_PCIE),
    )
}  # fmt: skip
