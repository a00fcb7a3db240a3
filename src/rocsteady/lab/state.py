"""What a GPU does at one moment: the values behind its sensors, counters and tables."""

from __future__ import annotations

import random

import msgspec

from rocsteady.lab.shapes import Shape

ROOM = 24.0
"""Air temperature at the inlet, degrees Celsius."""
UPTIME = 432_000.0
"""Seconds since boot at which a tree is taken: five days."""
CONTEXT = 620 << 20
"""VRAM that the driver and an idle runtime hold."""


class GpuState(msgspec.Struct, kw_only=True):
    """One GPU. Watts, degrees Celsius, MHz, bytes, percent; counters since driver load.

    A stack's temperature is ``hbm[i]``. ``xgmi_read`` and ``xgmi_write`` in KB, one per link.
    """

    bdf: str
    unique_id: int
    serial: str
    uptime: float
    busy: int
    mem_busy: int
    power: float
    primary: bool
    """False for the second die of a package: it reports no power."""
    edge: float
    junction: float
    hbm: list[float]
    sclk: int
    mclk: int
    socclk: int
    fclk: int
    vram_used: int
    gtt_used: int
    energy: float
    """Joule."""
    pcie_replays: int
    pcie_naks: int
    xgmi_read: list[int]
    xgmi_write: list[int]
    fan: int
    accumulated: int
    """Firmware ticks of one millisecond."""
    activity: int
    """Percent times ticks."""
    memory_activity: int
    ue: dict[str, int]
    ce: dict[str, int]
    de: dict[str, int]
    retired: list[tuple[int, str]]
    xcd_busy: list[int] = []
    """Percent per XCD; empty = all as ``busy``."""
    xcd_activity: list[int] = []
    """Percent times ticks per XCD; empty = all as ``activity``."""
    residency: dict[str, int] = {}
    """Ticks in each limiter: prochot, ppt, socket_thm, vr_thm, hbm_thm."""
    below_limit: dict[str, list[int]] = {}
    """Ticks per XCD below the host's clock limit: ppt, thm, total, low."""
    throttled: tuple[str, ...] = ()
    """Limits that hold now, by their name in the ASIC independent mask (gpu_metrics 1.3)."""
    link_status: list[int] = []
    """Per external XGMI link; empty = all up."""
    pcie_speed: float | None = None
    pcie_width: int = 16
    pcie_bandwidth: int = 12
    pcie_traffic: int | None = None
    pcie_recoveries: int = 0
    pcie_naks_received: int = 0
    aer: dict[str, int] = {}
    """Corrected PCIe errors by name."""
    ras_events: dict[str, tuple[int, int]] = {}
    """Fatal Error, Poison Creation, Poison Consumption: count and last sequence number."""
    pwm: int = 76
    """Fan duty, 0 to 255."""
    recovering: bool = False
    """A reset runs: RAS files answer that they cannot be read."""

    @property
    def memory_temperature(self) -> float:
        """The hottest stack."""
        return max(self.hbm) if self.hbm else self.junction - 4


def healthy_state(shape: Shape, number: int, bdf: str, rng: random.Random) -> GpuState:
    """A GPU that serves a model under light load."""
    part = shape.part
    assert part is not None
    busy = rng.randint(18, 46)
    power = part.power_idle + busy / 100 * (part.power_cap - part.power_idle) * 0.55
    edge = ROOM + 14 + power / part.power_cap * 34 + rng.uniform(-1.5, 1.5)
    stacks = part.hbm_stacks
    hbm = [round(edge + 5 + rng.uniform(0, 4)) * 1.0 for _ in range(stacks)]
    ticks = int(UPTIME * 1000)
    links = link_count(shape)
    average = rng.uniform(0.15, 0.35)
    primary = number % shape.package == 0
    return GpuState(
        bdf=bdf, unique_id=rng.getrandbits(63) | 1 << 60, serial=f"{rng.randrange(10**11):012d}", uptime=UPTIME,
        busy=busy, mem_busy=rng.randint(4, 20), power=round(power), primary=primary, edge=round(edge),
        junction=round(edge + 6 + busy / 20), hbm=hbm, sclk=part.sclk[-1] - rng.randint(0, 120), mclk=part.mclk[-1],
        socclk=1000 if part.instinct_300 else 1090, fclk=1800 if part.instinct_300 else 1400,
        vram_used=CONTEXT + int(part.vram * 0.9 * _share(shape)), gtt_used=16 << 20,
        energy=round(UPTIME * (part.power_idle + average * part.power_cap * 0.5)) if primary else 0.0,
        pcie_replays=0, pcie_naks=0,
        xgmi_read=[rng.randrange(10**6, 10**9) for _ in range(links)],
        xgmi_write=[rng.randrange(10**6, 10**9) for _ in range(links)],
        fan=rng.randint(900, 1300), accumulated=ticks, activity=int(ticks * average * 100),
        memory_activity=int(ticks * average * 40),
        ue=dict.fromkeys(part.ras_blocks, 0), ce=dict.fromkeys(part.ras_blocks, 0),
        de=dict.fromkeys(part.ras_blocks, 0), retired=[],
    )  # fmt: skip


def _share(shape: Shape) -> float:
    """Of a GPU in CPX one partition of eight serves."""
    return 1 / shape.partitions


def link_count(shape: Shape) -> int:
    """External XGMI links per GPU."""
    if shape.part is None or not shape.part.xgmi:
        return 0
    return len(shape.buses) - 1 if shape.part.instinct_300 or shape.package == 1 else 4
