"""What a fault does over time, as data: the files in ``scenarios/living``.

A scenario is a list of steps. A step happens ``at`` some seconds after the fault began, once or again and again, and
says in closed words what the hardware, the driver and the engine show: lines of the kernel log and of the engine's log,
counters that go up, inputs of the model that are held, actions. Numbers that come from nowhere are a choice of ours
and say so in the file; what the hardware shows has its source.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Literal

import msgspec
import yaml

from rocsteady.lab.shapes import SHAPES, Shape
from rocsteady.model import InputError

FOLDER = "rocsteady.lab.scenarios.living"
HEALTHY = "healthy"
Hold = Literal[
    "load", "intensity", "xcd_busy", "stack_heat", "cooling", "inlet", "fan", "leak", "pcie_width", "pcie_speed",
    "links_down", "tokens", "spin", "frozen", "hang", "torn", "table_version",
]  # fmt: skip
"""Inputs of the model that a fault can hold; what each means stands at ``physics.Inputs`` and ``engine.Engine``. ``frozen``:
files stop moving; ``hang``: reads of them too; ``torn``: gpu_metrics is cut in half; ``table_version``: its revision."""
Action = Literal[
    "reset-begin", "reset-end", "engine-dies", "engine-starts", "driver-unloads", "driver-loads", "gpu-vanishes",
]  # fmt: skip


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that happens. Seconds after the fault began.

    ``every``, ``times``: repeated, for ever where ``times`` is None. ``scope``: of the fault's GPU, or of each GPU of
    the hive, ``apart`` seconds one after another. ``over``: a held input rises to its value within so many seconds;
    ``span``: it is held so long, else until the fault ends. ``stack``: the HBM stack that ``stack_heat`` means. ``append``:
    lines at the end of other files of the tree.
    """

    at: float = 0.0
    every: float | None = None
    times: int | None = None
    scope: Literal["gpu", "others", "hive"] = "gpu"
    apart: float = 0.0
    over: float = 0.0
    span: float | None = None
    stack: int = 0
    log: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()
    append: dict[str, str] = {}
    count: dict[str, int] = {}
    pages: dict[Literal["R", "P", "F"], int] = {}
    hold: dict[Hold, float] = {}
    do: tuple[Action, ...] = ()


class LivingScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scenario.

    ``planted``: slugs of failure modes of which a diagnosis must name one first, none for a fault that is none of the
    catalog's; ``state``: state of the GPU in the health document while it holds. ``delay``: seconds of health before
    it; ``lasts``: seconds until it ends by itself, None = until it is cleared;
    ``shows_after``: seconds after which ``planted`` and ``state`` are there to be seen.
    """

    name: str
    text: str
    shapes: tuple[str, ...] = ()
    planted: tuple[str, ...] = ()
    state: Literal["healthy", "suspect", "unhealthy", "unknown"] = "healthy"
    delay: float = 60.0
    lasts: float | None = None
    shows_after: float = 30.0
    steps: tuple[Step, ...] = ()
    sources: tuple[str, ...] = ()

    def fits(self, shape: Shape) -> bool:
        """Whether the hardware of a shape can show it."""
        return shape.part is not None and (not self.shapes or shape.name in self.shapes)


@functools.cache
def living_scenarios() -> dict[str, LivingScenario]:
    """All scenarios by name, ``healthy`` first."""
    found: dict[str, LivingScenario] = {}
    for file in sorted(resources.files(FOLDER).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".yaml"):
            scenario = msgspec.convert(yaml.safe_load(file.read_text("utf-8")), LivingScenario, strict=False)
            found[scenario.name] = scenario
    return {HEALTHY: found.pop(HEALTHY), **found}


def scenario_for(name: str, shape: Shape) -> LivingScenario:
    """One scenario.

    Raises:
        InputError: there is none of that name, or the shape cannot show it.
    """
    known = living_scenarios()
    if name not in known:
        raise InputError(f"scenario {name!r}: one of {', '.join(known)}")
    scenario = known[name]
    if name != HEALTHY and not scenario.fits(shape):
        able = [s.name for s in SHAPES.values() if scenario.fits(s)]
        raise InputError(f"scenario {name} needs a shape of {', '.join(able)}, not {shape.name}")
    return scenario
