"""Every shape is healthy, is read back exactly as it was written, and comes out the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.cli.gather import diagnose_input
from rocsteady.facts.drm_device import find_cards, read_card
from rocsteady.facts.gpu_metrics import Metrics, read_metrics
from rocsteady.facts.infiniband import read_rdma_devices
from rocsteady.facts.kfd_processes import read_kfd_processes
from rocsteady.facts.kfd_topology import Topology, gpus_of, read_topology
from rocsteady.facts.pci import read_pci
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.lab import SHAPES, Node, build_node
from rocsteady.model import InputError
from rocsteady.model.facts import RasBlock
from tests.support import NOW

NAMES = list(SHAPES)
WITH_GPU = [name for name in NAMES if SHAPES[name].part is not None]
VERSIONS_300 = ("1.4", "1.5", "1.6", "1.7", "1.8", "1.9")


def fs_of(node: Node) -> HostFS:
    return HostFS(MemoryStore(node.tree.contents()), live=False)


@pytest.mark.parametrize("name", NAMES)
def test_healthy(name: str) -> None:
    node = build_node(SHAPES[name], seed=3)
    answer = diagnose_input(Input(fs_of(node), "tree", name), load_catalog(), NOW)
    assert [(f.slug, f.title) for f in answer.findings if f.severity != "info" or f.role == "cause"] == []
    assert answer.verdict == ("healthy" if node.slots else "unknown")
    # What a node without a GPU leaves open is said with the command that would tell; nothing was unreadable.
    assert not [gap for gap in answer.gaps if not gap.why.startswith("absent")]


@pytest.mark.parametrize("name", WITH_GPU)
def test_cards_are_read_back(name: str) -> None:
    node = build_node(SHAPES[name], seed=5)
    fs, shape, part = fs_of(node), node.shape, node.shape.part
    assert part is not None
    places, gaps = find_cards(fs)
    cards = [read_card(fs, place) for place in places if not place.partition]
    assert not gaps and len(cards) == len(node.slots)
    assert len(places) == len(node.slots) * (8 if part.instinct_300 else 1)
    for card, slot, state in zip(cards, node.slots, node.states, strict=True):
        assert (card.place.bdf, card.place.card, card.place.render_minor) == (slot.bdf, slot.card, slot.minor)
        assert card.unique_id == f"{state.unique_id:016x}" and card.serial == state.serial
        assert card.memory.vram_total == part.vram and card.memory.vram_used == state.vram_used
        assert card.firmware == {block: number for block, number in part.firmware.items() if number}
        expected = RasBlock(ue=0, ce=0, de=0) if part.instinct_300 else RasBlock(ue=0, ce=0)
        assert card.ras is not None and card.ras.blocks == dict.fromkeys(part.ras_blocks, expected)
        assert card.gpu_busy == state.busy and card.pcie_replays == 0
        assert card.pci.device.link.speed == part.pcie_speed and card.pci.device.numa_node == slot.numa_node
        assert card.pci.device.atomics_requester is True
        assert (card.compute_mode, card.memory_mode) == (
            (shape.compute_mode, shape.memory_mode) if part.instinct_300 else (None, None)
        )
        assert card.hwmon is not None and card.hwmon.powers["PPT"].now == (state.power if state.primary else 0)
        assert set(card.hwmon.temperatures) == (
            {"junction", "mem"} if part.instinct_300 else {"edge", "junction", "mem"}
        )
        assert (card.xgmi is not None) == part.xgmi and card.gaps == ()
        if card.xgmi is not None:
            assert card.xgmi.physical_id == slot.number and card.xgmi.hops[slot.number] == 0
            assert len(card.xgmi.ports) == sum(1 for n in card.xgmi.links if n)


@pytest.mark.parametrize("name", WITH_GPU)
def test_topology_is_read_back(name: str) -> None:
    node = build_node(SHAPES[name])
    fs, shape = fs_of(node), node.shape
    topology = read_topology(fs)
    assert isinstance(topology, Topology) and not topology.gaps and shape.part is not None
    gpus = gpus_of(topology.nodes)
    assert [g.bdf for g in gpus] == [slot.bdf for slot in node.slots]
    assert [len(g.nodes) for g in gpus] == [shape.partitions] * len(node.slots)
    for gpu, state in zip(gpus, node.states, strict=True):
        assert gpu.unique_id == state.unique_id
        assert sum(n.compute_units or 0 for n in gpu.nodes) == shape.part.compute_units
    for entry in topology.nodes:
        assert entry.properties["io_links_count"] == len(entry.io_links)
        assert entry.properties["p2p_links_count"] == len(entry.p2p_links)
        assert entry.properties["caches_count"] == len(entry.caches)
        back = {(x.node_to, x.node_from) for x in entry.io_links}
        for peer, own in back:
            assert any(x.node_to == own for x in topology.nodes[peer].io_links)
    processes = read_kfd_processes(fs)
    assert isinstance(processes, tuple) and processes and all(p.gpus for p in processes)


@pytest.mark.parametrize("version", VERSIONS_300)
def test_metrics_of_every_version(version: str) -> None:
    node = build_node(SHAPES["mi300x8"], metrics=version)
    metrics = read_metrics(fs_of(node), "sys/class/drm/card0/device")
    state = node.states[0]
    assert isinstance(metrics, Metrics) and metrics.version == version and metrics.skipped == ()
    assert metrics.base("temperature_hotspot") == state.junction
    assert metrics.base("curr_socket_power") == state.power
    assert metrics.base("energy_accumulator") == pytest.approx(state.energy)
    assert metrics.array("xgmi_read_data_acc")[:7] == tuple(state.xgmi_read)
    stacks = metrics.base_array("temperature_hbm")
    assert stacks == (tuple(state.hbm) if version == "1.9" else ())
    if version in ("1.6", "1.7", "1.8"):
        assert metrics.partitions[0]["gfx_busy_inst"] == (state.busy,) * 8 and len(metrics.partitions) == 8


@pytest.mark.parametrize(("name", "count"), [("mi210x4", 4), ("mi250x4", 4), ("w7900x2", 0)])
def test_metrics_1_3(name: str, count: int) -> None:
    node = build_node(SHAPES[name])
    metrics = read_metrics(fs_of(node), "sys/class/drm/card1/device")
    assert isinstance(metrics, Metrics) and metrics.version == "1.3"
    assert metrics.base_array("temperature_hbm")[:count] == tuple(node.states[0].hbm)
    assert metrics.base("temperature_edge") == node.states[0].edge


def test_partition_metrics() -> None:
    node = build_node(SHAPES["mi300x8-cpx"])
    fs = fs_of(node)
    for number, busy in ((0, node.states[0].busy), (3, 0)):
        metrics = read_metrics(fs, f"sys/class/drm/card{number}/device", "partition_metrics")
        assert isinstance(metrics, Metrics) and metrics.array("gfx_busy_inst")[0] == busy


def test_nics() -> None:
    node = build_node(SHAPES["mi300x8"])
    devices = read_rdma_devices(fs_of(node))
    assert isinstance(devices, tuple) and len(devices) == 8
    for device, nic in zip(devices, node.shape.nics, strict=True):
        (port,) = device.ports
        assert device.bdf == f"0000:{nic.bus:02x}:00.0" and device.driver == "mlx5_core"
        assert (port.state, port.physical_state, port.rate, port.link_layer) == ("ACTIVE", "LinkUp", 400.0, "Ethernet")
        assert len(port.counters) == 21 and len(port.hw_counters) == 28


def test_bridges_are_parents() -> None:
    functions = read_pci(fs_of(build_node(SHAPES["w7900x2"])))
    assert isinstance(functions, dict)
    gpu = functions["0000:c3:00.0"].device
    assert gpu.parent == "0000:c2:00.0" and functions["0000:c2:00.0"].device.is_bridge
    assert functions["0000:c1:00.0"].device.acs is False and gpu.bars[0].size == 1 << 36


def test_same_seed_same_bytes_and_other_seed_other_values() -> None:
    first, again, other = (build_node(SHAPES["mi210x4"], seed=seed) for seed in (1, 1, 2))
    assert first.tree.contents() == again.tree.contents()
    assert first.states[0].unique_id != other.states[0].unique_id


def test_written_tree_equals_the_one_in_memory(tmp_path: Path) -> None:
    node = build_node(SHAPES["w7900x2"])
    node.tree.write(tmp_path / "node")
    for path, data in node.tree.files.items():
        assert (tmp_path / "node" / path).read_bytes() == data
    for path, target in node.tree.links.items():
        link = tmp_path / "node" / path
        assert str(link.readlink()) == target and link.resolve().is_relative_to(tmp_path)
    assert (tmp_path / "node" / "SYNTHETIC.txt").read_text().startswith("synthetic")


def test_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    (tmp_path / "something").write_text("")
    with pytest.raises(InputError, match="not empty"):
        build_node(SHAPES["no-gpu"]).tree.write(tmp_path)
    with pytest.raises(InputError, match=r"1\.3"):
        build_node(SHAPES["mi210x4"], metrics="1.8")
