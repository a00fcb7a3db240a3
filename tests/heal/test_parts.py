"""Small pure parts: vitals, topology files, schedules, the journal, the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocsteady.heal.config import load_heal_config, read_secret
from rocsteady.heal.journal import Approval, Desired, Journal, is_held, only_one
from rocsteady.heal.policy import Timer
from rocsteady.heal.records import Pause
from rocsteady.heal.spread import spread
from rocsteady.heal.state import AlertSeen, State
from rocsteady.heal.supervisor.spec import Probing, WorkerSpec
from rocsteady.heal.supervisor.vitals import Judge, Reading, parse_metrics
from rocsteady.heal.topology import without_links
from rocsteady.model import InputError
from tests.heal.made import START

SPEC = WorkerSpec(
    name="w", url="http://x", reserved_metric="torch_reserved_bytes", allocated_metric="torch_allocated_bytes",
    probe=Probing(every=1.0, stalled=10.0, idle_canary=20.0, failures=2),
)  # fmt: skip


def test_metrics_of_an_engine() -> None:
    text = (
        '# HELP x\nvllm:num_requests_running{engine="0",model_name="m"} 2.0\nvllm:generation_tokens_total{a="}"} 10\n'
        'vllm:prompt_tokens_total 5\nvllm:request_success_total{finished_reason="stop"} 3\n'
        'vllm:request_success_total{finished_reason="length"} 1\ntorch_reserved_bytes 100\ntorch_allocated_bytes 60\nnonsense\n'
    )
    assert parse_metrics(text, SPEC) == Reading(2.0, 15.0, 4.0, 100.0, 60.0)
    assert parse_metrics("", SPEC) == Reading(None, None, None, None, None)


@given(st.text(max_size=300))
def test_metrics_never_raise(text: str) -> None:
    parse_metrics(text, SPEC)


def judge() -> Judge:
    made = Judge(spec=SPEC, since=0.0)
    made.became_ready(0.0)
    made.saw(Reading(0.0, 5.0, 0.0), 0.0)
    return made


def test_idle_engine_is_asked_for_a_token_and_frozen_after_two_failures() -> None:
    made = judge()
    assert not made.wants_canary(19.0)
    assert made.wants_canary(20.0)
    made.canary(False, "timed out", 20.0, 25.0)
    assert made.vital().responsive is True
    assert made.wants_canary(26.0), "the second follows at once"
    made.canary(False, "timed out", 26.0, 31.0)
    vital = made.vital()
    assert (vital.responsive, vital.detail) == (False, "a token was asked for 2 times: timed out")
    made.saw(Reading(0.0, 6.0, 1.0), 32.0)
    assert made.vital().responsive is True, "a token says that it lives"


def test_busy_engine_that_makes_tokens_is_not_asked() -> None:
    made = judge()
    for now in range(1, 100):
        made.saw(Reading(4.0, 5.0 + now, 0.0), float(now))
        assert not made.wants_canary(float(now))
    made.saw(Reading(4.0, 104.0, 0.0), 110.0)
    assert made.wants_canary(110.0), "requests run and no token came for ten seconds"


def test_late_canary_of_a_busy_engine_does_not_count() -> None:
    made = judge()
    for _ in range(5):
        made.saw(Reading(4.0, 5.0, 0.0), 30.0)
        made.tokens = 4.0
        made.saw(Reading(4.0, 5.0, 0.0), 35.0)  # a token while the canary waited
        made.canary(False, "timed out", 30.0, 40.0)
        assert made.vital().responsive is True


def test_not_ready_is_not_unresponsive() -> None:
    made = Judge(spec=SPEC, since=0.0)
    assert not made.wants_canary(1000.0)
    assert made.vital().responsive is None


def test_fragmentation_and_silence() -> None:
    made = judge()
    made.saw(Reading(0.0, 5.0, 7.0, 100.0, 60.0), 1.0)
    assert (made.vital().fragmentation, made.vital().requests) == (pytest.approx(0.4), 7.0)
    made.saw(None, 2.0)
    assert made.wants_canary(2.0), "silent metrics: the canary decides"


TOPOLOGY = (
    '<system version="2"><cpu numaid="0"><pci busid="0000:05:00.0"><gpu dev="0"><xgmi target="0000:15:00.0" count="1"/>'
    '<xgmi target="0000:25:00.0" count="1"/></gpu></pci><pci busid="0000:15:00.0"><gpu dev="1">'
    '<xgmi target="0000:05:00.0" count="1"/></gpu></pci></cpu></system>'
)


def test_topology_without_a_link() -> None:
    text = without_links(TOPOLOGY, [("0000:15:00.0", "0000:05:00.0")])
    assert "0000:25:00.0" in text
    assert 'target="0000:15:00.0"' not in text
    assert 'target="0000:05:00.0"' not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<system>",
        "<other/>",
        "<system/>",
        '<!DOCTYPE x [<!ENTITY a "b">]><system>&a;</system>',
        TOPOLOGY.replace("15", "16"),
    ],
)
def test_topology_that_is_none(text: str) -> None:
    with pytest.raises(InputError):
        without_links(text, [("0000:05:00.0", "0000:15:00.0")])


@given(st.lists(st.sampled_from([60.0, 300.0, 600.0, 3600.0, 21600.0, 86400.0]), min_size=2, max_size=6))
def test_schedules_never_start_in_the_same_minute(periods: list[float]) -> None:
    timers = tuple(Timer(timer=f"t{n}.timer", every=every, activities=("a",)) for n, every in enumerate(periods))
    assume(len(periods) * 60 <= min(every for every in [*periods, 86400.0] if every > 60))  # else they cannot differ
    moved = spread(timers)
    assert len(moved) == sum(every > 60 for every in periods)
    minutes = [_minutes(calendar) for _, calendar in moved]
    for n, one in enumerate(minutes):
        for other in minutes[n + 1 :]:
            assert not one & other


def _minutes(calendar: str) -> set[int]:
    """Minutes of the day that a calendar expression of ours names."""
    hours, minute, _ = calendar.split(" ")[1].split(":")
    start, _, step = minute.partition("/")
    mins = range(int(start), 60, int(step)) if step else [int(start)]
    first, _, every = hours.partition("/")
    hrs = range(24) if hours == "*" else range(int(first), 24, int(every)) if every else [int(first)]
    return {h * 60 + m for h in hrs for m in mins}


def test_journal_keeps_what_it_was_told(quick: Path) -> None:
    path = quick / "sub" / "heal.sqlite"
    journal = Journal(path)
    journal.post([AlertSeen(fingerprint="f", firing=True, node="n", mode="m", starts_at=1.0)], START)
    journal.pause(Pause("", "r", "ann", START))
    journal.approve(Approval("a", "ann", True, START))
    journal.desire(Desired(name="w", devices=("x",)))
    instance = journal.instance()
    journal.close()
    again = Journal(path)
    assert [e.fingerprint for _, e in again.inbox() if isinstance(e, AlertSeen)] == ["f"]
    assert again.state(START).pauses == (Pause("", "r", "ann", START),)
    assert again.approvals() == [Approval("a", "ann", True, START)]
    assert again.desired("w") == Desired(name="w", devices=("x",))
    assert (again.instance(), path.stat().st_mode & 0o777) == (instance, 0o600)
    assert (again.resume("", "ann", START), again.resume("", "ann", START)) == (True, False)
    with pytest.raises(RuntimeError), again.transaction():
        again.took(1)
        raise RuntimeError
    assert len(again.inbox()) == 1, "a transaction that failed changes nothing"
    again.save(State(), State(breaker_since=5.0), START)
    assert again.resume("", "bob", START + 1)
    assert again.breaker() == (None, START + 1)
    again.close()


def test_journal_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, and long enough to be looked at as one" * 20)
    for path in (tmp_path / "text", tmp_path, tmp_path / "text" / "below"):
        with pytest.raises(InputError):
            Journal(path)


def test_only_one_healer(quick: Path) -> None:
    path = quick / "heal.sqlite"
    assert not is_held(path)
    with only_one(path):
        assert is_held(path)
        with pytest.raises(InputError, match="another heal run"), only_one(path):
            pass
    assert not is_held(path)


EXAMPLE = Path(__file__).parents[2] / "deploy/heal.toml"


def test_example_is_valid() -> None:
    config = load_heal_config(EXAMPLE)
    policy = config.policy()
    assert policy.dry_run
    assert (policy.mode("move"), policy.mode("reset"), policy.has_gateway, policy.helpers) == (
        "auto",
        "approve",
        True,
        ("gpu-node-1",),
    )
    assert config.node_of("127.0.0.1:9945") == "gpu-node-1"
    assert config.node_of("gpu-node-1:9945") == "gpu-node-1"
    assert config.node_of("stranger:1") == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stat = 1", "unknown field"), ("[classes.fly]\nmode = 'auto'", "no class is called so"),
        ("[classes.move]\nmode = 'maybe'", "maybe"), ("[[node]]\nname = 'a'\nhealth = 'ftp://x'", "http address"),
        ("[[worker]]\nname = 'a b'\nurl = 'http://x'\ncommand = ['x']", "a name of letters"),
        ("[[worker]]\nname = 'a'\nurl = 'http://x'", "command is wanted"),
        ("[[worker]]\nname = 'a'\nurl = 'http://x'\ncommand = ['x']\ndevices = ['GPU 0']", "no PCI address"),
        ("[[worker]]\nname = 'a'\nurl = 'http://x'\ncommand = ['x']\nnode = 'b'", "no [[node]] is called 'b'"),
        ("[[worker]]\nname = 'a'\nurl = 'http://x'\nexecutor = 'systemd'", "unit is wanted"),
        ("[[worker]]\nname = 'a'\nurl = 'http://x'\nexecutor = 'slurm'", "executor"),
        ("[watermark]\nhigh = 0.5\nlow = 0.9", "watermark"), ("[thermal]\npower_share = 0.0", "thermal"),
        ("[thermal]\nfan_curve = [[40, 50], [80, 30], [90, 100]]", "fan_curve"), ("[budget]\nfleet = 0", "budget"),
        ("[[maintenance]]\nstart = 2026-01-02T00:00:00Z\nend = 2026-01-01T00:00:00Z\nreason = 'x'", "maintenance"),
        ("[classes.move]\nmode = 'auto'\nwindows = [{start = '25:00', end = '03:00'}]", "HH:MM"),
        ("[classes.move]\nmode = 'auto'\nwindows = [{start = '02:00', end = '03:00', zone = 'Mars/Base'}]", "time zone"),
        ("every = 0.0", "above 0"), ("= x", ""),
    ],
)  # fmt: skip
def test_configurations_that_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "heal.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        load_heal_config(file)
    assert why in str(error.value)
    assert str(file) in str(error.value)


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "t"
    file.write_text("line one\nline two\n")
    with pytest.raises(InputError) as error:
        read_secret(str(file), "token_file")
    assert "line" not in str(error.value).replace("one line", "")
