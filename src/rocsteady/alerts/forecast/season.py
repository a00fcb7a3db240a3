"""The season of a series: its length in steps, found by autocorrelation, and its sines and cosines."""

from __future__ import annotations

import msgspec
import numpy as np

from rocsteady.alerts.forecast.series import Floats

SHORTEST = 6
"""Steps; a shorter beat is left to the ARMA part."""
HARMONICS = 3
DAY = 86_400.0
HOUR = 3_600.0


class Season(msgspec.Struct, frozen=True):
    """``length`` in steps, 0 where none could even be tried; ``strength``: autocorrelation at that lag, up to 1."""

    length: int
    strength: float


def autocorrelation(values: Floats) -> Floats:
    """Of the values less their straight line, at lags 0 to n - 1, each divided by its number of pairs."""
    n = len(values)
    x = np.arange(n) - (n - 1) / 2
    rest = values - values.mean()
    rest = rest - x * (x @ rest) / (x @ x)
    spectrum = np.fft.rfft(rest, 2 * n)
    raw = np.fft.irfft(spectrum * np.conj(spectrum))[:n]
    if raw[0] <= 0:
        return np.zeros(n)
    return np.asarray(raw / raw[0] * n / (n - np.arange(n)))


def find_season(values: Floats, step: float) -> Season:
    """The strongest peak after the first zero of the autocorrelation, at most a third of the series long: what came twice
    may be chance.

    Where there is none, the day or hour if it fits twice, else the shortest: the seasonal baseline always has a length,
    and the strength says whether anything else should model it.
    """
    n = len(values)
    half = n // 2
    found = autocorrelation(values)
    below = np.flatnonzero(found < 0.05)
    start = max(SHORTEST, int(below[0]) if len(below) else n)
    best = Season(0, 0.0)
    for lag in range(start, n // 3 + 1):
        if found[lag] > best.strength and found[lag] >= found[lag - 1] and found[lag] >= found[lag + 1]:
            best = Season(lag, float(found[lag]))
    if best.length:
        return best
    for span in (DAY, HOUR):
        lag = round(span / step)
        if SHORTEST <= lag <= half:
            return Season(lag, float(found[lag]))
    return Season(SHORTEST, 0.0) if half >= SHORTEST else Season(0, 0.0)


def waves(times: Floats, length: int) -> Floats:
    """Sine and cosine of each harmonic at the given steps: one row per step."""
    count = min(HARMONICS, length // 2 - 1)
    angle = 2 * np.pi * np.outer(times, np.arange(1, count + 1)) / length
    return np.concatenate((np.sin(angle), np.cos(angle)), axis=1)
