"""Durations, sums, texts, and the names in PromQL."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.alerts.amounts import duration, evaluate, seconds
from rocsteady.alerts.promql import names, strangers
from rocsteady.alerts.texts import humanize_1024, humanize_duration
from rocsteady.model import CatalogError

KNOWN = {"up": (), "a_total": ("gpu", "kind"), "b": ("gpu",)}


@given(st.integers(0, 366 * 86400))
def test_durations_come_back(value: int) -> None:
    assert seconds(duration(value)) == value


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert seconds(text) >= 0


@pytest.mark.parametrize("text", ["", "5", "5min", "-5m", "1.5h", "5m ", "400d", "٣m"])
def test_not_durations(text: str) -> None:
    with pytest.raises(ValueError):
        seconds(text)


def test_sums() -> None:
    assert evaluate("2 * window + limit / 4 - -1", {"window": 60, "limit": 8}, "x") == 123
    assert evaluate(7, {}, "x") == 7
    for wrong in ("limit", "__import__('os')", "1 if 1 else 2", "1 / 0", "2 ** 9", "(", "x.y"):
        with pytest.raises(CatalogError):
            evaluate(wrong, {}, "x")


def test_texts_as_prometheus_writes_them() -> None:
    assert [humanize_duration(v) for v in (0, 7.5, 75, 3725, 90061)] == [
        "0s",
        "7.5s",
        "1m 15s",
        "1h 2m 5s",
        "1d 1h 1m 1s",
    ]
    assert [humanize_1024(v) for v in (0, 1000, 1536, 3 * 2**30)] == ["0", "1000", "1.5Ki", "3Gi"]


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ('sum without (kind) (increase(a_total{gpu="x"}[5m])) > 3', []),
        ("b == 0 and on (job, instance, gpu) up offset 5m # comment with z", []),
        ("b * on (gpu) group_left (kind) a_total", []),
        ('label_replace(b, "x", "$1", "gpu", "(.*)") or vector(1)', []),
        ("c > 1e3", ["no metric c"]),
        ('b{kind="x"}', ["b has no label kind"]),
        ("sum by (stack) (b)", ["no metric of the expression has a label stack"]),
    ],
)
def test_names_in_promql(expression: str, wrong: list[str]) -> None:
    assert strangers(expression, KNOWN) == wrong


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        names(text)
