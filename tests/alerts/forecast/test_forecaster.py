"""A forecast, or the reason why there is none: on known series and on anything that hypothesis thinks of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocsteady.alerts.forecast.forecaster import Forecaster, fit
from rocsteady.alerts.forecast.guards import least_points
from rocsteady.alerts.forecast.methods import MIXTURE
from rocsteady.alerts.forecast.rolling import ALL
from rocsteady.alerts.forecast.series import Refusal, Series, regular
from rocsteady.alerts.forecast.signals import Signal, Unit
from tests.alerts.forecast.series import beating, climbing, minutes, wandering

LATENCY = Signal(name="ttft_p95", unit="seconds", objective=2.0)


def fitted(values: np.ndarray, signal: Signal = LATENCY, horizon: int = 8) -> Forecaster:
    made = fit(minutes(values), signal, horizon, None)
    assert isinstance(made, Forecaster), made
    return made


def test_a_forecast_has_a_band_a_method_and_scores() -> None:
    made = fitted(wandering())
    outlook = made.outlook()
    assert not isinstance(outlook, Refusal)
    assert (outlook.low <= outlook.path).all() and (outlook.path <= outlook.high).all()
    assert (outlook.low > 0).all()
    assert made.rolled.winner in ALL
    assert set(made.rolled.scores) == set(ALL)
    assert sum(outlook.weights.values()) == pytest.approx(1)
    for score in made.rolled.scores.values():
        assert score.mase is not None and score.mase > 0
        assert score.coverage is not None and 0 <= score.coverage <= 1


def test_a_climb_is_seen_before_the_breach() -> None:
    values = climbing()
    made = fitted(values, LATENCY.__class__(name="x", unit="seconds", objective=float(values[-1]) + 0.06))
    outlook = made.outlook()
    assert not isinstance(outlook, Refusal)
    assert outlook.expected is not None and 3 <= outlook.expected <= 8
    assert outlook.earliest is not None and outlook.earliest <= outlook.expected


def test_a_crossed_objective_is_crossed_now() -> None:
    outlook = fitted(wandering(), Signal(name="x", unit="seconds", objective=1e-3)).outlook()
    assert not isinstance(outlook, Refusal)
    assert (outlook.expected, outlook.earliest) == (0, 0)


def test_below_is_the_bad_side_of_free_memory() -> None:
    values = climbing()[::-1].copy()
    made = fitted(values, Signal(name="free", unit="bytes", worse="below", objective=float(values[-1]) - 0.05))
    outlook = made.outlook()
    assert not isinstance(outlook, Refusal)
    assert outlook.expected is not None and outlook.expected > 0


def test_a_season_is_modelled_and_helps() -> None:
    made = fitted(beating())
    assert made.fitted.arima.length == 24
    scores = made.rolled.scores
    assert scores["arima"].mase < scores["last value"].mase  # type: ignore[operator]


def test_what_comes_later_changes_no_earlier_score() -> None:
    """The choice and the parameters of the choosing part know nothing of the last fifth."""
    values = wandering(300)
    other = values.copy()
    other[260:] *= 3
    one, two = fitted(values), fitted(other)
    assert one.rolled.winner == two.rolled.winner
    assert one.rolled.late.arima.order == two.rolled.late.arima.order
    assert one.rolled.late.arima.ar == pytest.approx(two.rolled.late.arima.ar)


def test_updates_follow_the_series() -> None:
    values = wandering(260)
    made = fitted(values[:240])
    for value in [*values[240:250], math.nan, *values[251:]]:
        outlook = made.update(float(value))
        assert not isinstance(outlook, Refusal)
        assert np.isfinite(outlook.path).all() and (outlook.path > 0).all()
    assert made.series.end == minutes(values).end
    assert np.isnan(made.series.values[-10])
    level = made.update(float(values.max() * 3))
    assert not isinstance(level, Refusal)
    assert level.path[0] > values.mean()


def test_an_update_of_another_kind_asks_for_a_new_fit() -> None:
    made = fitted(wandering())
    for wrong in (0.0, -1.0):
        refusal = made.update(wrong)
        assert isinstance(refusal, Refusal) and refusal.reason == "invalid"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda v: 0 * v + 5, "constant"),
        (lambda v: 0 * v, "constant"),
        (lambda v: 5 + 1e-9 * v, "constant"),
        (lambda v: np.concatenate((v[:150], np.full(50, 0.3))), "constant"),
        (lambda v: v[:20], "too-short"),
        (lambda v: np.where(np.arange(200) % 3 == 0, np.nan, v), "gaps"),
        (lambda v: np.where((np.arange(200) > 90) & (np.arange(200) < 125), np.nan, v), "gaps"),
        (lambda v: np.where(np.arange(200) == 7, -0.1, v), "invalid"),
        (lambda v: np.where(np.arange(200) == 7, 1e200, v), "invalid"),
    ],
)  # fmt: skip
def test_guards(change: object, reason: str) -> None:
    values = change(wandering())  # type: ignore[operator]
    made = fit(minutes(values), LATENCY, 8, None)
    assert isinstance(made, Refusal)
    assert made.reason == reason and made.text


def test_stale_by_the_clock_only() -> None:
    series = minutes(wandering())
    assert isinstance(fit(series, LATENCY, 8, series.end + 100), Forecaster)
    old = fit(series, LATENCY, 8, series.end + 600)
    assert isinstance(old, Refusal) and old.reason == "stale" and "600 s" in old.text


VALUES = st.one_of(
    st.floats(0.01, 10), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 0.5, math.nan, math.inf])
)
UNITS: list[Unit] = ["seconds", "bytes", "ratio", "none"]


@given(
    shape=st.sampled_from(["any", "level", "constant", "steps", "huge", "tiny"]),
    drawn=st.lists(VALUES, max_size=110),
    unit=st.sampled_from(UNITS),
    horizon=st.integers(1, 9),
    seed=st.integers(0, 10),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_anything_gives_a_forecast_or_a_reason(
    shape: str, drawn: list[float], unit: Unit, horizon: int, seed: int
) -> None:
    values = np.asarray(drawn, dtype=float)
    if shape != "any" and len(values):
        rng = np.random.default_rng(seed)
        base = {
            "level": 0.5 + 0.1 * rng.normal(size=120), "constant": np.full(120, 0.7),
            "steps": np.repeat(rng.uniform(0.1, 0.9, 12), 10), "huge": 1e90 * rng.uniform(1, 2, 120),
            "tiny": 1e-290 * rng.uniform(1, 2, 120),
        }[shape]  # fmt: skip
        places = rng.integers(0, 120, min(8, len(values)))
        base[places] = values[: len(places)]
        values = base
    points = [(1.7e9 + 60.0 * at, float(value)) for at, value in enumerate(values)]
    series = regular(points, None, 1440)
    signal = Signal(name="x", unit=unit, objective=0.6)
    made = series if isinstance(series, Refusal) else fit(series, signal, horizon, None)
    if isinstance(made, Refusal):
        assert made.reason and made.text
        return
    assert isinstance(series, Series)
    assert np.isfinite(series.values).sum() >= least_points(horizon)
    for outlook in (made.outlook(), made.update(float(series.filled()[-1])), made.update(math.nan)):
        if isinstance(outlook, Refusal):
            assert outlook.reason == "unstable"
            continue
        low, high = signal.bounds
        for line in (outlook.path, outlook.low, outlook.high):
            assert len(line) == horizon and np.isfinite(line).all() and (line >= low).all() and (line <= high).all()
        assert (outlook.low <= outlook.path).all() and (outlook.path <= outlook.high).all()
        if np.nanmin(series.values) > 0:
            assert (outlook.path > 0).all(), "never 0 by default"


def test_a_choice_needs_many_origins() -> None:
    assert fitted(wandering(120)).rolled.winner == MIXTURE
