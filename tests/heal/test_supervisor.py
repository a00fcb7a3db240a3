"""The supervisor with real processes: groups, grandchildren, crash loops, and kills of the supervisor at every step."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocsteady.heal.actuators.base import Refused
from rocsteady.heal.journal import Journal
from rocsteady.heal.records import Step
from rocsteady.heal.supervisor import processes
from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.supervisor.supervisor import CRASHES, Supervisor, Vital
from rocsteady.heal.supervisor.surroundings import Documents
from rocsteady.heal.view import NodeView
from tests.heal.made import bdf, gpu, node
from tests.heal.running import until
from tests.heal.test_executors import ACTION, Quiet

pytestmark = [
    # a supervisor that is "killed" here leaves children of the test process behind, which nobody waits for
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
FAMILY = (
    sys.executable, "-c",
    "import os, signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
    "time.sleep(600)",
)  # fmt: skip
"""A process that ignores TERM, with a child, and a child in a session of its own."""


class Killed(BaseException):
    pass


class Kit:
    """A journal, supervisors over it one after the other, and their clock."""

    def __init__(self, folder: Path, command: tuple[str, ...] = SLEEP, **more: object) -> None:
        self.folder, self.now = folder, 1000.0
        self.journal = Journal(folder / "heal.sqlite")
        self.instance = self.journal.instance()
        raw = {"name": "w0", "node": "n1", "url": "http://127.0.0.1:1", "command": command, "stop": 2.0}
        self.spec = WorkerSpec(**(raw | more))  # type: ignore[arg-type]
        self.view: NodeView | None = node(self.now, gpu(0), gpu(1))
        self.points: list[str] = []
        self.kill_at = 0
        self.prober = Quiet()

    def checkpoint(self, name: str) -> None:
        self.points.append(name)
        if len(self.points) == self.kill_at:
            raise Killed

    def supervisor(self) -> Supervisor:
        surroundings = Documents(lambda: {"n1": self.view} if self.view else {}, lambda: self.now, 30.0)
        return Supervisor(
            (self.spec,), self.journal, self.instance, self.folder / "logs", self.prober, surroundings, lambda: self.now,
            dict(os.environ), self.checkpoint,
        )  # fmt: skip

    def all(self) -> list[processes.Marked]:
        return processes.find(self.instance)


@pytest.fixture
def kits() -> Iterator[list[Kit]]:
    made: list[Kit] = []
    yield made
    for kit in made:
        for one in kit.all():
            processes.send(one, kit.instance, signal.SIGKILL)
        kit.journal.close()


def step(verb: str, **arguments: str) -> Step:
    return Step(actuator="supervisor", verb=verb, target="w0", arguments=arguments)


MOVE = step("replace", devices=bdf(1), visible="1")


def state(supervisor: Supervisor) -> str:
    return supervisor.look()[0].state


def test_whole_family_ends_and_leaves_no_orphan(kits: list[Kit], quick: Path) -> None:
    kit = Kit(quick, FAMILY)
    kits.append(kit)
    supervisor = kit.supervisor()
    assert state(supervisor) == "serving"
    until(lambda: len(kit.all()) == 3, "the family is there")
    supervisor.begin(ACTION, step("stop"), "k")
    assert supervisor.probe(ACTION, step("stop"), "k").became == "running"
    kit.now += 2.0
    until(
        lambda: supervisor.look() and supervisor.probe(ACTION, step("stop"), "k").became == "done", "all of it is gone"
    )
    assert (kit.all(), state(supervisor)) == ([], "stopped")


def test_worker_that_ends_comes_back_with_growing_pauses_then_is_a_fault(kits: list[Kit], quick: Path) -> None:
    kit = Kit(quick, (sys.executable, "-c", "raise SystemExit(3)"))
    kits.append(kit)
    supervisor, starts = kit.supervisor(), []
    for _ in range(CRASHES):
        before = len(kit.journal.audit_lines(100))
        until(lambda n=before: supervisor.look() and len(kit.journal.audit_lines(100)) >= n + 2, "started and ended")  # type: ignore[misc]
        starts.append(kit.now)
        assert supervisor.look()[0].state in ("starting", "failed")
        kit.now += 2 ** len(starts)
    (view,) = supervisor.look()
    assert (view.state, view.detail) == ("failed", f"ended {CRASHES} times in a row, last: ended with code 3")
    supervisor.begin(ACTION, step("restart"), "k")
    assert state(supervisor) != "failed", "a new wish begins anew"


def test_command_that_cannot_be_started(kits: list[Kit], quick: Path) -> None:
    kit = Kit(quick, ("/no/such/program",))
    kits.append(kit)
    (view,) = kit.supervisor().look()
    assert (view.state, view.detail) == ("starting", "cannot be started: No such file or directory: /no/such/program")


@pytest.mark.parametrize("harm", ["no document", "unknown", "unhealthy", "old", "absent"])
def test_nothing_starts_on_a_gpu_that_is_not_known_to_be_well(kits: list[Kit], quick: Path, harm: str) -> None:
    kit = Kit(quick, devices=(bdf(0),))
    kits.append(kit)
    kit.view = {
        "no document": None, "unknown": node(kit.now, gpu(0, "unknown")), "unhealthy": node(kit.now, gpu(0, "unhealthy", "X")),
        "old": node(kit.now - 31, gpu(0)), "absent": node(kit.now, gpu(1)),
    }[harm]  # fmt: skip
    supervisor = kit.supervisor()
    assert (state(supervisor), kit.all()) == ("starting", [])
    kit.view = node(kit.now, gpu(1), gpu(0, index=7))
    supervisor.look()
    (one,) = kit.all()
    environ = Path(f"/proc/{one.pid}/environ").read_bytes().split(b"\0")
    assert b"HIP_VISIBLE_DEVICES=7" in environ


def test_environment_selects_devices_and_nothing_renumbers_them(kits: list[Kit], quick: Path) -> None:
    kit = Kit(
        quick, devices=(bdf(1), bdf(0)), environment={"ROCR_VISIBLE_DEVICES": "3", "A": "b", "HIP_VISIBLE_DEVICES": "9"}
    )
    kits.append(kit)
    kit.supervisor().look()
    (one,) = kit.all()
    environ = Path(f"/proc/{one.pid}/environ").read_bytes().split(b"\0")
    assert b"HIP_VISIBLE_DEVICES=1,0" in environ
    assert b"A=b" in environ
    assert not any(v.startswith(b"ROCR_") for v in environ)


def test_killed_at_every_step_of_a_move(kits: list[Kit], quick: Path) -> None:
    number, reached = 1, 0
    while True:
        (quick / str(number)).mkdir()
        kit = Kit(quick / str(number), devices=(bdf(0),))
        kits.append(kit)
        supervisor = kit.supervisor()
        supervisor.look()
        (first,) = kit.all()
        kit.points.clear()
        kit.kill_at = number
        try:
            supervisor.begin(ACTION, MOVE, "k")
            end = time.monotonic() + 30
            while time.monotonic() < end and [m.generation for m in kit.all()] != ["k"]:
                supervisor.look()
            reached = len(kit.points)
        except Killed:
            supervisor = kit.supervisor()  # the old one is gone, its processes are not
        if supervisor.probe(ACTION, MOVE, "k").became == "absent":
            supervisor.begin(ACTION, MOVE, "k")
        until(
            lambda k=kit, s=supervisor: s.look() and [(m.worker, m.generation) for m in k.all()] == [("w0", "k")],
            "moved",
        )  # type: ignore[misc]
        supervisor.look()
        assert len(kit.all()) == 1
        assert first.pid not in {m.pid for m in kit.all()}
        starts = [line for line in kit.journal.audit_lines(100) if line.what == "worker-started"]
        assert len(starts) <= 2
        for one in kit.all():
            processes.send(one, kit.instance, signal.SIGKILL)
        if number > reached > 0:
            break
        number += 1
    assert number >= 4, kit.points


def test_process_of_nobody_is_ended_at_the_start(kits: list[Kit], quick: Path) -> None:
    kit = Kit(quick)
    kits.append(kit)
    supervisor = kit.supervisor()
    supervisor.look()
    (old,) = kit.all()
    kit.spec = WorkerSpec(name="other", node="n1", url="http://127.0.0.1:1", command=SLEEP)
    kit.supervisor().look()
    until(lambda: [m.worker for m in kit.all()] == ["other"], "only the configured one")
    assert old.pid not in {m.pid for m in kit.all()}


def test_signal_never_hits_a_process_without_the_mark(kits: list[Kit], quick: Path) -> None:
    kit = Kit(quick)
    kits.append(kit)
    stranger = processes.Marked(os.getpid(), "w0", "", True)
    assert not processes.send(stranger, kit.instance, signal.SIGKILL)


def test_unresponsive_and_refusals(kits: list[Kit], quick: Path) -> None:
    kit = Kit(quick)
    kits.append(kit)

    class Frozen(Quiet):
        def vital(self, name: str) -> Vital:
            del name
            return Vital(ready=True, responsive=False, detail="no token")

    kit.prober = Frozen()
    supervisor = kit.supervisor()
    view = supervisor.look()[0]
    assert (view.state, view.detail) == ("unresponsive", "no token")
    for wrong in (step("explode"), Step(actuator="supervisor", verb="restart", target="nobody")):
        with pytest.raises(Refused):
            supervisor.begin(ACTION, wrong, "k")
    while not supervisor.stop_all():
        kit.now += 1
    assert kit.all() == []
