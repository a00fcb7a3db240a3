"""The state of a GPU: thresholds, hysteresis, boots and resets, what is not readable."""

from __future__ import annotations

from rocsteady.catalog import load_catalog
from rocsteady.diagnose.health import GpuState, HealthEvent, Observation, evaluate, thresholds

GPU = "0000:c1:00.0"
FINE = {"uncorrected.umc": 0.0, "links_down": 0.0, "pages_pending": 0.0}


def see(
    before: GpuState | None,
    now: float,
    boot: str = "a",
    missing: str = "",
    events: tuple[HealthEvent, ...] = (),
    **readings: float,
) -> GpuState:
    values = {} if missing else FINE | {name.replace("__", "."): value for name, value in readings.items()}
    return evaluate(Observation(gpu=GPU, readings=values, events=events, missing=missing, boot_id=boot), before, now)


def test_healthy() -> None:
    state = see(None, 1000)
    assert (state.state, state.advice, state.reasons) == ("healthy", "none", ())


def test_never_read_is_unknown() -> None:
    state = see(None, 1000, missing="no answer")
    assert state.state == "unknown"
    assert [r.id for r in state.reasons] == ["unreadable"]


def test_uncorrected_error_stays_until_reset() -> None:
    state = see(see(None, 1000), 1010, uncorrected__umc=1)
    assert (state.state, state.advice, [r.id for r in state.reasons]) == ("unhealthy", "drain", ["RAS-0002"])
    assert see(state, 90_000, uncorrected__umc=1).state == "unhealthy"
    reset = (HealthEvent("gpu-reset-succeeded", 2000),)
    healed = see(state, 2010, events=reset, uncorrected__umc=1)
    assert healed.state == "healthy", "the count from before the reset is old evidence"
    assert see(healed, 2020, events=reset, uncorrected__umc=2).state == "unhealthy"


def test_new_boot_forgets() -> None:
    state = see(see(None, 1000), 1010, uncorrected__umc=1)
    assert see(state, 1100, boot="b").state == "healthy"


def test_event_before_the_reset_does_not_count() -> None:
    hang, reset = HealthEvent("ring-timeout", 990), HealthEvent("gpu-reset-succeeded", 995)
    assert see(see(None, 900), 1000, events=(hang,)).state == "suspect"
    assert see(see(None, 900), 1000, events=(hang, reset)).state == "healthy"


def test_link_must_stay_down_to_count_and_up_to_heal() -> None:
    state = see(see(None, 0), 10, links_down=1)
    assert state.state == "healthy"
    state = see(state, 25)
    state = see(see(state, 30, links_down=1), 45, links_down=1)
    assert state.state == "healthy", "it began anew"
    state = see(state, 65, links_down=1)
    assert (state.state, state.since) == ("unhealthy", 65)
    state = see(state, 80)
    assert state.state == "unhealthy"
    assert see(see(state, 200), 400).state == "healthy"


def test_a_late_scrape_keeps_the_state_and_silence_is_unknown() -> None:
    state = see(None, 1000)
    state = see(state, 1015, missing="timeout")
    assert state.state == "healthy"
    state = see(state, 1031, missing="timeout")
    assert state.state == "unknown"
    assert see(state, 1040).state == "healthy"


def test_unhealthy_and_silent_stays_unhealthy() -> None:
    state = see(see(None, 1000), 1010, uncorrected__umc=1)
    assert see(state, 2000, missing="timeout").state == "unhealthy"


def test_xgmi_errors_an_hour() -> None:
    errors = tuple(HealthEvent("xgmi-link-error", 1000 + n) for n in range(4))
    assert see(None, 1100, events=errors[:3]).state == "healthy"
    assert see(None, 1100, events=errors).state == "suspect"
    assert see(None, 9000, events=errors).state == "healthy"


def test_each_rule_is_of_the_catalog_and_has_a_source() -> None:
    modes = load_catalog().modes
    for rule in thresholds().rules:
        assert rule.id in modes, rule.id
        assert rule.source.startswith("https://")
        assert len(rule.why) > 20
