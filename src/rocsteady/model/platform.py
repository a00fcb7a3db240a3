"""Facts about the platform around the GPUs: IOMMU, pressure, RDMA."""

from __future__ import annotations

import msgspec


class Iommu(msgspec.Struct, kw_only=True):
    """Whether devices' memory accesses are translated.

    ``types`` are the distinct types of all groups: identity (pass-through), DMA, DMA-FQ (translated).
    """

    active: bool | None = None
    types: tuple[str, ...] | None = None
    groups: int | None = None


class Rdma(msgspec.Struct, kw_only=True):
    """One RDMA device, its first port; rate in Gbit/s."""

    bdf: str | None = None
    driver: str | None = None
    firmware: str | None = None
    state: str | None = None
    physical_state: str | None = None
    rate: float | None = None
    link_layer: str | None = None
