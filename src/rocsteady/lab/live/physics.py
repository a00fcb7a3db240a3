"""One GPU as a body: load makes power, power makes heat, heat and the power cap make clocks.

A first-order model, exact for any length of step: power follows the inputs at once (the firmware's figure is an
average), temperatures relax towards their balance, counters are integrals. Coefficients are those of the still trees
(``state.healthy_state``) and a choice of ours; they give the idle and loaded figures of a passively cooled card at a
24 degree inlet. Limits (power cap, critical temperatures) are the part's.
"""

from __future__ import annotations

import math

import msgspec

from rocsteady.lab.parts import Part
from rocsteady.lab.state import ROOM, GpuState

RISE_IDLE, RISE_CAP = 14.0, 34.0
"""Degrees above the inlet: of an idle GPU, and what the power cap adds."""
HOTSPOT, HOTSPOT_PER_BUSY = 6.0, 1 / 20
STACK_SHARE = 0.7
"""A stack follows the package by this share; it has a path of its own to the cold plate."""
TAU_PACKAGE, TAU_STACK = 25.0, 60.0
"""Seconds to 63 % of the way: a heat sink of a kilogram, and the stack under it."""
THROTTLE_MARGIN = 2.0
"""Degrees below the critical limit at which firmware begins to lower clocks."""
STACK_MARGIN = 3.0
TICKS = 1000.0
"""Firmware ticks a second."""
LINK_RATE = 1_400_000.0
"""KB a second over one XGMI link at full load: the all-reduce of a tensor-parallel engine, far below the link's limit."""
BUSY_SPIN = 1.0
WRAP = 2.0**32
PER_SHOWN = 1000
"""Activity is shown in thousands of percent times ticks."""


class Inputs(msgspec.Struct, kw_only=True):
    """What acts on one GPU. Shares are 0 to 1.

    ``load``: share of time with work; ``intensity``: power that full load draws, of the way from idle to cap;
    ``xcd_busy``: least use of every XCD; ``heat``: degrees added to single HBM stacks; ``cooling``: thermal resistance,
    1 = as built; ``inlet``: degrees added to the air; ``fan``: share of its speed that a fan reaches; ``leak``: share of VRAM a
    second; ``spin``: busy without work, as a kernel that waits for another GPU; ``links_down``: XGMI links.
    """

    load: float
    intensity: float = 0.55
    xcd_busy: float | None = None
    heat: dict[int, float] = {}
    cooling: float = 1.0
    inlet: float = 0.0
    fan: float = 1.0
    leak: float = 0.0
    pcie_width: int = 16
    pcie_speed: float | None = None
    links_down: int = 0
    spin: bool = False
    asleep: bool = False


