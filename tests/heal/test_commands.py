"""The commands of heal: documents, exit codes, one line for what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocsteady.heal.healer import Healer
from rocsteady.heal.journal import Journal
from rocsteady.heal.policy import Policy
from rocsteady.heal.state import HealthSeen
from tests.heal.made import bdf, gpu, node
from tests.heal.world import Fleet, World

WITHOUT = "import sys; sys.modules.update(aiohttp=None); from rocsteady.__main__ import main; main()"


def run(
    *arguments: str, program: str = "from rocsteady.__main__ import main; main()"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, "heal", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def state(quick: Path) -> Iterator[Path]:
    """A fleet with a move that waits for approval. The times are those of now."""
    world = World(workers={"w0": ("n1", (0,))}, now=time.time() - 100)
    fleet = Fleet(world, Policy(dry_run=False), quick)
    fleet.rounds(8)
    world.ills[("n1", 0)] = {"RAS-0008"}
    fleet.rounds(2)
    assert fleet.journal is not None
    fleet.journal.close()
    yield fleet.path


def test_status_explain_approve_history(state: Path) -> None:
    done = run("status", "--state", str(state), "--format", "json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["running"]) == (1, "rocsteady.heal-status/1", False)
    (action,) = document["actions"]
    assert (action["rung"], action["phase"]) == ("move-worker", "approval")
    text = run("status", "--state", str(state)).stdout
    assert "1 open faults" in text
    for name in (bdf(0), document["faults"][0]["id"], action["id"]):
        told = json.loads(run("explain", name, "--state", str(state), "--format", "json").stdout)
        assert told["schema"] == "rocsteady.heal-explain/1"
        (fault,) = told["faults"]
        assert {r["rung"]: r["says"].split(":")[0] for r in fault["rungs"]} == {
            "stop-new": "passed over", "move-worker": "approval", "people": "not yet",
        }  # fmt: skip
    assert "move-worker: approval" in run("explain", bdf(0), "--state", str(state)).stdout
    answer = run("approve", action["id"], "--state", str(state), "--by", "ann", "--format", "json")
    assert json.loads(answer.stdout) == {"schema": "rocsteady.heal-answer/1", "did": "approved", "action": action["id"]}
    history = json.loads(run("history", "--state", str(state), "--format", "json").stdout)
    assert history["schema"] == "rocsteady.heal-history/1"
    assert [line["what"] for line in history["audit"]][-2:] == ["held", "approved"] or "approved" in {
        line["what"] for line in history["audit"]
    }
    journal = Journal(state)
    assert [(a.action, a.by, a.yes) for a in journal.approvals()] == [(action["id"], "ann", True)]
    journal.close()


def test_pause_and_resume(state: Path) -> None:
    assert (
        run("pause", "--state", str(state), "--node", "n1", "--for", "2h", "--reason", "swap", "--by", "bob").returncode
        == 0
    )
    document = json.loads(run("status", "--state", str(state), "--format", "json").stdout)
    assert [(p["node"], p["reason"], p["by"]) for p in document["pauses"]] == [("n1", "swap", "bob")]
    assert run("resume", "--state", str(state), "--node", "n1").returncode == 0
    assert run("resume", "--state", str(state), "--node", "n1").returncode == 1


def test_approval_is_carried_out_by_the_next_round(quick: Path) -> None:
    world = World(workers={"w0": ("n1", (0,))})
    fleet = Fleet(world, Policy(dry_run=False), quick)
    fleet.rounds(8)
    world.ills[("n1", 0)] = {"RAS-0008"}
    fleet.rounds(2)
    (action,) = fleet.healer.state.open_actions
    assert run("approve", action.id, "--state", str(fleet.path)).returncode == 0
    fleet.rounds(12)
    assert world.processes["w0"].devices == (bdf(1),)
    text = run("history", "--state", str(fleet.path)).stdout
    assert "succeeded in" in text
    assert f"w0 serves on {bdf(1)}" in text
    assert fleet.journal is not None
    fleet.journal.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("status", "--state", "/no/such/file"), "no such file"), (("status", "--config", "/no/such.toml"), "No such file"),
        (("approve", "nothing", "--state", "STATE"), "no action that waits"), (("explain", "nothing", "--state", "STATE"), "no fault"),
        (("pause", "--for", "soon", "--state", "STATE"), "--for soon"), (("check", "/no/such.toml"), "No such file"),
        (("run", "--config", "BAD"), "unknown field"), (("helper", "--config", "/no/such.toml"), "No such file"),
        (("status", "--state", "BAD"), "not a database"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(state: Path, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("nonsense = 1\n" * 40)
    bad.write_text("nonsense = 1\n" + "# text\n" * 40)
    done = run(*(a.replace("STATE", str(state)).replace("BAD", str(bad)) for a in arguments))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_no_configuration(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rocsteady", "heal", "status"], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60
    )  # fmt: skip
    if not Path("/etc/rocsteady/heal.toml").exists():
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "heal.toml").write_text(f'state = "{tmp_path / "s.sqlite"}"\n')
    done = run("run", "--config", str(tmp_path / "heal.toml"), program=WITHOUT)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'rocsteady[agent]'" in done.stderr
    assert run("check", str(tmp_path / "heal.toml"), program=WITHOUT).returncode == 0


def test_token_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "heal.toml").write_text(f'state = "{tmp_path / "s.sqlite"}"\ntoken_file = "/no/token"\n')
    done = run("run", "--config", str(tmp_path / "heal.toml"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_dry_run_touches_nothing(quick: Path) -> None:
    world = World(workers={"w0": ("n1", (0,))})
    fleet = Fleet(world, Policy(has_gateway=True, helpers=("n1",)), quick)
    fleet.rounds(8)
    before = list(world.effects)
    for mode in ("RAS-0002", "RAS-0003", "PWR-0019"):
        world.ills[("n1", 0)] = {mode}
        fleet.rounds(30, 60.0)
    assert world.effects == before
    assert world.drained == set()
    assert {a.outcome for a in fleet.actions() if a.rung != "people"} == {"dry-run"}
    assert fleet.journal is not None
    fleet.journal.close()


def test_database_that_cannot_be_written_stops_all_acts(quick: Path) -> None:
    """A full disk, as SQLite shows it: the next round works again, and nothing was done without the journal."""
    import sqlite3

    world = World(workers={"w0": ("n1", (0,))})
    journal = Journal(quick / "heal.sqlite")
    healer = Healer(journal, {}, (), Policy(dry_run=False), lambda: world.now)
    healer.tick()
    other = sqlite3.connect(quick / "heal.sqlite", isolation_level=None)
    journal._db.execute("PRAGMA busy_timeout = 1")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.Error):
        healer.take(HealthSeen(node(world.now, gpu(0, "unhealthy", "RAS-0008"))))
    healer.reload()
    assert healer.state.faults == ()
    other.execute("ROLLBACK")
    other.close()
    healer.take(HealthSeen(node(world.now, gpu(0, "unhealthy", "RAS-0008"))))
    assert [f.mode for f in healer.state.faults] == ["RAS-0008"]
    journal.close()
