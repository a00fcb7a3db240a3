"""The IOMMU: units, groups and how each group translates.

Source: /sys/class/iommu/*, /sys/kernel/iommu_groups/<N>/{type, devices/*}
Docs:   https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-kernel-iommu_groups
Sample: ``type`` = ``identity`` (pass-through), ``DMA`` or ``DMA-FQ`` (translated); the file is root's on some kernels.
"""

from __future__ import annotations

import msgspec

from rocsteady.facts.parse_file import Folder
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

GROUPS = "sys/kernel/iommu_groups"
UNITS = "sys/class/iommu"


class IommuGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group; ``type`` None where it could not be read."""

    number: str
    type: str | None
    devices: tuple[str, ...]


class IommuState(msgspec.Struct, frozen=True, kw_only=True):
    """No unit and no group: the IOMMU is off. ``known`` False: the tree shows neither directory."""

    known: bool
    units: tuple[str, ...]
    groups: tuple[IommuGroup, ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def active(self) -> bool | None:
        """Whether the kernel uses an IOMMU."""
        return bool(self.groups) if self.known else None


def read_iommu(fs: HostFS) -> IommuState:
    """All units and groups."""
    units = Folder(fs, UNITS)
    folder = Folder(fs, GROUPS)
    names = folder.names()
    groups: list[IommuGroup] = []
    for number in sorted((n for n in names if n.isascii() and n.isdigit() and len(n) < 8), key=int):
        groups.append(
            IommuGroup(
                number=number, type=folder.word(f"{number}/type"), devices=tuple(folder.names(f"{number}/devices"))
            )
        )
    return IommuState(
        known=bool(names) or fs.is_dir(GROUPS) or fs.is_dir(UNITS),
        units=tuple(units.names()),
        groups=tuple(groups),
        gaps=tuple(folder.gaps[:1]),
    )
