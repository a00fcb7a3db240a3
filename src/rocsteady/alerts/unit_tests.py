"""The promtool unit tests of the rules: one that fires, ones that stay quiet, and one in the middle of ``for``."""

from __future__ import annotations

import math
from typing import Any

from rocsteady.alerts.amounts import duration, evaluate
from rocsteady.alerts.generate import alert, as_yaml, static_labels
from rocsteady.alerts.rule import Case, Segment
from rocsteady.alerts.settings import Chosen, General, Settings
from rocsteady.alerts.texts import expression, filled
from rocsteady.model import CatalogError

INSTANCE = "node1:9945"
LONGEST_STEP = 60
DAY = 86400
STEP_OF_DAYS = 240
MOST_SAMPLES = 200_000


def test_files(settings: Settings) -> dict[str, str]:
    """Test files by path below the output directory: one per group and sample interval.

    A file has one evaluation interval. With that of its quickest rule, a rule over a day would be evaluated ten thousand
    times.
    """
    bundles: dict[tuple[str, int], list[Chosen]] = {}
    for choice in settings.rules:
        bundles.setdefault((choice.group, step_of(choice)), []).append(choice)
    made = {}
    for (group, step), choices in bundles.items():
        tests = [test for choice in choices for test in tests_of(choice, settings.general)]
        rules = [f"../rules/{group}.rules.yml"]
        document = {"rule_files": rules, "evaluation_interval": duration(step), "tests": tests}
        made[f"tests/{group}.{duration(step)}.test.yml"] = as_yaml(document)
    return made


def step_of(choice: Chosen) -> int:
    """Seconds between two samples: a fifth of the shortest duration of the rule, at most a minute; 4 minutes where the
    shortest is a day (Prometheus forgets a sample after 5)."""
    lengths = [int(choice.amounts[name]) for name in choice.durations if choice.amounts[name]]
    if not lengths:
        return LONGEST_STEP
    shortest = min(lengths)
    return STEP_OF_DAYS if shortest >= DAY else max(1, min(LONGEST_STEP, shortest // 5))


def tests_of(choice: Chosen, general: General) -> list[dict[str, Any]]:
    """Entries of ``tests:`` for one rule."""
    rule, cases = choice.rule, choice.rule.tests
    fires = test(choice, cases.fires, general, f"{rule.id}: fires", [expected(choice, cases.fires, general)])
    wait = choice.amounts["for"]
    made = [fires]
    if cases.pending and wait >= 2 * step_of(choice):
        early = {**fires["alert_rule_test"][0], "eval_time": duration(lead(choice, cases.fires) + wait // 2)}
        fires["alert_rule_test"].insert(0, {**early, "exp_alerts": []})
    made += [test(choice, case, general, f"{rule.id}: quiet {n}", []) for n, case in enumerate(cases.quiet, 1)]
    return made


def test(choice: Chosen, case: Case, general: General, name: str, alerts: list[dict[str, Any]]) -> dict[str, Any]:
    """One entry of ``tests:``."""
    step, at = step_of(choice), eval_time(choice, case)
    return {
        "name": name,
        "interval": duration(step),
        "input_series": [
            {
                "series": with_target(filled_in(choice, s.series), general.job),
                "values": values(choice, s.values, at, step),
            }
            for s in case.series
        ],
        "alert_rule_test": [{"eval_time": duration(at), "alertname": choice.rule.alert, "exp_alerts": alerts}],
    }


def filled_in(choice: Chosen, series: str) -> str:
    """``%name%`` in a series is a threshold: the bucket of a histogram that a goal looks at."""
    return expression(series, choice.amounts, choice.durations, {}, f"{choice.rule.id}.tests")


def expected(choice: Chosen, case: Case, general: General) -> dict[str, Any]:
    """The alert that must be there, with its texts as Prometheus fills them in."""
    rule = choice.rule
    labels = {"instance": INSTANCE, "job": general.job, **case.labels}
    labels = {key: value for key, value in labels.items() if value}
    value = evaluate(case.value, names(choice), f"{rule.id}.tests.value")
    annotations = alert(choice, general)["annotations"]
    for key in ("summary", "description", "action"):
        annotations[key] = filled(getattr(rule, key), choice.amounts, choice.durations, labels, value)
    return {"exp_labels": {**labels, **static_labels(choice)}, "exp_annotations": annotations}


def names(choice: Chosen) -> dict[str, float]:
    """What sums in a test may name: the thresholds, ``wait`` (the ``for``) and ``step`` (the sample interval)."""
    amounts = {name: amount for name, amount in choice.amounts.items() if name != "for"}
    return {**amounts, "wait": choice.amounts["for"], "step": step_of(choice)}


def lead(choice: Chosen, case: Case) -> int:
    """Seconds before the last segment of the first series starts."""
    first = case.series[0].values[:-1]
    return math.ceil(sum(_length(choice, segment) for segment in first))


def eval_time(choice: Chosen, case: Case) -> int:
    """Seconds at which a test looks."""
    if case.at is not None:
        return math.ceil(evaluate(case.at, names(choice), f"{choice.rule.id}.tests.at"))
    return lead(choice, case) + int(choice.amounts["for"]) + 3 * step_of(choice)


def _length(choice: Chosen, segment: Segment) -> float:
    if segment.lasts is None:
        raise CatalogError(f"{choice.rule.id}.tests: a segment that is not the last one must say how long it lasts")
    return evaluate(segment.lasts, names(choice), f"{choice.rule.id}.tests.lasts")


def values(choice: Chosen, segments: tuple[Segment, ...], at: int, step: int) -> str:
    """Samples in promtool's notation, up to one step behind ``at``."""
    parts: list[str] = []
    needed = at // step + 2
    if needed > MOST_SAMPLES:
        raise CatalogError(
            f"{choice.rule.id}.tests: {needed} samples; the longest and the shortest duration are too far apart"
        )
    where = f"{choice.rule.id}.tests"
    for n, segment in enumerate(segments):
        last = n == len(segments) - 1
        count = needed if last else min(needed, math.ceil(_length(choice, segment) / step))
        needed -= count
        if count <= 0:
            continue
        if segment.value is None:
            parts.append(f"_x{count}")
            continue
        start = evaluate(segment.value, names(choice), where)
        slope = evaluate(segment.per_minute, names(choice), where) * step / 60
        parts.append(f"{_plain(start)}{'-' if slope < 0 else '+'}{_plain(abs(slope))}x{count - 1}")
    return " ".join(parts)


def _plain(value: float) -> str:
    """Without an exponent: promtool's notation has none."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def with_target(series: str, job: str) -> str:
    """The series with the labels that Prometheus adds."""
    target = f'instance="{INSTANCE}",job="{job}"'
    if series.endswith("}"):
        body = series[:-1]
        return f"{body}{'' if body.endswith('{') else ','}{target}}}"
    return f"{series}{{{target}}}"
