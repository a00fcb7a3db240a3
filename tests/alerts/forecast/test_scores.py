"""Scores, band, mixture and methods against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rocsteady.alerts.forecast.analogues import Analogues
from rocsteady.alerts.forecast.arima import Arima, fit_arima
from rocsteady.alerts.forecast.band import Band, quantile
from rocsteady.alerts.forecast.baselines import LastValue, Line, SeasonalNaive, Smoothing, fit_smoothing
from rocsteady.alerts.forecast.limits import limits
from rocsteady.alerts.forecast.mixture import Mixture
from rocsteady.alerts.forecast.scores import alarms, score
from rocsteady.alerts.forecast.season import find_season
from rocsteady.alerts.forecast.signals import Signal
from tests.alerts.forecast.series import beating, wandering

COUNT = np.arange(1.0, 11.0)


def test_baselines_forecast_what_their_names_say() -> None:
    assert LastValue().paths(COUNT, 2, 8).tolist() == [[9, 9], [10, 10]]
    assert SeasonalNaive(3).paths(COUNT, 4, 9).tolist() == [[8, 9, 10, 8]]
    assert math.isnan(SeasonalNaive(3).paths(COUNT, 1, 0)[0, 0])
    assert Line(5).paths(COUNT, 2, 9)[0] == pytest.approx([11, 12])
    assert np.isnan(Line(5).paths(COUNT, 2, 3)[0]).all()
    assert Smoothing(1.0, 0.0, 1.0, 0.0, 0).paths(COUNT, 2, 9)[0] == pytest.approx([10, 10])


def test_smoothing_learns_a_trend_and_a_season() -> None:
    line = np.arange(100.0)
    assert fit_smoothing(line, 0).paths(line, 3, 99)[0] == pytest.approx([100, 101, 102], abs=0.5)
    cycle = np.tile([0.0, 1.0, 4.0, 1.0], 30)
    assert fit_smoothing(cycle, 4).paths(cycle, 4, 119)[0] == pytest.approx([0, 1, 4, 1], abs=0.05)


@pytest.mark.parametrize("order", [(1, 0, 0), (2, 0, 1), (0, 1, 1), (1, 1, 1)])
def test_arima_forecasts_as_statsmodels_does(order: tuple[int, int, int]) -> None:
    """Our recursion over all origins against the state space forecast with the same parameters."""
    from scipy.signal import lfilter
    from statsmodels.tsa.statespace.sarimax import SARIMAX

    values = lfilter([1.0, 0.4], [1.0, -0.5, -0.2], np.random.default_rng(4).normal(size=300))
    values = np.cumsum(values) if order[1] else values
    made = fit_arima(values, 0, order)
    assert made.order == order
    p, d, q = order
    model = SARIMAX(values, order=order, trend="n" if d else "c")
    params = [*([] if d else [made.mean * made.ar.sum()]), *(-made.ar[1:]), *made.ma[1:], 0.01]
    assert len(params) == p + q + 2 - d
    theirs = model.filter(np.asarray(params)).forecast(6)
    assert made.paths(values, 6, 299)[0] == pytest.approx(theirs, rel=2e-3)


def test_arima_finds_the_parameter_it_was_made_with() -> None:
    made = fit_arima(np.log(wandering(1000, keep=0.7)), 0, (1, 0, 0))
    assert -made.ar[1] == pytest.approx(0.7, abs=0.08)


def test_arima_of_nothing_is_the_last_value() -> None:
    made = fit_arima(np.zeros(50), 0)
    assert isinstance(made, Arima)
    assert made.paths(np.zeros(50), 3, 49)[0] == pytest.approx([0, 0, 0])


def test_origins_know_nothing_of_the_future() -> None:
    values = beating()
    changed = values.copy()
    changed[200:] += 5
    methods = [
        LastValue(), SeasonalNaive(24), Line(30), fit_smoothing(values[:150], 24), fit_arima(values[:150], 24), Analogues(10)
    ]  # fmt: skip
    for method in methods:
        one, two = method.paths(values, 5, 100), method.paths(changed, 5, 100)
        assert np.array_equal(one[:100], two[:100], equal_nan=True), method


def test_analogues_repeat_what_followed() -> None:
    values = np.tile([1.0, 1.0, 5.0, 3.0, 1.0, 1.0], 20)
    assert Analogues(5).paths(values, 3, 116)[0].tolist() == [3.0, 1.0, 1.0]


def test_season_is_found_and_noise_has_none() -> None:
    assert find_season(beating(), 60.0).length == 24
    assert find_season(beating(), 60.0).strength > 0.8
    noise = np.random.default_rng(3).normal(size=300)
    assert find_season(noise, 60.0).strength < limits().season_strength.value


def test_the_mixture_follows_the_better_method() -> None:
    mixture = Mixture(2, 2)
    for _ in range(20):
        mixture.mix(np.asarray([[1.0, 1.0], [3.0, 3.0]]))
        mixture.learn(1.1)
    mixed, weight = mixture.mix(np.asarray([[1.0, 1.0], [3.0, 3.0]]))
    assert weight[0] > 0.99 and mixed == pytest.approx([1.0, 1.0], abs=0.02)
    mixture.learn(math.nan)
    mixed, weight = mixture.mix(np.asarray([[np.nan, 1.0], [3.0, 3.0]]))
    assert weight.tolist() == [0.0, 1.0] and mixed.tolist() == [3.0, 3.0]


def test_quantiles_are_rounded_outwards() -> None:
    ordered = np.arange(1.0, 100.0)[:, None]
    assert quantile(ordered, 0.025, lower=True)[0] == 2
    assert quantile(ordered, 0.975, lower=False)[0] == 98
    few = np.asarray([[3.0], [1.0], [np.nan]])
    assert quantile(few, 0.025, lower=True)[0] == 1
    assert quantile(few, 0.975, lower=False)[0] == 3
    assert quantile(np.full((4, 1), np.nan), 0.5, lower=True)[0] == 0


def test_the_band_comes_to_the_wanted_share_after_a_change() -> None:
    rng = np.random.default_rng(5)
    band = Band(rng.normal(size=(300, 1)))
    inside = []
    for _ in range(6000):
        value = rng.normal() * 2.5
        low, high = band.offsets()
        inside.append(low[0] <= value <= high[0])
        band.learn(np.asarray([value]))
    assert np.mean(inside[:50]) < 0.9
    assert 0.93 <= np.mean(inside[3000:]) <= 0.97


def test_a_band_is_never_narrower_further_away() -> None:
    band = Band(np.asarray([[-2.0, -1.0], [2.0, 1.0], [0.5, 0.1]]))
    low, high = band.offsets()
    assert low.tolist() == [-2.0, -2.0] and high.tolist() == [2.0, 2.0]


def test_mase_pinball_and_coverage_by_hand() -> None:
    made, came = np.asarray([[1.0, 2.0]]), np.asarray([[2.0, np.nan]])
    found = score(made, made - 0.5, made + 2.0, came, 0.5)
    assert found.mase == 2.0
    assert found.coverage == 1.0
    assert found.pinball == pytest.approx((0.025 * 1.5 + 0.5 * 1.0 + 0.025 * 1.0) / 3 / 0.5)
    assert score(made, made, made, np.full((1, 2), np.nan), 0.5).mase is None


def test_alarms_by_hand() -> None:
    signal = Signal(name="x", unit="seconds", objective=10.0)
    values = np.asarray([1, 1, 1, 1, 11, 11, 1, 1, 1, 1, 1, 1], dtype=float)
    made = np.ones((9, 2))
    made[2:4] = 12  # announced two steps before the breach at 4
    made[6] = 12  # announced, and nothing comes
    base = score(made, made, made, made, 1.0)
    found = alarms(base, made, values, signal, 60.0)
    assert (found.breaches, found.caught, found.lead_seconds) == (1, 1, 120.0)
    assert found.false_alarms_per_day == pytest.approx(86400 / (9 * 60))
    assert alarms(base, made, values, Signal(name="x"), 60.0).breaches is None


def test_each_number_says_why() -> None:
    known = limits()
    for name in known.__struct_fields__:
        entry = getattr(known, name)
        assert entry.why and entry.source and entry.value > 0, name
