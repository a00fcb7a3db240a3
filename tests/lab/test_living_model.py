"""The model: a healthy day, and what holds whatever is done to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocsteady.catalog import load_catalog
from rocsteady.cli.gather import diagnose_input
from rocsteady.facts.gpu_metrics import Metrics, read_metrics
from rocsteady.facts.ras import read_ras
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.lab import SHAPES
from rocsteady.lab.live import HEALTHY, LivingNode, living_scenarios
from rocsteady.lab.state import GpuState

HOUR = 3600.0


def fs_of(node: LivingNode) -> HostFS:
    return HostFS(MemoryStore(node.visible()), live=False)


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_healthy_day(shape: str) -> None:
    """24 simulated hours: no limit of any alert is near, the kernel says nothing, a diagnosis finds nothing."""
    node = LivingNode(shape, None, seed=11)
    boot = node.still.tree.files["var/log/dmesg"]
    for _ in range(96):
        node.advance(HOUR / 4)
        for body in node.bodies:
            state, part = body.state, body.part
            assert state.busy < 95 and max(state.xcd_busy) < 95
            assert state.junction < part.crit[1] - 15
            assert not state.hbm or (max(state.hbm) - min(state.hbm) < 10 and max(state.hbm) < part.crit[2] - 15)
            assert state.power < part.power_cap and state.throttled == () and sum(state.residency.values()) == 0
            assert state.vram_used == body.state.vram_used <= part.vram
    assert node.still.tree.files["var/log/dmesg"] == boot
    answer = diagnose_input(Input(fs_of(node), "tree", shape), load_catalog(), node.wall())
    assert [f for f in answer.findings if f.severity != "info" or f.role == "cause"] == []
    assert answer.verdict == ("healthy" if node.bodies else "unknown") and answer.unexplained == ()


def counters(state: GpuState) -> dict[str, float]:
    """Everything that may only grow, by name."""
    found: dict[str, float] = {
        "energy": state.energy, "ticks": state.accumulated, "memory": state.memory_activity, "replays": state.pcie_replays,
        "naks": state.pcie_naks, "traffic": state.pcie_traffic or 0, "uptime": state.uptime,
    }  # fmt: skip
    for name, values in (("activity", state.xcd_activity), ("read", state.xgmi_read), ("write", state.xgmi_write)):
        found |= {f"{name}{i}": value for i, value in enumerate(values)}
    for name, table in (
        ("ue", state.ue),
        ("ce", state.ce),
        ("de", state.de),
        ("r", state.residency),
        ("aer", state.aer),
    ):
        found |= {f"{name}.{key}": value for key, value in table.items()}
    return found


AFTER_RESET = ("energy", "ticks", "memory", "traffic", "activity", "read", "write", "r.")
"""What firmware counts, and counts anew after a reset; what the driver counts goes on."""

ORDERS = st.one_of(
    st.tuples(st.just("advance"), st.floats(0.1, 400)),
    st.tuples(st.just("inject"), st.sampled_from([n for n in living_scenarios() if n != HEALTHY]), st.integers(0, 3)),
    st.tuples(st.just("clear"), st.none()),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(orders=st.lists(ORDERS, min_size=2, max_size=10), seed=st.integers(0, 5))
def test_any_course_of_faults(orders: list[tuple[Any, ...]], seed: int) -> None:
    """Counters only grow (but for a reset), values stay within physics, every table is read back whole."""
    node = LivingNode("mi210x4", None, seed=seed)
    for kind, *rest in orders:
        if kind == "inject" and living_scenarios()[rest[0]].fits(node.shape):
            node.inject(rest[0], rest[1])
        elif kind == "clear":
            node.clear()
        elif kind == "advance":
            before = [counters(body.state) for body in node.bodies]
            resets = [node.resets(gpu) for gpu in range(4)]
            node.advance(rest[0])
            for gpu, body in enumerate(node.bodies):
                again = node.resets(gpu) != resets[gpu]
                now = counters(body.state)
                for name, value in before[gpu].items():
                    assert now[name] >= value or (again and name.startswith(AFTER_RESET)), name
                within_physics(body.state, body.part.power_cap, body.part.vram)
    fs = fs_of(node)
    for slot, body in zip(node.still.slots, node.bodies, strict=True):
        path = f"sys/devices/{slot.place}"
        if f"{path}/gpu_metrics" in node.visible():
            table = read_metrics(fs, path)
            assert isinstance(table, Metrics) and table.base("temperature_hotspot") is not None
            ras = read_ras(fs, path)
            assert ras is not None and (body.state.recovering or ras.blocks["umc"].ue == body.state.ue["umc"])


def within_physics(state: GpuState, cap: int, vram: int) -> None:
    assert 0 < state.power <= cap
    assert 24 <= state.edge <= state.junction <= 112
    assert all(24 <= stack < 110 for stack in state.hbm)
    assert 0 <= state.busy <= 100 and 0 < state.vram_used < vram and state.sclk > 0


def test_throttling_holds_the_temperature_and_costs_clock() -> None:
    node = LivingNode("mi300x8", None, "thermal-throttle", gpu=0, delay=0)
    fast = node.bodies[0].state.sclk
    node.advance(600)
    state, other = node.bodies[0].state, node.bodies[1].state
    assert 95 <= state.junction <= 100 and other.junction < 80
    assert state.residency["socket_thm"] > 0 == other.residency["socket_thm"]
    assert state.sclk < 0.9 * fast
    node.clear()
    node.advance(600)
    assert node.bodies[0].state.junction < 85


def test_one_stack_is_hotter() -> None:
    node = LivingNode("mi300x8", None, "hbm-gradient", gpu=5, delay=0)
    node.advance(600)
    assert max(node.bodies[5].state.hbm) - min(node.bodies[5].state.hbm) > 15
    assert node.bodies[5].state.hbm[3] == max(node.bodies[5].state.hbm)


def test_tokens_stand_still_while_requests_run() -> None:
    node = LivingNode("mi210x4", None)
    engine = node.engine
    assert engine is not None
    node.advance(60)
    moving = engine.generated
    node.advance(60)
    assert engine.generated > moving
    node.inject("engine-hung")
    stuck = engine.metrics().split("vllm:generation_tokens_total{")[1]
    node.advance(300)
    assert engine.metrics().split("vllm:generation_tokens_total{")[1] == stuck and engine.running > 0
    assert engine.waiting > 0 and node.bodies[0].state.busy == 100
    assert node.bodies[0].state.power < 0.4 * node.bodies[0].part.power_cap


def test_step_size_hardly_matters() -> None:
    fine, coarse = (LivingNode("mi300x8", None, "ras-ce-ramp", seed=3) for _ in range(2))
    for _ in range(240):
        fine.advance(5)
    coarse.advance(1200)
    for one, two in zip(fine.bodies, coarse.bodies, strict=True):
        assert one.state.ce == two.state.ce
        assert one.state.energy == pytest.approx(two.state.energy, rel=0.001)
        assert one.state.junction == pytest.approx(two.state.junction, abs=2)


def test_every_scenario_says_where_it_comes_from() -> None:
    catalog = load_catalog()
    slugs = {mode.slug for mode in catalog.modes.values()}
    for scenario in living_scenarios().values():
        assert scenario.text and set(scenario.planted) <= slugs
        assert scenario.name == HEALTHY or (scenario.sources and scenario.steps)
        assert set(scenario.shapes) <= set(SHAPES)
