"""Signals that are watched: fetched each step, updated with new points, fitted anew from time to time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

import msgspec

from rocsteady.alerts.forecast.forecaster import Forecaster, fit
from rocsteady.alerts.forecast.guards import too_old
from rocsteady.alerts.forecast.report import Document, document, refused
from rocsteady.alerts.forecast.series import Point, Refusal, regular
from rocsteady.alerts.forecast.signals import Signal
from rocsteady.model import InputError

MOST_UPDATES = 10
"""New points that are taken one by one; after a longer pause it is cheaper and safer to fit anew."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """One signal: where its points come from and how it is forecast.

    ``fetch``: points from ``start`` to ``end`` (seconds since 1970); raises ``InputError``. ``history``: seconds that
    a fit looks back; ``step``: seconds; ``horizon``: steps; ``refit``: seconds between two fits.
    """

    signal: Signal
    source: str
    fetch: Callable[[float, float], Sequence[Point]]
    step: float
    history: float
    horizon: int
    refit: float


class Watch:
    """State of one watched signal. ``look`` is called by one thread, ``result`` may be read by others."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.result: Document | None = None
        self._made: Forecaster | None = None
        self._fitted_at = float("-inf")
        self._lock = threading.Lock()

    def look(self, now: float) -> Document:
        """Fetch, and update or fit. Never raises for what a source or a series does; the document says it."""
        watched = self.watched
        try:
            result = self._forecast(now)
        except InputError as error:
            self._made = None
            result = refused(watched.signal, watched.source, Refusal("unreachable", str(error)), now)
        with self._lock:
            self.result = result
        return result

    def _forecast(self, now: float) -> Document:
        watched = self.watched
        made = self._made
        if made is not None and now - self._fitted_at < watched.refit:
            start = made.series.end + watched.step
            steps = int((now - made.series.end) // watched.step)
            if steps <= MOST_UPDATES:
                return self._moved(made, watched.fetch(start, now) if steps else (), now)
        end = now - now % watched.step  # on the grid, so that later points fall on it too
        points = watched.fetch(end - watched.history, end)
        series = regular(points, watched.step, int(watched.history / watched.step) + 1)
        if isinstance(series, Refusal):
            self._made = None
            return refused(watched.signal, watched.source, series, now)
        fitted = fit(series, watched.signal, watched.horizon, now)
        if isinstance(fitted, Refusal):
            self._made = None
            return refused(watched.signal, watched.source, fitted, now, series)
        self._made, self._fitted_at = fitted, now
        return document(fitted, watched.source, now)

    def _moved(self, made: Forecaster, points: Sequence[Point], now: float) -> Document:
        """Take the new points in, missing ones between them too."""
        watched = self.watched
        begin = made.series.end
        known = {round((at - begin) / watched.step): value for at, value in points if math.isfinite(value)}
        for place in range(1, max(known, default=0) + 1):
            if isinstance(made.update(known.get(place, float("nan"))), Refusal):
                self._made = None
                return self._forecast(now)
        why = too_old(made.series, now)
        return (
            document(made, watched.source, now)
            if why is None
            else refused(watched.signal, watched.source, why, now, made.series)
        )
