"""Helpers for tests: inputs from strings, and the whole diagnosis of them."""

from __future__ import annotations

from pathlib import Path

from rocsteady.catalog import Catalog
from rocsteady.catalog.modes import Example
from rocsteady.cli.gather import diagnose_input
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model import Diagnosis

NOW = 1_796_000_000.0
"""A fixed moment: tests never read the clock."""

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Read-only material beside the checkout; tests that need it skip without it."""


def tree(files: dict[str, str | bytes]) -> Input:
    """A tree from paths and contents."""
    return Input(HostFS(MemoryStore(files), live=False), "tree", "synthetic")


def heap(files: dict[str, str | bytes]) -> Input:
    """Loose files from names and contents."""
    return Input(HostFS(MemoryStore(files), live=False), "heap", "synthetic")


def example_input(example: Example) -> Input:
    """The input that a catalog example describes; logs of a tree lie in /var/log."""
    if example.tree:
        logs = {f"var/log/{name}": text for name, text in example.log.items()}
        return tree({**example.tree, **logs})
    return heap(dict(example.log))


def judged(source: Input, catalog: Catalog) -> Diagnosis:
    """Read and judge."""
    return diagnose_input(source, catalog, NOW)