class Body:
    """The moving values of one GPU; ``state`` holds what the interfaces show."""

    def __init__(self, part: Part, state: GpuState) -> None:
        self.part = part
        self.state = state
        self._edge = state.edge
        self._offsets = [stack - ROOM - STACK_SHARE * (state.edge - ROOM) for stack in state.hbm]
        self._stacks = list(state.hbm)
        self._ticks = float(state.accumulated)
        self._activity = [float(state.activity)] * part.xcds
        self._memory_activity = float(state.memory_activity)
        self._residency = {"prochot": 0.0, "ppt": 0.0, "socket_thm": 0.0, "vr_thm": 0.0, "hbm_thm": 0.0}
        self._below = dict.fromkeys(("ppt", "thm", "total", "low"), 0.0)
        self._traffic = [0.0] * len(state.xgmi_read)
        self._pcie = float(state.accumulated // 64)
        self._start_vram = state.vram_used
        self.leaked = 0.0
        self.serving = True

    def step(self, inputs: Inputs, seconds: float) -> None:
        """Let time pass with constant inputs."""
        part, state = self.part, self.state
        busy, power, clock, limits = self._balance(inputs)
        state.busy = round(100 * busy)
        state.power = round(power)
        state.sclk = round(clock)
        self._heat(inputs, busy, power, seconds)
        self._show_limits(limits)
        state.uptime += seconds
        if state.primary:
            state.energy += state.power * seconds
        self._count(inputs, seconds, limits)
        state.pcie_width, state.pcie_speed = inputs.pcie_width, inputs.pcie_speed
        state.pcie_bandwidth = round(8 + 30 * inputs.load * min(1.0, inputs.pcie_width / 16))
        down = inputs.links_down
        state.link_status = [0 if n < down else 1 for n in range(len(state.xgmi_read))]
        self._memory(inputs, seconds)
        if part.fan:
            share = min(1.0, max(0.27, (self._edge - 40) / 55)) * inputs.fan
            state.fan, state.pwm = round(3300 * share), round(255 * share)

    def _balance(self, inputs: Inputs) -> tuple[float, float, float, dict[str, float]]:
        """Busy share, watts, MHz, and the share of the wish that each limiter takes."""
        part = self.part
        load = 0.0 if inputs.asleep else min(1.0, max(0.0, inputs.load))
        busy = BUSY_SPIN if inputs.spin else max(load, inputs.xcd_busy or 0.0)
        wish = part.power_idle + (part.power_cap - part.power_idle) * inputs.intensity * max(load, inputs.xcd_busy or 0)
        if inputs.spin:
            wish = part.power_idle + (part.power_cap - part.power_idle) * 0.15
        power, limits = wish, {}
        if power > part.power_cap:
            limits["ppt"] = 1 - part.power_cap / power
            power = float(part.power_cap)
        hottest = self._limit(busy)
        if self._edge >= hottest - 1.0:
            share = ((hottest - ROOM - inputs.inlet) / inputs.cooling - RISE_IDLE) / RISE_CAP
            allowed = max(part.power_idle * 0.6, share * part.power_cap)
            if allowed < power:
                limits["socket_thm"] = 1 - allowed / power
                power = allowed
        memory_limit = part.crit[2] - STACK_MARGIN
        if self._stacks and max(self._stacks) >= memory_limit:
            limits["hbm_thm"] = 0.3
            power *= 0.7
        top = part.sclk[-1]
        clock = top * (1 - 0.05 * busy) * math.sqrt(power / wish) if busy > 0.02 else part.sclk[0]
        return busy, power, max(float(part.sclk[0]), clock), limits

    def _limit(self, busy: float) -> float:
        """Temperature of the package at which the first sensor is at its throttle limit."""
        edge, junction, _memory = self.part.crit
        limit = junction - THROTTLE_MARGIN - HOTSPOT - HOTSPOT_PER_BUSY * 100 * busy
        return limit if edge is None else min(limit, edge - THROTTLE_MARGIN)

    def _heat(self, inputs: Inputs, busy: float, power: float, seconds: float) -> None:
        part, state = self.part, self.state
        cooling = inputs.cooling
        if part.fan:
            cooling *= 1 + 1.2 * (1 - inputs.fan)
        balance = ROOM + inputs.inlet + (RISE_IDLE + RISE_CAP * power / part.power_cap) * cooling
        self._edge = _towards(self._edge, balance, seconds, TAU_PACKAGE)
        for number, offset in enumerate(self._offsets):
            wanted = ROOM + STACK_SHARE * (self._edge - ROOM) + offset + inputs.heat.get(number, 0.0)
            self._stacks[number] = _towards(self._stacks[number], wanted, seconds, TAU_STACK)
        state.edge = round(self._edge)
        state.junction = round(self._edge + HOTSPOT + HOTSPOT_PER_BUSY * 100 * busy)
        state.hbm = [round(stack) for stack in self._stacks]

    def _show_limits(self, limits: dict[str, float]) -> None:
        names = {"ppt": "PPT0", "socket_thm": "TEMP_HOTSPOT", "hbm_thm": "TEMP_MEM"}
        self.state.throttled = tuple(names[kind] for kind in limits)

    def _count(self, inputs: Inputs, seconds: float, limits: dict[str, float]) -> None:
        state = self.state
        ticks = seconds * TICKS
        self._ticks += ticks
        state.accumulated = int(self._ticks)
        if inputs.xcd_busy is None:
            state.xcd_busy = [
                min(100, max(0, state.busy + n % 3 - 1)) if state.busy else 0 for n in range(self.part.xcds)
            ]
        else:
            state.xcd_busy = [max(state.busy, round(100 * inputs.xcd_busy))] * self.part.xcds
        for number, percent in enumerate(state.xcd_busy):
            self._activity[number] += percent * ticks
        state.xcd_activity = [int(total) for total in self._activity]
        state.activity = state.xcd_activity[0]
        state.mem_busy = 0 if inputs.spin or inputs.asleep else round(45 * min(1.0, inputs.load))
        self._memory_activity += state.mem_busy * ticks
        state.memory_activity = int(self._memory_activity)
        for kind, share in limits.items():
            self._residency[kind] += ticks * min(1.0, 2 * share)
            self._below["ppt" if kind == "ppt" else "thm"] += ticks * min(1.0, 2 * share)
            self._below["total"] += ticks * min(1.0, 2 * share)
        if state.busy < 5:
            self._below["low"] += ticks
        state.residency = {kind: int(total) for kind, total in self._residency.items()}
        state.below_limit = {kind: [int(total)] * self.part.xcds for kind, total in self._below.items()}
        flowing = 0.0 if inputs.spin or inputs.asleep else min(1.0, inputs.load) * LINK_RATE * seconds
        for number in range(inputs.links_down, len(self._traffic)):
            self._traffic[number] += flowing
            whole = int(self._traffic[number])
            self._traffic[number] -= whole
            state.xgmi_read[number] += whole
            state.xgmi_write[number] += whole - whole // 50
        self._pcie += state.pcie_bandwidth * seconds
        state.pcie_traffic = int(self._pcie)

    def _memory(self, inputs: Inputs, seconds: float) -> None:
        self.leaked += inputs.leak * self.part.vram * seconds
        if not self.serving:
            self.leaked = 0.0
        whole = self._start_vram + int(self.leaked) if self.serving else 620 << 20
        self.state.vram_used = min(whole, self.part.vram - (64 << 20))
        self.state.gtt_used = (16 << 20) if self.serving else (6 << 20)

    def near_wrap(self) -> None:
        """Set the counters that a table shows in 32 bits to where they wrap within minutes."""
        self._activity = [(WRAP - 2000.0) * PER_SHOWN] * self.part.xcds
        self._memory_activity = (WRAP - 800.0) * PER_SHOWN
        for kind in self._residency:
            self._residency[kind] = WRAP - 5000.0

    def restart(self) -> None:
        """A reset: the firmware's counters begin anew, as does the energy."""
        self._ticks = self._memory_activity = self._pcie = 0.0
        self._activity = [0.0] * self.part.xcds
        for table in (self._residency, self._below):
            for kind in table:
                table[kind] = 0.0
        self.state.energy = 0.0
        self.state.xgmi_read = [0] * len(self.state.xgmi_read)
        self.state.xgmi_write = [0] * len(self.state.xgmi_write)


def _towards(now: float, balance: float, seconds: float, tau: float) -> float:
    return balance + (now - balance) * math.exp(-seconds / tau)
