"""What ``rocsteady forecast`` says of a signal: the forecast, when an objective will be missed, and why there is none.

``signal`` is the name of the forecast series (``ttft_p95``, ``kv_cache``, or what the user called it), ``method`` a way
of forecasting. Samples of a signal that cannot be forecast are missing; ``forecast_usable`` is then 0 and
``forecast_refused`` names the reason.
"""

from __future__ import annotations

from rocsteady.metrics.declare import Metric

SOURCE = "a series of Prometheus or a file"
SINCE = "every engine whose latency is recorded"


def _forecast(name: str, **more: object) -> Metric:
    return Metric(name=f"forecast_{name}", source=SOURCE, read="forecast", since=SINCE, **more)  # type: ignore[arg-type]


BREACH_ETA = _forecast(
    "breach_eta_seconds", kind="gauge", unit="seconds", labels=("signal", "class"),
    help="Time until the signal crosses its objective, by class: expected (the forecast itself), earliest (the worse "
    "edge of the 95 % band). 0 while it is crossed; no sample where no crossing is seen within the horizon.",
)  # fmt: skip
BREACH_EXPECTED = _forecast(
    "breach_expected", kind="gauge", labels=("signal", "class"),
    help="1 where the forecast (class expected) or the worse edge of its band (class earliest) crosses the objective "
    "within the horizon; no sample without an objective or without a forecast.",
)  # fmt: skip
USABLE = _forecast(
    "usable", kind="gauge", labels=("signal",),
    help="1 where there is a forecast; 0 where the series does not allow one, see the reasons.",
)  # fmt: skip
REFUSED = _forecast(
    "refused", kind="gauge", labels=("signal", "reason"),
    help="1 for the reason why there is no forecast: unreachable, no-data, too-short, constant, gaps, stale, invalid, "
    "unstable.",
)  # fmt: skip
LATENCY = _forecast(
    "latency_seconds", kind="gauge", unit="seconds", labels=("signal", "class"),
    help="A latency: newest value (class last), forecast at the end of the horizon (expected), its 95 % band (lower, "
    "upper), and the objective.",
)  # fmt: skip
MEMORY = _forecast(
    "memory_bytes", kind="gauge", unit="bytes", labels=("signal", "class"),
    help="An amount of memory, with the classes of the latency metric.",
)  # fmt: skip
SHARE = _forecast(
    "share_ratio", kind="gauge", unit="ratio", labels=("signal", "class"),
    help="A share, such as that of the KV cache in use, with the classes of the latency metric.",
)  # fmt: skip
VALUE = _forecast(
    "value", kind="gauge", labels=("signal", "class"),
    help="A signal without a unit, with the classes of the latency metric.",
)  # fmt: skip
HORIZON = _forecast(
    "horizon_seconds", kind="gauge", unit="seconds", labels=("signal",), help="How far ahead the forecast looks.",
)  # fmt: skip
AGE = _forecast(
    "newest_point_age_seconds", kind="gauge", unit="seconds", labels=("signal",),
    help="Age of the newest point that the forecast knows.",
)  # fmt: skip
METHOD_INFO = _forecast(
    "method_info", kind="info", labels=("signal", "method"), help="The method that won on this series and is in use.",
)  # fmt: skip
ERROR = _forecast(
    "error_mase", kind="gauge", labels=("signal", "method"),
    help="Mean absolute scaled error of each method on the last fifth of the series, which no choice has seen; 1 is "
    "the one-step error of repeating the last value.",
)  # fmt: skip
COVERAGE = _forecast(
    "coverage_ratio", kind="gauge", unit="ratio", labels=("signal",),
    help="Share of the points of that fifth that fell into the 95 % band of the method in use.",
)  # fmt: skip
DURATION = _forecast(
    "duration_seconds", kind="gauge", unit="seconds", labels=("signal", "kind"),
    help="Time that the last step took, by kind: fit (choice and parameters), update (one new point).",
)  # fmt: skip

METRICS = (
    BREACH_ETA, BREACH_EXPECTED, USABLE, REFUSED, LATENCY, MEMORY, SHARE, VALUE, HORIZON, AGE, METHOD_INFO, ERROR,
    COVERAGE, DURATION,
)  # fmt: skip
