"""How busy the engine keeps the GPUs: a day, and waves within it. A function of time and seed, without memory."""

from __future__ import annotations

import math
import random

DAY = 86_400.0
LOWEST, HIGHEST = 0.03, 0.85
"""A healthy node never saturates its XCDs; the alert for that is at 95 %."""
WAVES = ((1801.0, 0.07), (611.0, 0.06), (173.0, 0.05), (37.0, 0.04))
"""Seconds and share: batches of users, of requests, of a prompt. A choice of ours."""


class Load:
    """Share of time with work, of the whole engine and per GPU."""

    def __init__(self, seed: str, gpus: int) -> None:
        rng = random.Random(seed)
        self._phases = [rng.random() for _ in range(1 + len(WAVES))]
        self._own = [(rng.uniform(23, 97), rng.random()) for _ in range(gpus)]

    def at(self, seconds: float) -> float:
        """Of the engine."""
        value = 0.42 + 0.17 * math.sin(2 * math.pi * (seconds / DAY + self._phases[0]))
        for (period, share), phase in zip(WAVES, self._phases[1:], strict=True):
            value += share * math.sin(2 * math.pi * (seconds / period + phase))
        return min(HIGHEST, max(LOWEST, value))

    def of_gpu(self, gpu: int, seconds: float) -> float:
        """Of one GPU: the engine's, and a ripple of its own."""
        period, phase = self._own[gpu]
        return min(HIGHEST, max(LOWEST, self.at(seconds) + 0.02 * math.sin(2 * math.pi * (seconds / period + phase))))
