"""The crash timeline: when it blames an activity, when it does not, and when it cannot tell."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rocsteady.diagnose.timeline import ALPHA, covered_share, crash_timeline, tail
from rocsteady.model import Event, EventLog, Evidence, Span

DAY = 86_400.0
START = 1_790_000_000.0


def event(at: float, mark: str, order: int, name: str = "logrotate") -> Event:
    return Event(
        kind="x", subject=None, evidence=Evidence("log", order, name), fields={"activity": name}, at=at, mark=mark,
        order=order,
    )  # fmt: skip


def log(crashes: list[float], activity: list[float], days: int = 30) -> EventLog:
    times = [(t, "crash") for t in crashes] + [(t, "activity") for t in activity]
    events = tuple(event(t, m, i) for i, (t, m) in enumerate(sorted(times)))
    return EventLog(events, spans=(Span("log", START, START + days * DAY),))


NIGHTLY = [START + d * DAY + 3 * 3600 for d in range(30)]


def test_crashes_right_after_a_nightly_job_are_no_chance() -> None:
    timeline = crash_timeline(log([NIGHTLY[d] + 60 for d in (2, 9, 17, 25)], NIGHTLY))
    best = timeline.coincidences[0]
    assert best.followed == best.crashes == 4
    assert best.p_value is not None and best.p_value < 1e-6
    assert "4 of 4" in timeline.says


def test_crashes_at_other_times_are_not_blamed_on_the_job() -> None:
    timeline = crash_timeline(log([NIGHTLY[d] + 8 * 3600 for d in (2, 9, 17, 25)], NIGHTLY))
    assert timeline.coincidences[0].says == "no more than chance would have it"


def test_two_crashes_are_too_few() -> None:
    timeline = crash_timeline(log([NIGHTLY[2] + 60, NIGHTLY[9] + 60], NIGHTLY))
    assert "too few crashes to tell" in timeline.says
    assert timeline.coincidences[0].p_value is None


def test_an_activity_that_never_stops_explains_nothing() -> None:
    every_minute = [START + 60.0 * i for i in range(30 * 1440)]
    timeline = crash_timeline(log([NIGHTLY[d] + 60 for d in (2, 9, 17, 25)], every_minute))
    assert timeline.coincidences[0].p_value is None


def test_lines_of_one_crash_are_one_crash() -> None:
    timeline = crash_timeline(log([NIGHTLY[2] + s for s in (60, 61, 90, 300)], NIGHTLY))
    assert len(timeline.crashes) == 1
    assert timeline.crashes[0].before[0].startswith("-60 s")


def test_no_crash_no_timeline() -> None:
    assert crash_timeline(log([], NIGHTLY)).says == ""


@given(st.integers(1, 30), st.floats(0.0, 1.0))
def test_the_tail_is_a_probability_that_falls(n: int, p: float) -> None:
    values = [tail(n, k, p) for k in range(n + 1)]
    assert abs(values[0] - 1) < 1e-9
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(values))
    assert all(-1e-12 <= v <= 1 + 1e-9 for v in values)


@given(st.lists(st.floats(START - DAY, START + 2 * DAY), max_size=50))
def test_the_covered_share_is_a_share(times: list[float]) -> None:
    share = covered_share(sorted(times), (Span("log", START, START + DAY),))
    assert share is None or 0 <= share <= 1


def test_the_level_is_the_customary_one() -> None:
    assert ALPHA == 0.05
