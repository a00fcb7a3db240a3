"""The healer is killed at every step of every action, and started again: nothing is done twice, nothing is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocsteady.heal.policy import ClassPolicy, Policy
from tests.heal.world import Fleet, World

AUTO = {
    kind: ClassPolicy(mode="auto")
    for kind in ("move", "restart", "recycle", "thermal", "link", "schedule", "reset", "reload", "reboot")
}
POLICY = Policy(dry_run=False, classes=AUTO, has_gateway=True, helpers=("n1",), cooldown=20.0, restore_after=40.0)
ONCE = ("reset-gpu", "reboot", "reload-driver", "set-power-share", "set-fan-curve", "set-clock-share")


def moved(fleet: Fleet) -> bool:
    return fleet.world.processes["w0"].devices == ("0000:25:00.0",)


Scenario = tuple[Callable[[World], None], int, Callable[[Fleet], bool]]
SCENARIOS: dict[str, Scenario] = {
    "move-worker": (lambda w: w.ills.update({("n1", 0): {"RAS-0008"}}), 24, moved),
    "reset": (
        lambda w: w.ills.update({("n1", 0): {"RAS-0002"}}), 40,
        lambda f: not f.world.ills[("n1", 0)] and sum(v == "reset-gpu" for _, v, _, _ in f.world.effects) == 1,
    ),
    "reboot": (
        lambda w: w.ills.update({("n1", 0): {"RAS-0003"}}), 70,
        lambda f: not f.world.ills[("n1", 0)] and f.world.boots["n1"] == 1,
    ),
    "reload": (
        lambda w: w.ills.update({("n1", 0): {"HANG-0005"}}), 60,
        lambda f: not f.world.ills[("n1", 0)] and sum(v == "reload-driver" for _, v, _, _ in f.world.effects) == 1,
    ),
    "restart-worker": (
        lambda w: setattr(w.processes["w1"], "frozen", True), 24,
        lambda f: not f.world.processes["w1"].frozen and sum(t == "w1" for _, v, t, _ in f.world.effects) == 2,
    ),
    "thermal": (
        lambda w: w.ills.update({("n1", 1): {"PWR-0019"}}), 30,
        lambda f: ("set-fan-curve", "0000:15:00.0") in f.world.lowered,
    ),
}  # fmt: skip


def fleet(folder: Path) -> Fleet:
    world = World(workers={"w0": ("n1", (0,)), "w1": ("n1", (1,))})
    made = Fleet(world, POLICY, folder)
    made.rounds(8)
    return made


def play(made: Fleet, scenario: Scenario) -> None:
    harm, rounds, _ = scenario
    harm(made.world)
    made.passed.clear()
    made.rounds(rounds)


def settled(made: Fleet, scenario: Scenario, name: str) -> None:
    world = made.world
    assert scenario[2](made), (name, world.effects[-12:])
    assert world.violations == []
    keys = [(verb, target, key) for _, verb, target, key in world.effects if verb in ONCE or verb == "start"]
    again = [k for k in keys if keys.count(k) > 1 and not (k[0] == "start" and world.boots["n1"])]
    assert again == [], f"done twice after {name}"
    assert [a.id for a in made.healer.state.open_actions] == []
    assert {w.state for w in made.healer.state.workers} == {"serving"}
    receipts = [a.id for a in made.actions()]
    assert len(receipts) == len(set(receipts))


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_step(name: str, quick: Path) -> None:
    scenario = SCENARIOS[name]
    (quick / "whole").mkdir()
    whole = fleet(quick / "whole")
    play(whole, scenario)
    settled(whole, scenario, "nothing")
    outcomes = sorted((a.rung, a.outcome) for a in whole.actions())
    assert "succeeded" in {o for _, o in outcomes}, outcomes
    points = whole.passed.copy()
    interesting = [i for i, point in enumerate(points, 1) if point not in ("decided", "saved") or i % 7 == 0]
    for number in interesting:
        folder = quick / f"k{number}"
        folder.mkdir()
        killed = fleet(folder)
        killed.passed.clear()
        killed.kill_at = number
        play(killed, scenario)
        killed.rounds(6)
        settled(killed, scenario, f"{points[number - 1]} ({number})")
        assert len(killed.passed) >= number
