"""Real trees are read without exceptions, give the right identities, and no cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.facts import Builder
from rocsteady.facts.gpu_metrics import read_metrics
from rocsteady.facts.kfd_topology import Topology, gpus_of, read_topology
from rocsteady.facts.tree import read_tree
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model import NodeFacts
from tests.facts.captured import CAPTURES, LACT, PLUGIN, TOPOLOGY, card_tree, folder_tree, packed_topology
from tests.support import judged, tree

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not CAPTURES.is_dir(), reason="needs the material beside the checkout"),
]
CARDS = sorted(p for p in LACT.iterdir() if p.is_dir()) if LACT.is_dir() else []
METRICS = {
    "rx6900xt": "1.3",
    "rx7600s": "1.3",
    "rx7800xt": "1.3",
    "rx9070": "1.3",
    "phoenix": "2.1",
    "strixpoint": "3.0",
}


def facts_of(files: dict[str, str | bytes]) -> NodeFacts:
    builder = Builder()
    builder.add(read_tree(HostFS(MemoryStore(files), live=False)))
    return builder.build()


@pytest.mark.parametrize("folder", [pytest.param(p, id=p.name) for p in CARDS])
def test_radeon_trees(folder: Path) -> None:
    files = card_tree(folder)
    facts = facts_of(files)
    answer = judged(tree(files), load_catalog())
    # Owners tune such cards: a lowered power cap is a fair remark, but nothing here is broken.
    assert not [f for f in answer.findings if f.role == "cause"]
    uevents = [str(text) for path, text in files.items() if path.endswith("/device/uevent")]
    expected = sum("DRIVER=amdgpu" in text for text in uevents)
    assert len([gpu for gpu in facts.gpus if gpu.bdf and gpu.driver == "amdgpu"]) == expected
    assert not [gap for gap in facts.gaps if "xgmi" in gap.path]


@pytest.mark.parametrize("name", sorted(METRICS))
def test_real_metrics_tables(name: str) -> None:
    (card,) = [p.name for p in (LACT / name).iterdir() if p.name.startswith("card")]
    metrics = read_metrics(HostFS(MemoryStore(card_tree(LACT / name))), f"sys/class/drm/{card}/device")
    assert metrics.version == METRICS[name]  # type: ignore[union-attr]


def test_metrics_agree_with_hwmon() -> None:
    fs = HostFS(MemoryStore(card_tree(LACT / "rx7800xt")))
    metrics = read_metrics(fs, "sys/class/drm/card1/device")
    assert metrics.base("temperature_hotspot") == 31  # type: ignore[union-attr]
    gpu = facts_of(card_tree(LACT / "rx7800xt")).gpus[0]
    assert (gpu.sensors.junction, gpu.sensors.power, gpu.sensors.fan) == (31.0, 32.0, 868)
    assert (gpu.vbios, gpu.memory.vendor, gpu.performance_level) == ("113-EXT90249-100", "samsung", "manual")


@pytest.mark.parametrize(
    ("name", "nodes", "gpus", "gfx"),
    [("topology-parsing-mi308.tar.gz", 34, {4}, "gfx942"), ("topo-mi300-cpx.tar.gz", 65, {7, 8}, "gfx942")],
)
def test_partitions_are_grouped(name: str, nodes: int, gpus: set[int], gfx: str) -> None:
    topology = read_topology(HostFS(MemoryStore(packed_topology(name)), live=False))
    assert isinstance(topology, Topology)
    groups = gpus_of(topology.nodes)
    assert len(topology.nodes) == nodes and len(groups) == 8
    assert {len(g.nodes) for g in groups} == gpus
    assert {n.gfx for g in groups for n in g.nodes} == {gfx}
    assert all(g.bdf.endswith(":00.0") for g in groups)


def test_mi210_hives() -> None:
    files = folder_tree(PLUGIN / "topo-mi210-xgmi-pcie" / "nodes", f"{TOPOLOGY}/nodes")
    gpus = facts_of(files).gpus
    assert [g.bdf for g in gpus][:2] == ["0000:03:00.0", "0000:26:00.0"]
    assert {g.gfx for g in gpus} == {"gfx90a"} and {g.cu_count for g in gpus} == {104}
    assert len({g.hive_id for g in gpus}) == 2 and all(len(g.xgmi_links) == 3 for g in gpus)


def test_a_missing_partition_is_found() -> None:
    whole = judged(tree(packed_topology("topology-parsing-mi308.tar.gz")), load_catalog())
    assert not [f for f in whole.findings if f.severity != "info"]
    short = judged(tree(packed_topology("topo-mi300-cpx.tar.gz")), load_catalog())
    (finding,) = [f for f in short.findings if f.role == "cause"]
    assert finding.slug == "drm-minor-limit-hides-partitions" and "63 of 64" in finding.title
