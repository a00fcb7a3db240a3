"""Helpers for tests: inputs from strings, and the whole diagnosis of them."""

from __future__ import annotations

from pathlib import Path

from rocsteady.catalog import Catalog
from rocsteady.cli.gather import diagnose_input
from rocsteady.cli.verify import NOW, example_input
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model import Diagnosis

__all__ = ["NOW", "SHARED", "example_input", "heap", "judged", "tree"]

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Read-only material beside the checkout; tests that need it skip without it."""


def tree(files: dict[str, str | bytes]) -> Input:
    """A tree from paths and contents."""
    return Input(HostFS(MemoryStore(files), live=False), "tree", "synthetic")


def heap(files: dict[str, str | bytes]) -> Input:
    """Loose files from names and contents."""
    return Input(HostFS(MemoryStore(files), live=False), "heap", "synthetic")


def judged(source: Input, catalog: Catalog) -> Diagnosis:
    """Read and judge."""
    return diagnose_input(source, catalog, NOW)
