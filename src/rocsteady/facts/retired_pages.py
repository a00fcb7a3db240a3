"""Pages of GPU memory that RAS took out of use.

Source: /sys/class/drm/card*/device/ras/gpu_vram_bad_pages
Docs:   https://docs.kernel.org/gpu/amdgpu/ras.html
Sample: ``0x00000001 : 0x00001000 : R`` (page number, page size, flag); an empty file means no such page.
Flags: R reserved, P pending (reserved at the next reset or driver load), F could not be reserved.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

LINE = re.compile(r"\s*(0x[0-9a-fA-F]{1,16})\s*:\s*(0x[0-9a-fA-F]{1,16})\s*:\s*([RPF])\s*")
FILE = "ras/gpu_vram_bad_pages"


class RetiredPage(msgspec.Struct, frozen=True):
    """One page; ``size`` in bytes."""

    page: int
    size: int
    flag: str


class RetiredPages(msgspec.Struct, frozen=True):
    """All pages of one GPU, in file order."""

    pages: tuple[RetiredPage, ...]

    def count(self, flag: str) -> int:
        """Pages with a flag."""
        return sum(1 for p in self.pages if p.flag == flag)

    @property
    def retired(self) -> int:
        """Pages out of use."""
        return self.count("R")

    @property
    def pending(self) -> int:
        """Pages that will be taken out of use at the next reset."""
        return self.count("P")

    @property
    def unreservable(self) -> int:
        """Pages that are bad and stay in use."""
        return self.count("F")


def parse_retired_pages(text: str) -> RetiredPages | Malformed:
    """Every line must be a page: a cut or strange line makes the count unknown."""
    pages: list[RetiredPage] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        match = LINE.fullmatch(line)
        if match is None:
            return Malformed(f"page : size : flag was wanted, found {shown(line)}")
        pages.append(RetiredPage(int(match[1], 16), int(match[2], 16), match[3]))
    return RetiredPages(tuple(pages))


def read_retired_pages(fs: HostFS, device: str) -> RetiredPages | Gap:
    """Retired pages of one card; absent where bad page retirement is off."""
    return parse_file(fs, f"{device}/{FILE}", parse_retired_pages)
