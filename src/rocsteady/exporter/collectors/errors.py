"""RAS counts, retired pages, PCIe errors and link, and XGMI of each GPU."""

from __future__ import annotations

import re

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.cards import Cards, key
from rocsteady.facts.parse_file import Folder
from rocsteady.facts.pci import parse_aer, read_link
from rocsteady.facts.ras import read_ras
from rocsteady.facts.retired_pages import read_retired_pages
from rocsteady.facts.xgmi import read_xgmi
from rocsteady.hostfs import HostFS
from rocsteady.metrics import gpu_errors as m
from rocsteady.model import Gap
from rocsteady.model.facts import PcieLink

CLASSES = (("ue", "uncorrected"), ("ce", "corrected"), ("de", "deferred"))
AER_FILES = (("aer_dev_correctable", "correctable"), ("aer_dev_nonfatal", "nonfatal"), ("aer_dev_fatal", "fatal"))
GIGA = 1e9


class RasCollector:
    """Error counts and bad pages."""

    name = "gpu_ras"

    def __init__(self, fs: HostFS) -> None:
        self._fs = fs
        self._cards = Cards()

    def collect(self, batch: Batch) -> None:
        """All GPUs."""
        for place in self._cards.places(self._fs, batch):
            gpu = key(place)
            ras = read_ras(self._fs, place.path)
            if ras is not None:
                for block, counts in ras.blocks.items():
                    for field, name in CLASSES:
                        batch.add(m.RAS, getattr(counts, field), gpu, block, name)
                for event, seen in ras.events.items():
                    batch.add(m.RAS_EVENTS, seen.count, gpu, event.replace(" ", "_"))
                batch.gaps(ras.folder.gaps)
            pages = read_retired_pages(self._fs, place.path)
            if isinstance(pages, Gap):
                if not pages.why.startswith("absent"):
                    batch.gap(pages)
                continue
            for kind in ("retired", "pending", "unreservable"):
                batch.add(m.PAGES, getattr(pages, kind), gpu, kind)

    def close(self) -> None:
        """Nothing is held."""


class PcieCollector:
    """Link and AER counts."""

    name = "gpu_pcie"

    def __init__(self, fs: HostFS) -> None:
        self._fs = fs
        self._cards = Cards()

    def collect(self, batch: Batch) -> None:
        """All GPUs."""
        for place in self._cards.places(self._fs, batch):
            gpu = key(place)
            folder = Folder(self._fs, place.path)
            add_link(batch, gpu, read_link(folder))
            batch.add(m.PCIE_REPLAY, folder.integer("pcie_replay_count"), gpu)
            for file, name in AER_FILES:
                for kind, count in (folder.parsed(file, parse_aer) or {}).items():
                    if not kind.startswith("TOTAL"):
                        batch.add(m.AER, count, gpu, name, kind)
            batch.gaps(folder.gaps)

    def close(self) -> None:
        """Nothing is held."""


def add_link(batch: Batch, gpu: str, link: PcieLink) -> None:
    """Speed and width, now and at most."""
    batch.add(m.PCIE_SPEED, None if link.speed is None else link.speed * GIGA, gpu, "current")
    batch.add(m.PCIE_SPEED, None if link.max_speed is None else link.max_speed * GIGA, gpu, "max")
    batch.add(m.PCIE_WIDTH, link.width, gpu, "current")
    batch.add(m.PCIE_WIDTH, link.max_width, gpu, "max")


class XgmiCollector:
    """Hive, links and their state."""

    name = "gpu_xgmi"

    def __init__(self, fs: HostFS) -> None:
        self._fs = fs
        self._cards = Cards()

    def collect(self, batch: Batch) -> None:
        """All GPUs."""
        for place in self._cards.places(self._fs, batch):
            gpu = key(place)
            folder = Folder(self._fs, place.path)
            xgmi = read_xgmi(folder)
            if xgmi is not None:
                batch.add(m.XGMI_INFO, 1, gpu, text(xgmi.hive_id), text(xgmi.device_id), text(xgmi.physical_id))
                for peer, hops in enumerate(xgmi.hops):
                    if hops:
                        batch.add(m.XGMI_HOPS, hops, gpu, str(peer))
                if xgmi.links:
                    batch.add(m.XGMI_LINKS, sum(xgmi.links), gpu, "wired")
            batch.gaps(folder.gaps)

    def close(self) -> None:
        """Nothing is held."""


def text(value: object) -> str:
    """A label value; '' for unknown."""
    return "" if value is None else re.sub(r"[\x00-\x1f\x7f]", " ", str(value))[:120]
