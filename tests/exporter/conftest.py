"""A synthetic MI300X node on disk, shared by the tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.lab import SHAPES, build_node


@pytest.fixture(scope="session")
def mi300x8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("node") / "mi300x8"
    build_node(SHAPES["mi300x8"], 0, None).tree.write(root)
    return root


@pytest.fixture(scope="session")
def mi300x8_cpx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("node") / "mi300x8-cpx"
    build_node(SHAPES["mi300x8-cpx"], 0, None).tree.write(root)
    return root
