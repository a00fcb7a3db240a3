"""Plays a living node in real time, or faster."""

from __future__ import annotations

import time
from collections.abc import Callable

from rocsteady.lab.live.control import Control
from rocsteady.lab.live.node import LivingNode

TICK = 1.0
"""Wall seconds between two writes: firmware averages over about as long."""


def play_on(
    node: LivingNode,
    speed: float = 1.0,
    duration: float | None = None,
    *,
    wait: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    told: Callable[[str], None] = lambda _: None,
) -> None:
    """Until ``duration`` simulated seconds have passed; for ever with None. ``told`` hears when faults begin and end."""
    control = Control(node)
    control.write()
    try:
        _play(node, control, speed, duration, wait, clock, told)
    finally:
        control.close()


def _play(
    node: LivingNode, control: Control, speed: float, duration: float | None, wait: Callable[[float], object],
    clock: Callable[[], float], told: Callable[[str], None],
) -> None:  # fmt: skip
    start = clock()
    known: dict[int, str] = {}
    while duration is None or node.now < duration:
        wait(TICK)
        control.poll()
        target = (clock() - start) * speed
        node.advance(max(0.0, (target if duration is None else min(target, duration)) - node.now))
        for number, fault in enumerate(node.faults):
            state = "ended" if fault.ended is not None else "began" if fault.at <= node.now else "waits"
            if known.get(number) != state:
                known[number] = state
                told(f"{node.now:.1f} s: {fault.scenario.name} on GPU {fault.gpu} ({node.slots[fault.gpu]}) {state}")
        control.write()
