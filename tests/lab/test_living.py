"""A living node moves, is the same for the same seed, and what it writes is read back by the readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.facts.gpu_metrics import Metrics, read_metrics
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.store import DirectoryStore
from rocsteady.lab import SHAPES
from rocsteady.lab.live import LivingNode
from rocsteady.model import InputError

WITH_GPU = [name for name, shape in SHAPES.items() if shape.part is not None]


def fs_of(root: Path) -> HostFS:
    return HostFS(DirectoryStore(root), live=False)


def files_of(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and not p.is_symlink()}


def test_same_seed_same_bytes_other_seed_other_course(tmp_path: Path) -> None:
    nodes = [LivingNode("mi210x4", tmp_path / name, "ras-ue", seed) for name, seed in (("a", 4), ("b", 4), ("c", 5))]
    for node in nodes:
        for seconds in (1.0, 15.0, 60.0, 0.5):
            node.advance(seconds)
    first, again, other = (files_of(tmp_path / name) for name in "abc")
    assert first == again
    assert first.keys() == other.keys() and first != other


@pytest.mark.parametrize("shape", WITH_GPU)
def test_tables_are_read_back(shape: str, tmp_path: Path) -> None:
    node = LivingNode(shape, tmp_path / "n", seed=2)
    for _ in range(3):
        node.advance(15)
        for slot, body in zip(node.still.slots, node.bodies, strict=True):
            table = read_metrics(fs_of(tmp_path / "n"), f"sys/class/drm/card{slot.card}/device")
            assert isinstance(table, Metrics)
            state = body.state
            power = table.base("curr_socket_power")
            power = table.base("average_socket_power") if power is None else power
            assert power == (state.power if state.primary else 0)
            assert table.base("temperature_hotspot") == state.junction
            assert table.raw("system_clock_counter") == int(state.uptime * 1e9)


def test_energy_is_the_integral_of_power(tmp_path: Path) -> None:
    node = LivingNode("mi300x8", tmp_path / "n")
    before, total = [b.state.energy for b in node.bodies], [0.0] * 8
    for seconds in (1.0, 7.5, 15.0, 2.0, 15.0):
        node.advance(seconds)
        for gpu, body in enumerate(node.bodies):
            total[gpu] += body.state.power * seconds
    assert [b.state.energy - e for b, e in zip(node.bodies, before, strict=True)] == pytest.approx(total)


def test_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("")
    with pytest.raises(InputError, match="not empty"):
        LivingNode("no-gpu", tmp_path / "full")
    with pytest.raises(InputError, match="ras-ue"):
        LivingNode("mi210x4", tmp_path / "a", "nonsense")
    with pytest.raises(InputError, match="mi300x8"):
        LivingNode("w7900x2", tmp_path / "b", "ras-ue")
    with pytest.raises(InputError, match="GPU 9"):
        LivingNode("mi300x8", tmp_path / "c", "ras-ue", gpu=9)
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists() and not (tmp_path / "c").exists()
