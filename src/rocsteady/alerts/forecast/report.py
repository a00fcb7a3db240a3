"""The result as a document, and the document as text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from rocsteady.alerts.forecast.forecaster import Forecaster
from rocsteady.alerts.forecast.methods import BASELINES
from rocsteady.alerts.forecast.scores import Score
from rocsteady.alerts.forecast.series import Refusal, Series
from rocsteady.alerts.forecast.signals import Signal, Unit, Worse

PROTOCOL = (
    "rolling origin on the last fifth of the series, which neither parameters nor choice have seen; "
    "every method forecasts every step of the horizon from every origin"
)


class Ahead(msgspec.Struct, frozen=True):
    """One step of the forecast."""

    after_seconds: float
    expected: float
    lower: float
    upper: float


class Breach(msgspec.Struct, frozen=True):
    """Seconds from the newest point until the objective is crossed; 0 now, None: not within the horizon."""

    now: bool
    expected_seconds: float | None
    earliest_seconds: float | None


class Chosen(msgspec.Struct, frozen=True):
    """The method in use. ``arima_order`` and ``season_steps`` of the ARIMA among the methods (0: no season)."""

    name: str
    weights: dict[str, float]
    arima_order: tuple[int, int, int]
    season_steps: int


class Scored(msgspec.Struct, frozen=True):
    """The scores by method, and how the one in use compares with the best baseline (MASE, 1.05 = 5 % worse)."""

    protocol: str
    origins: int
    methods: dict[str, Score]
    best_baseline: str | None
    against_best_baseline: float | None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """``rocsteady.forecast/1``. With status ``refused`` only signal, source, points and refusal are there."""

    schema: str = "rocsteady.forecast/1"
    status: str
    signal: str
    unit: Unit
    worse: Worse
    objective: float | None
    source: str
    made_at: str
    refusal: Refusal | None = None
    step_seconds: float | None = None
    points: int | None = None
    missing: int | None = None
    newest_at: str | None = None
    newest: float | None = None
    horizon_steps: int | None = None
    method: Chosen | None = None
    forecast: tuple[Ahead, ...] = ()
    steps_held_at_a_bound: int | None = None
    breach: Breach | None = None
    scores: Scored | None = None
    fit_seconds: float | None = None
    update_seconds: float | None = None


def stamp(seconds: float) -> str:
    """RFC 3339, UTC; a moment outside of the calendar as a number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


def refused(signal: Signal, source: str, why: Refusal, now: float, series: Series | None = None) -> Document:
    """The document of a series that cannot be forecast."""
    return Document(
        status="refused", signal=signal.name, unit=signal.unit, worse=signal.worse, objective=signal.objective,
        source=source, made_at=stamp(now), refusal=why, **({} if series is None else _points(series)),
    )  # fmt: skip


def _points(series: Series) -> dict[str, Any]:
    missing = int((~np.isfinite(series.values)).sum())
    return {
        "step_seconds": series.step, "points": len(series.values) - missing, "missing": missing,
        "newest_at": stamp(series.end),
    }  # fmt: skip


def document(made: Forecaster, source: str, now: float) -> Document:
    """The document of a fitted signal, as of its newest point."""
    outlook, series, signal = made.outlook(), made.series, made.signal
    if isinstance(outlook, Refusal):
        return refused(signal, source, outlook, now, series)
    step, scores = series.step, made.rolled.scores
    newest = float(series.filled()[-1])
    ahead = tuple(
        Ahead(step * (k + 1), float(outlook.path[k]), float(outlook.low[k]), float(outlook.high[k]))
        for k in range(made.horizon)
    )
    breach = None
    if signal.objective is not None:
        breach = Breach(signal.misses(newest), _seconds(outlook.expected, step), _seconds(outlook.earliest, step))
    ranked = [(mase, name) for name in BASELINES if (mase := scores[name].mase) is not None]
    best = min(ranked)[1] if ranked else None
    ratio = _ratio(scores[made.rolled.winner].mase, scores[best].mase) if best else None
    arima = made.fitted.arima
    return Document(
        status="forecast", signal=signal.name, unit=signal.unit, worse=signal.worse, objective=signal.objective,
        source=source, made_at=stamp(now), **_points(series), newest=newest, horizon_steps=made.horizon,
        method=Chosen(made.rolled.winner, outlook.weights, arima.order, arima.length),
        forecast=ahead, steps_held_at_a_bound=outlook.cut, breach=breach,
        scores=Scored(PROTOCOL, made.rolled.scored, scores, best, ratio),
        fit_seconds=made.fit_seconds, update_seconds=made.update_seconds,
    )  # fmt: skip


