"""Small synthetic series for the tests."""

from __future__ import annotations

import numpy as np

from rocsteady.alerts.forecast.series import Floats, Series

START = 1_700_000_040.0
"""On the grid of minutes."""


def wandering(n: int = 200, seed: int = 1, keep: float = 0.7) -> Floats:
    """A positive level with autoregressive noise."""
    rng = np.random.default_rng(seed)
    out = np.zeros(n)
    for at in range(1, n):
        out[at] = keep * out[at - 1] + rng.normal() * 0.1
    return np.asarray(0.5 * np.exp(out))


def climbing(n: int = 200, seed: int = 1) -> Floats:
    """From 0.5 upwards by 0.01 a step."""
    return np.asarray(0.5 + 0.01 * np.arange(n) + np.random.default_rng(seed).normal(size=n) * 0.02)


def beating(n: int = 240, length: int = 24, seed: int = 1) -> Floats:
    """A clear season."""
    noise = np.random.default_rng(seed).normal(size=n) * 0.03
    return np.asarray(np.exp(0.4 * np.sin(2 * np.pi * np.arange(n) / length) + noise))


def minutes(values: Floats) -> Series:
    """One value a minute."""
    return Series(np.asarray(values, dtype=float), 60.0, START + 60.0 * (len(values) - 1))
