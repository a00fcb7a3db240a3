"""The state machine of a worker's health."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocsteady.gateway.health import Health, Rules

RULES = Rules()


def healthy() -> Health:
    health = Health(RULES)
    health.proof(0.0)
    return health


def test_a_good_probe_alone_makes_a_new_worker_usable_and_heals_nothing() -> None:
    health = Health(RULES)
    health.probe(True, "", 0)
    assert health.state == "new"
    health.probe(True, "", 1)
    assert health.state == "healthy"
    health.failure("frozen", "no token moves", 2)
    for second in range(3, 9):
        health.probe(True, "", second)
        health.tick(second)
    assert health.state == "half-open"
    health.probe(True, "", 9)
    assert health.state == "half-open"
    assert health.take_trial()
    assert not health.take_trial()
    health.proof(10)
    assert health.state == "healthy"


def test_three_failures_in_a_row_eject_and_two_do_not() -> None:
    health = healthy()
    for _ in range(2):
        health.failure("status", "HTTP 500", 1)
    assert health.state == "suspect"
    health.proof(2)
    assert health.state == "healthy"
    for _ in range(3):
        health.failure("status", "HTTP 500", 3)
    assert (health.state, health.until) == ("ejected", 8.0)


def test_a_refused_connection_ejects_at_once() -> None:
    health = healthy()
    health.failure("connect", "connection refused", 1)
    assert health.state == "ejected"


def test_every_second_request_failing_ejects_though_never_three_in_a_row() -> None:
    health = healthy()
    for _ in range(60):
        health.failure("status", "HTTP 500", 1)
        health.failure("status", "HTTP 500", 1)
        if health.state == "ejected":
            break
        health.proof(1)
    assert health.state == "ejected"


def test_pauses_double_while_trials_fail_and_start_over_after_a_good_time() -> None:
    health = healthy()
    now, pauses = 0.0, []
    health.failure("connect", "refused", now)
    for _ in range(6):
        pauses.append(health.until - now)
        now = health.until
        health.tick(now)
        assert health.take_trial()
        health.failure("connect", "refused", now)
    assert pauses == [5, 10, 20, 40, 60, 60]
    now = health.until
    health.tick(now)
    health.proof(now)
    health.failure("connect", "refused", now + RULES.forget + 1)
    assert health.until - now - RULES.forget - 1 == RULES.pause


def test_the_end_of_an_old_answer_does_not_bring_an_ejected_worker_back() -> None:
    health = healthy()
    health.failure("frozen", "no token moves", 1)
    health.proof(2)
    assert health.state == "ejected"


STEP = st.tuples(
    st.sampled_from(["proof", "status", "connect", "frozen", "good", "bad", "doubt", "trial"]), st.floats(0, 30)
)


@given(st.lists(STEP, max_size=80))
def test_always_one_trial_and_bounded_pauses(steps: list[tuple[str, float]]) -> None:
    health = Health(RULES)
    now = 0.0
    for what, wait in steps:
        now += wait
        health.tick(now)
        before = health.state
        if what == "proof":
            health.proof(now)
        elif what == "trial":
            assert not (health.take_trial() and health.take_trial()), "one at a time"
        elif what in ("good", "bad"):
            health.probe(what == "good", "probe", now)
        elif what == "doubt":
            health.doubt("late", now)
        else:
            health.failure(what, what, now)  # type: ignore[arg-type]
        assert health.until <= now + RULES.longest
        if what in ("connect", "frozen"):
            assert health.state == "ejected"
        if before == "ejected":
            assert health.state == "ejected", "only the end of the pause leads out"
        assert health.usable == (health.state in ("healthy", "new", "suspect"))
    now += RULES.longest + 1
    health.tick(now)
    health.proof(now)
    assert health.state == "healthy", "every state leads back"
