"""Synthetic series of four kinds, by seed: what a serving engine's P95 looks like when nothing, the day, a leak of
capacity, or bursts move it. Synthetic: made by the formulas below, not measured on an engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
QUARTER = 900.0
MINUTE = 60.0


def wander(rng: np.random.Generator, n: int, keep: float, size: float) -> Floats:
    """First-order autoregressive noise."""
    noise = rng.normal(size=n) * size
    out = np.empty(n)
    out[0] = noise[0] / np.sqrt(1 - keep * keep)
    for at in range(1, n):
        out[at] = keep * out[at - 1] + noise[at]
    return out


def calm(rng: np.random.Generator, n: int) -> Floats:
    """A level with wandering load and the noise of percentiles of few requests."""
    slow = wander(rng, n, rng.uniform(0.3, 0.9), rng.uniform(0.05, 0.15))
    return np.asarray(rng.uniform(0.2, 1) * np.exp(slow + rng.normal(size=n) * rng.uniform(0.02, 0.1)))


def daily(rng: np.random.Generator, n: int) -> Floats:
    """A day of 96 quarter hours with one overtone."""
    t = np.arange(n) * 2 * np.pi / 96
    day = rng.uniform(0.2, 0.5) * np.sin(t + rng.uniform(0, 2 * np.pi))
    half = rng.uniform(0, 0.2) * np.sin(2 * t + rng.uniform(0, 2 * np.pi))
    noise = wander(rng, n, rng.uniform(0.3, 0.9), rng.uniform(0.05, 0.12))
    return np.asarray(rng.uniform(0.3, 1) * np.exp(day + half + noise))


def trend(rng: np.random.Generator, n: int) -> Floats:
    """Calm, then from somewhere in the middle a climb to two to four times the level at the end."""
    begin = rng.uniform(0.35, 0.65) * n
    share = np.clip((np.arange(n) - begin) / (n - begin), 0, None)
    climb = 1 + rng.uniform(1, 3) * share ** rng.choice([1.0, 1.5])
    return np.asarray(
        rng.uniform(0.3, 0.8) * climb * np.exp(wander(rng, n, rng.uniform(0.2, 0.8), rng.uniform(0.03, 0.1)))
    )


def burst(rng: np.random.Generator, n: int) -> Floats:
    """A queue in front of fixed capacity: arrivals switch between below and above it; latency follows the backlog."""
    usual, over = rng.uniform(0.5, 0.75), rng.uniform(1.2, 1.8)
    begin, end = 1 / rng.uniform(20, 50), 1 / rng.uniform(4, 12)
    base, on, backlog = rng.uniform(0.2, 0.5), False, 0.0
    out = np.empty(n)
    for at in range(n):
        on = rng.random() > end if on else rng.random() < begin
        backlog = max(0.0, backlog + rng.poisson(100 * (over if on else usual)) - 100)
        out[at] = (base + backlog / 50) * np.exp(rng.normal() * 0.08)
    return out


KINDS: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "calm": (calm, MINUTE), "daily": (daily, QUARTER), "trend": (trend, MINUTE), "burst": (burst, MINUTE),
}  # fmt: skip
"""Maker and step in seconds."""


def make(kind: str, seed: int, n: int) -> tuple[Floats, float]:
    """A series of ``n`` points and its step."""
    maker, step = KINDS[kind]
    return maker(np.random.default_rng(seed), n), step
