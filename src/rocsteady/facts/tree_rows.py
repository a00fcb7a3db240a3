"""Small helpers for making rows of what a reader returned."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts.parse_file import Folder, is_absent
from rocsteady.model import Evidence, Fact, Gap

KERNEL_INTERFACE = 3
"""Rank of what a kernel interface or a file of the system itself states."""

Row = Fact | Gap


def known(path: str, value: object, evidence: Evidence) -> Iterator[Fact]:
    """One row, none when the value is not known."""
    if value is not None and value != () and value != {}:
        yield Fact(path, value, evidence, KERNEL_INTERFACE)


def from_file(path: str, folder: Folder, name: str, value: object, start: str | None = None) -> Iterator[Fact]:
    """One row that a file of a folder states."""
    if value is not None and value != () and value != {}:
        yield Fact(path, value, folder.evidence(name, start), KERNEL_INTERFACE)


def worth_listing(gap: object) -> Iterator[Gap]:
    """A gap, unless the interface is simply not there."""
    if isinstance(gap, Gap) and not is_absent(gap):
        yield gap