def _seconds(steps: int | None, step: float) -> float | None:
    return None if steps is None else steps * step


def _ratio(mine: float | None, other: float | None) -> float | None:
    return mine / other if mine is not None and other else None


def text(result: Document) -> str:
    """For people: what is expected, when the objective is crossed, and how far that can be trusted."""
    lines = [f"{result.signal}  from {result.source}"]
    if result.refusal is not None:
        return "\n".join([*lines, f"no forecast ({result.refusal.reason}): {result.refusal.text}"]) + "\n"
    assert result.method and result.scores and result.newest is not None and result.step_seconds
    show = _shown(result.unit)
    lines.append(
        f"{result.points} points, {result.step_seconds:g} s apart, {result.missing} missing; newest {show(result.newest)} at {result.newest_at}"
    )
    lines += ["", f"{'in':>8}  {'expected':>12}  95 % band"]
    for ahead in _some(result.forecast):
        band = f"{show(ahead.lower)} to {show(ahead.upper)}"
        lines.append(f"{_span(ahead.after_seconds):>8}  {show(ahead.expected):>12}  {band}")
    if result.steps_held_at_a_bound:
        lines.append(f"{result.steps_held_at_a_bound} steps are held at the smallest or largest value that makes sense")
    lines += ["", *_breach_lines(result, show), f"method: {_method(result.method)}"]
    lines += _score_lines(result.scores, result.method.name)
    return "\n".join(lines) + "\n"


def _breach_lines(result: Document, show: Callable[[float], str]) -> list[str]:
    breach = result.breach
    if breach is None or result.objective is None:
        return ["no objective given (--slo): no breach can be told"]
    side = f"{result.worse} {show(result.objective)}"
    reach = _span(result.forecast[-1].after_seconds)
    if breach.now:
        return [f"breach: now {side}"]
    if breach.expected_seconds is not None:
        first = f"breach: {side} expected in {_span(breach.expected_seconds)}"
    else:
        first = f"breach: none expected within {reach}"
    if breach.earliest_seconds is not None and breach.earliest_seconds != breach.expected_seconds:
        first += f"; the band crosses it in {_span(breach.earliest_seconds)}"
    return [first]


def _method(method: Chosen) -> str:
    order = f"ARIMA {','.join(map(str, method.arima_order))}"
    order += f" with a season of {method.season_steps} steps" if method.season_steps else ""
    if len(method.weights) == 1:
        return f"{method.name} ({order})" if method.name == "arima" else method.name
    parts = sorted(((weight, name) for name, weight in method.weights.items()), reverse=True)
    shares = ", ".join(f"{name} {weight:.0%}" for weight, name in parts if weight >= 0.005)
    return f"{method.name} of {shares} ({order})"


def _score_lines(scored: Scored, used: str) -> list[str]:
    out = ["", f"scores on the last fifth, unseen ({scored.origins} origins):"]
    head = f"  {'':14}  {'MASE':>6}  {'pinball':>7}  {'coverage':>8}"
    alarms = any(score.breaches is not None for score in scored.methods.values())
    out.append(head + (f"  {'caught':>8}  {'lead':>6}  {'false/day':>9}" if alarms else ""))
    for name, score in scored.methods.items():
        row = f"{'*' if name == used else ' '} {name:14}  {_figure(score.mase, '.3f'):>6}  {_figure(score.pinball, '.3f'):>7}"
        row += f"  {_figure(score.coverage, '.1%'):>8}"
        if alarms:
            lead = "-" if score.lead_seconds is None else _span(score.lead_seconds)
            row += f"  {f'{score.caught} of {score.breaches}':>8}  {lead:>6}  {_figure(score.false_alarms_per_day, '.1f'):>9}"
        out.append(row)
    if scored.against_best_baseline is not None:
        away = scored.against_best_baseline - 1
        out.append(f"{used} against the best baseline, {scored.best_baseline}: {away:+.1%} MASE")
    return out


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _some(steps: tuple[Ahead, ...]) -> list[Ahead]:
    """At most eight steps, the first and the last among them."""
    places = np.unique(np.rint(np.linspace(0, len(steps) - 1, min(8, len(steps)))).astype(int))
    return [steps[int(at)] for at in places]


def _span(seconds: float) -> str:
    """A time for people."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _shown(unit: Unit) -> Callable[[float], str]:
    """How values of the unit are written."""

    def show(value: float) -> str:
        if unit == "seconds":
            return f"{value * 1000:.3g} ms" if abs(value) < 1 else f"{value:.3g} s"
        if unit == "bytes":
            return f"{value / 2**30:.3f} GiB"
        return f"{value:.1%}" if unit == "ratio" else f"{value:.5g}"

    return show
