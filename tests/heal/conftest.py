"""A folder in memory: the journal syncs every commit, and thousands of them would wait for a disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SHM = Path("/dev/shm")


def memory_folder() -> str | None:
    return str(SHM) if SHM.is_dir() and os.access(SHM, os.W_OK) else None


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """Like tmp_path, in memory where there is such a place."""
    del tmp_path
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        yield Path(name)
