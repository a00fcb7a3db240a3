"""Which GPUs there are now."""

from __future__ import annotations

from rocsteady.exporter.batch import Batch
from rocsteady.facts.drm_device import DRM, CardPlace, find_cards
from rocsteady.hostfs import HostFS
from rocsteady.model import ReadError

KEPT = 64
"""Scrapes after which the cards are looked up anew even if the list of names is the same (a rebind keeps it)."""


class Cards:
    """The GPUs of a tree. Looked up again when the list of DRM nodes changes: a GPU was unplugged or came back."""

    def __init__(self) -> None:
        self._names: list[str] | None = None
        self._places: list[CardPlace] = []
        self._left = 0

    def places(self, fs: HostFS, batch: Batch) -> list[CardPlace]:
        """GPUs by card number, partitions left out."""
        return [place for place in self.all(fs, batch) if not place.partition]

    def all(self, fs: HostFS, batch: Batch) -> list[CardPlace]:
        """GPUs and the cards of their partitions."""
        try:
            names = fs.names(DRM)
        except ReadError:
            names = None
        if names is None or names != self._names or self._left == 0:
            self._places, gaps = find_cards(fs)
            batch.gaps(gap for gap in gaps if not gap.why.startswith("absent"))
            self._names, self._left = names, KEPT
        self._left -= 1
        return self._places


def key(place: CardPlace) -> str:
    """Value of the label ``gpu``: the PCI address, or the DRM card where that is not known."""
    return place.bdf or f"card{place.card}"
