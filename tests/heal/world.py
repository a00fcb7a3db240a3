"""A synthetic fleet with GPUs, workers, a helper and a gateway, that outlives the healer which works on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rocsteady.heal.actuators.base import Probe, Refused
from rocsteady.heal.actuators.people import People
from rocsteady.heal.healer import Healer
from rocsteady.heal.journal import Desired, Journal
from rocsteady.heal.policy import Policy
from rocsteady.heal.records import Action, Step
from rocsteady.heal.state import HealthSeen
from rocsteady.heal.view import NodeView, WorkerView
from tests.heal.made import START, bdf, gpu, node

NEEDS_RESET = ("RAS-0002", "RAS-0004")
NEEDS_REBOOT = ("RAS-0003", "HANG-0005")
FOR_GOOD = ("RAS-0008",)
PASSING = ("PWR-0019",)
LOAD, RESET, REBOOT = 20.0, 8.0, 90.0
"""Seconds that things take here: a start of a worker, a reset, a reboot."""


class Killed(BaseException):
    """The healer was killed."""


@dataclass
class Process:
    generation: str
    devices: tuple[str, ...]
    ready_at: float
    frozen: bool = False


@dataclass
class World:
    """``ills``: by GPU (node, number) the modes that hold. ``effects``: every effect on the fleet, with time and key."""

    nodes: tuple[str, ...] = ("n1",)
    gpus: int = 4
    hives: int = 1
    workers: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    now: float = START
    ills: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    unknown: set[tuple[str, int]] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    boots: Counter[str] = field(default_factory=Counter)
    down_until: dict[str, float] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    requests: dict[str, tuple[str, float, str, str]] = field(default_factory=dict)
    resetting: dict[str, float] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    lowered: set[tuple[str, str]] = field(default_factory=set)
    effects: list[tuple[float, str, str, str]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    deaf: set[str] = field(default_factory=set)

    def hive(self, name: str, number: int) -> str:
        return f"{name}-h{number * self.hives // self.gpus}"

    def members(self, name: str, number: int) -> list[int]:
        return [n for n in range(self.gpus) if self.hive(name, n) == self.hive(name, number)]

    def up(self, name: str) -> bool:
        return self.now >= self.down_until.get(name, 0.0)

    def view(self, name: str) -> NodeView | None:
        """The document of a node now; None while it is down or silent."""
        if not self.up(name) or name in self.silent:
            return None
        rows = []
        for n in range(self.gpus):
            modes = sorted(self.ills.get((name, n), set()))
            state = "unhealthy" if any(m not in PASSING for m in modes) else "suspect" if modes else "healthy"
            if (name, n) in self.unknown or self.resetting.get(self.hive(name, n), 0.0) > self.now:
                state, modes = "unknown", []
            rows.append(gpu(n, state, *modes, hive=self.hive(name, n), severity="critical"))
        return node(self.now, *rows, name=name, boot=f"{name}-boot-{self.boots[name]}")

    def note(self, verb: str, target: str, key: str) -> None:
        self.effects.append((self.now, verb, target, key))

    def step(self, seconds: float) -> None:
        self.now += seconds

    def count(self, key: str, verb: str) -> int:
        return sum(k == key and v == verb for _, v, _, k in self.effects)


class FakeWorkers:
    """Converges like the supervisor; processes live in the world."""

    def __init__(self, world: World, journal: Journal, checkpoint: Callable[[str], None]) -> None:
        self.world, self.journal, self.checkpoint = world, journal, checkpoint
        for name, (at, numbers) in world.workers.items():
            if journal.desired(name) is None:
                journal.desire(Desired(name=name, devices=tuple(bdf(n) for n in numbers)))
                del at

    def begin(self, action: Action, step: Step, key: str) -> None:
        del action
        wish = self.journal.desired(step.target)
        if wish is None:
            raise Refused("no such worker")
        wish = msgspec.structs.replace(wish, generation=key, run=step.verb != "stop")
        if step.verb == "replace":
            wish = msgspec.structs.replace(wish, devices=tuple(step.arguments["devices"].split(",")))
        self.checkpoint("workers: before the wish")
        self.journal.desire(wish)
        self.checkpoint("workers: after the wish")

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        del action
        wish = self.journal.desired(step.target)
        if wish is None or wish.generation != key:
            return Probe("absent")
        if step.verb == "stop" and step.target in self.world.processes:
            return Probe("running")
        return Probe("done")

    def look(self) -> tuple[WorkerView, ...]:
        world, out = self.world, []
        for name, (where, _) in world.workers.items():
            wish = self.journal.desired(name)
            assert wish is not None
            process = world.processes.get(name)
            if not world.up(where):
                world.processes.pop(name, None)
                process = None
            if process is not None and (not wish.run or process.generation != wish.generation):
                del world.processes[name]
                process = None
                self.checkpoint("workers: stopped")
            if process is None and wish.run and world.up(where):
                self.checkpoint("workers: before the start")
                process = Process(wish.generation, wish.devices, world.now + LOAD)
                world.processes[name] = process
                world.note("start", name, wish.generation)
                self.checkpoint("workers: after the start")
            state = (
                "stopped" if not wish.run else "unknown" if process is None else "unresponsive" if process.frozen
                else "serving" if world.now >= process.ready_at else "starting"
            )  # fmt: skip
            out.append(
                WorkerView(
                    name=name,
                    node=where,
                    state=state,
                    devices=wish.devices,
                    generation=wish.generation,
                    model="m",  # type: ignore[arg-type]
                    executor="workers",
                )
            )
        return tuple(out)


class FakeHelper:
    """Remembers keys like the helper; does one reset at a time to a hive, or says that it was asked for two."""

    def __init__(self, world: World, checkpoint: Callable[[str], None]) -> None:
        self.world, self.checkpoint = world, checkpoint

    def begin(self, action: Action, step: Step, key: str) -> None:
        world = self.world
        if not world.up(action.node):
            raise OSError("nobody answers")
        if key in world.requests:
            return
        self.checkpoint("helper: before")
        ends = {"reset-gpu": RESET, "reboot": REBOOT, "reload-driver": RESET}.get(step.verb, 0.0)
        world.requests[key] = (step.verb, world.now + ends, step.target, action.node)
        world.note(step.verb, step.target, key)
        self._happens(action, step)
        self.checkpoint("helper: after")

    def _happens(self, action: Action, step: Step) -> None:
        world = self.world
        busy = [name for name, (where, _) in world.workers.items() if where == action.node and name in world.processes]
        if step.verb == "reset-gpu":
            numbers = [n for n in range(world.gpus) if bdf(n) in step.arguments["members"].split()]
            hive = world.hive(action.node, numbers[0])
            if world.resetting.get(hive, 0.0) > world.now:
                world.violations.append(f"two resets on {hive}")
            on = [w for w in busy if {bdf(n) for n in numbers} & set(world.processes[w].devices)]
            if on:
                world.violations.append(f"reset below {on}")
            world.resetting[hive] = world.now + RESET
            for n in numbers:
                world.ills[(action.node, n)] = world.ills.get((action.node, n), set()) - set(NEEDS_RESET)
        elif step.verb in ("reboot", "reload-driver"):
            if busy:
                world.violations.append(f"{step.verb} below {busy}")
            for n in range(world.gpus):
                gone = {*NEEDS_RESET, *NEEDS_REBOOT}
                world.ills[(action.node, n)] = world.ills.get((action.node, n), set()) - gone
            if step.verb == "reboot":
                world.down_until[action.node] = world.now + REBOOT
                world.boots[action.node] += 1
        elif step.verb.startswith("set-"):
            world.lowered.add((step.verb, step.target))
        elif step.verb.startswith("restore-"):
            world.lowered -= {(v, t) for v, t in world.lowered if t == step.target and step.verb.split("-")[1] in v}

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        del step
        if not self.world.up(action.node):
            raise OSError("nobody answers")
        if key not in self.world.requests:
            return Probe("absent")
        return Probe("done" if self.world.now >= self.world.requests[key][1] else "running")


class FakeGateway:
    """Draining can be repeated."""

    def __init__(self, world: World) -> None:
        self.world = world

    def begin(self, action: Action, step: Step, key: str) -> None:
        del action, key
        if "gateway" in self.world.deaf:
            raise OSError("nobody answers")
        if step.verb == "drain":
            self.world.drained.add(step.target)
        else:
            self.world.drained.discard(step.target)

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        del action, key
        if "gateway" in self.world.deaf:
            raise OSError("nobody answers")
        return Probe("done" if (step.target in self.world.drained) == (step.verb == "drain") else "absent")


class Fleet:
    """A world and the healer that works on it now."""

    def __init__(self, world: World, policy: Policy, folder: Path) -> None:
        self.world, self.policy, self.path = world, policy, folder / "heal.sqlite"
        self.kill_at: int | None = None
        self.passed: list[str] = []
        self.journal: Journal | None = None
        self.start()

    def start(self) -> None:
        if self.journal is not None:
            self.journal.close()
        journal = self.journal = Journal(self.path)
        clock = lambda: self.world.now  # noqa: E731
        self.people = People(journal, clock)
        workers = FakeWorkers(self.world, journal, self.checkpoint)
        actuators = {
            "workers": workers, "helper": FakeHelper(self.world, self.checkpoint),
            "gateway": FakeGateway(self.world), "people": self.people,
        }  # fmt: skip
        self.healer = Healer(journal, actuators, (workers,), self.policy, clock, self.checkpoint)

    def checkpoint(self, name: str) -> None:
        self.passed.append(name)
        if self.kill_at is not None and len(self.passed) == self.kill_at:
            raise Killed(name)

    def round(self, seconds: float = 5.0) -> None:
        """Time goes on, documents come in, the healer does one round. When it is killed, a new one starts."""
        self.world.step(seconds)
        try:
            for name in self.world.nodes:
                view = self.world.view(name)
                if view is not None:
                    self.healer.take(HealthSeen(view))
            self.healer.tick()
        except Killed:
            self.start()

    def rounds(self, count: int, seconds: float = 5.0) -> None:
        for _ in range(count):
            self.round(seconds)

    def actions(self) -> list[Action]:
        assert self.journal is not None
        return [*self.journal.receipts(10_000), *self.healer.state.open_actions]
