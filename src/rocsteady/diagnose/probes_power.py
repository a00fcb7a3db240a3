"""Probes on sensors and links that compare two facts of one GPU, or look into lists."""

from __future__ import annotations

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import Evidence, Gpu, Subject

NONSENSE = 250.0
"""Degrees: no sensor of a GPU measures more; 511 and 65535 are registers of all ones."""
IDLE_CLOCK = 350.0
"""MHz: below it a GPU idles; the loaded ones in reports of stuck clocks showed 41 to 132 MHz."""
BUSY = 90.0
"""Percent."""
OAM = ("74a1", "74a2", "74a5", "75a0", "75a3")
"""PCI ids of MI300X, MI308X, MI325X, MI350X, MI355X on bare metal; a virtual machine may hold part of a board."""
HOT_IDLE = 85.0
"""Degrees: AMD's acceptance pages want an idle GPU well below this."""


def _evidence(world: World, gpu: Gpu, *paths: str) -> tuple[Evidence, ...]:
    found = (lookup(world.facts, f"gpu.{p}", gpu).evidence for p in paths)
    return tuple(dict.fromkeys(e for e in found if e is not None))


def cap_below_default(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """The power cap is more than 5 % below the board's default."""
    if gpu is None or gpu.sensors.power_cap is None or not gpu.sensors.power_cap_default:
        return Probed(None)
    cap, default = gpu.sensors.power_cap, gpu.sensors.power_cap_default
    if not 0 < cap < 0.95 * default:
        return Probed(False)
    return Probed(
        True,
        _evidence(world, gpu, "sensors.power_cap", "sensors.power_cap_default"),
        {"cap": f"{cap:.0f}", "default_cap": f"{default:.0f}"},
    )


def over_limit(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """Some temperature is at or above its own critical limit, and plausible."""
    if gpu is None:
        return Probed(None)
    s, known = gpu.sensors, False
    for name, value, limit in (
        ("junction", s.junction, s.junction_crit),
        ("mem", s.mem, s.mem_crit),
        ("edge", s.edge, s.edge_crit),
    ):
        if value is None or not limit:
            continue
        known = True
        if limit <= value < NONSENSE:
            return Probed(
                True, _evidence(world, gpu, f"sensors.{name}", f"sensors.{name}_crit"),
                {"sensor": name, "degrees": f"{value:.0f}", "limit": f"{limit:.0f}"},
            )  # fmt: skip
    return Probed(False if known else None)


def nonsense(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """Some temperature is one that no sensor can show."""
    if gpu is None:
        return Probed(None)
    values = {"edge": gpu.sensors.edge, "junction": gpu.sensors.junction, "mem": gpu.sensors.mem}
    if all(v is None for v in values.values()):
        return Probed(None)
    for name, value in values.items():
        if value is not None and value >= NONSENSE:
            return Probed(True, _evidence(world, gpu, f"sensors.{name}"), {"reading": f"{value:.0f} C"})
    return Probed(False)


def hot_idle(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """Idle, and hotter than an idle GPU may be."""
    if gpu is None or gpu.sensors.busy_percent is None:
        return Probed(None)
    hottest = max((t for t in (gpu.sensors.edge, gpu.sensors.junction, gpu.sensors.mem) if t is not None), default=None)
    if hottest is None:
        return Probed(None)
    if gpu.sensors.busy_percent > 1 or not HOT_IDLE <= hottest < NONSENSE:
        return Probed(False)
    paths = ("sensors.junction", "sensors.edge", "sensors.mem", "sensors.busy_percent")
    return Probed(True, _evidence(world, gpu, *paths), {"degrees": f"{hottest:.0f}"})


def clock_stuck(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """Fully busy at a clock of an idle GPU."""
    if gpu is None or gpu.sensors.sclk is None or gpu.sensors.busy_percent is None:
        return Probed(None)
    if gpu.sensors.busy_percent < BUSY or not 0 < gpu.sensors.sclk < IDLE_CLOCK:
        return Probed(False)
    bindings = {"clock": f"{gpu.sensors.sclk:.0f}", "busy": f"{gpu.sensors.busy_percent:.0f}"}
    return Probed(True, _evidence(world, gpu, "sensors.sclk", "sensors.busy_percent"), bindings)


def fan_still(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """A card that has a fan does not turn it although it is hot. A card without one reports no maximum and no percentage."""
    if gpu is None or gpu.sensors.fan is None or gpu.sensors.fan_percent is None:
        return Probed(None)
    hottest = max((t for t in (gpu.sensors.edge, gpu.sensors.junction) if t is not None), default=None)
    if hottest is None:
        return Probed(None)
    if gpu.sensors.fan > 0 or gpu.sensors.fan_percent > 0 or not 90 <= hottest < NONSENSE:
        return Probed(False)
    instinct = (gpu.name or gpu.product_name or "").lower()
    if "instinct" in instinct or "mi100" in instinct or "mi2" in instinct or "mi3" in instinct:
        return Probed(False)
    return Probed(
        True, _evidence(world, gpu, "sensors.fan", "sensors.junction", "sensors.edge"), {"degrees": f"{hottest:.0f}"}
    )


def hive_split(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The GPUs of one OAM board do not all report one hive."""
    board = [g for g in world.facts.gpus if (g.device or "").lower() in OAM]
    if len(board) < 4 or any(g.hive_id is None for g in board):
        return Probed(None)
    hives: dict[str, int] = {}
    for g in board:
        hives[g.hive_id or ""] = hives.get(g.hive_id or "", 0) + 1
    if len(hives) < 2:
        return Probed(False)
    evidence = tuple(dict.fromkeys(e for g in board for e in _evidence(world, g, "hive_id")))
    return Probed(
        True,
        evidence[:8],
        {"hives": str(len(hives)), "sizes": " + ".join(str(n) for n in sorted(hives.values(), reverse=True))},
    )


PROBES: dict[str, Probe] = {
    "power-cap-below-default": cap_below_default,
    "temperature-over-limit": over_limit,
    "temperature-nonsense": nonsense,
    "idle-and-hot": hot_idle,
    "busy-at-idle-clock": clock_stuck,
    "fan-still-while-hot": fan_still,
    "hive-split": hive_split,
}
"""By the name that catalog rules use."""
