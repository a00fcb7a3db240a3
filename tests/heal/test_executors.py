"""Executors: containers, systemd units, the gateway, people. Commands and calls are recorded, not run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from rocsteady.heal.actuators.base import Refused
from rocsteady.heal.actuators.containers import Containers
from rocsteady.heal.actuators.external import External, Ran
from rocsteady.heal.actuators.gateway import Gateway
from rocsteady.heal.actuators.people import Notifier, People, mail, webhook
from rocsteady.heal.actuators.systemd import Systemd
from rocsteady.heal.helper.desk import Answer, Request
from rocsteady.heal.journal import Journal
from rocsteady.heal.published import Published, workers_toml
from rocsteady.heal.records import Action, Step
from rocsteady.heal.state import Notice
from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.supervisor.supervisor import Vital
from rocsteady.heal.supervisor.surroundings import Documents
from tests.heal.made import START, bdf, gpu, node, worker

ACTION = Action(
    id="a", fault="f", mode="m", node="n1", rung="move-worker", kind="move", subject="w0", why="", evidence_at=0.0,
    created_at=0.0,
)  # fmt: skip


class Quiet:
    """A prober that says that everything serves."""

    def watch(self, spec: WorkerSpec, generation: str) -> None:
        del spec, generation

    def unwatch(self, name: str) -> None:
        del name

    def vital(self, name: str) -> Vital:
        del name
        return Vital(ready=True, responsive=True)


@pytest.fixture
def journal(quick: Path) -> Iterator[Journal]:
    made = Journal(quick / "heal.sqlite")
    yield made
    made.close()


def step(verb: str, **arguments: str) -> Step:
    return Step(actuator="x", verb=verb, target="w0", arguments=arguments)


def external(journal: Journal, runtime: object, spec: WorkerSpec) -> External:
    views = {"n1": node(START, gpu(0), gpu(1))}
    surroundings = Documents(lambda: views, lambda: START, 30.0)
    return External("docker", (spec,), journal, runtime, Quiet(), surroundings, lambda: START)  # type: ignore[arg-type]


class FakeDocker:
    """Containers by name: label and devices. Synthetic."""

    def __init__(self) -> None:
        self.containers: dict[str, str] = {}
        self.ran: list[tuple[str, ...]] = []

    def __call__(self, command: tuple[str, ...]) -> Ran:
        self.ran.append(command)
        name = command[-1]
        if command[1:3] == ("container", "inspect"):
            if name not in self.containers:
                return Ran(1, f"Error: No such container: {name}")
            return Ran(0, f"true 4711 {json.dumps(self.containers[name])} 0")
        if command[1] == "run":
            name = command[command.index("--name") + 1]
            if name in self.containers:
                return Ran(125, "the name is in use")
            self.containers[name] = command[command.index("--label") + 1].split("=", 1)[1]
            return Ran(0, "id")
        if command[1] == "rm":
            return Ran(0, name) if self.containers.pop(name, None) is not None else Ran(1, "Error: no such container")
        return Ran(0, "") if name in self.containers else Ran(1, "Error: No such container")


def test_container_is_made_anew_on_other_devices(journal: Journal) -> None:
    docker = FakeDocker()
    spec = WorkerSpec(
        name="w0", executor="docker", node="n1", url="http://127.0.0.1:1", devices=(bdf(0),),
        command=("--device=/dev/kfd", "{render_devices}", "image", "--tag", "{visible}"),
    )  # fmt: skip
    made = external(journal, Containers("docker", docker), spec)
    assert made.look()[0].state == "failed"
    made.begin(ACTION, step("restart"), "k1")
    made.join()
    assert made.probe(ACTION, step("restart"), "k1").became == "done"
    assert made.look()[0].state == "serving"
    made.begin(ACTION, step("replace", devices=bdf(1), visible="1", render_nodes="renderD129"), "k2")
    made.join()
    assert docker.ran[-2] == (
        "docker", "run", "--detach", "--name", "w0", "--label", "rocsteady.generation=k2", "--env", "HIP_VISIBLE_DEVICES=0",
        "--device=/dev/kfd", "--device=/dev/dri/renderD129", "image", "--tag", "0",
    ) or docker.ran[-1][1] == "run"  # fmt: skip
    assert [made.probe(ACTION, step("replace"), key).became for key in ("k2", "k1")] == ["done", "absent"]
    assert made.look()[0].devices == (bdf(1),)
    made.begin(ACTION, step("stop"), "k3")
    made.join()
    assert made.probe(ACTION, step("stop"), "k3").became == "done"
    assert (docker.containers, made.look()[0].state) == ({}, "stopped")


def test_container_start_that_was_cut_off_begins_again(journal: Journal) -> None:
    docker = FakeDocker()
    spec = WorkerSpec(name="w0", executor="docker", node="n1", url="http://127.0.0.1:1", command=("image",))
    first = external(journal, Containers("docker", docker), spec)
    first.begin(ACTION, step("restart"), "k1")
    first.join()
    docker.containers.clear()  # as if the healer had been killed between the wish and the start
    again = external(journal, Containers("docker", docker), spec)
    assert again.probe(ACTION, step("restart"), "k1").became == "absent"


class FakeSystemd:
    """One unit with an invocation id. Synthetic."""

    def __init__(self) -> None:
        self.invocation, self.active = 1, True
        self.ran: list[tuple[str, ...]] = []

    def __call__(self, command: tuple[str, ...]) -> Ran:
        self.ran.append(command)
        if "show" in command:
            if "--value" in command:
                return Ran(0, f"inv{self.invocation}")
            state = "active" if self.active else "inactive"
            return Ran(0, f"ActiveState={state}\nMainPID=77\nInvocationID=inv{self.invocation}\nResult=success")
        if "restart" in command:
            self.invocation, self.active = self.invocation + 1, True
        if "stop" in command:
            self.active = False
        return Ran(0, "")


def unit(quick: Path, **more: object) -> WorkerSpec:
    raw = {"name": "w0", "executor": "systemd", "node": "n1", "url": "http://127.0.0.1:1", "devices": (bdf(0),),
           "unit": "vllm@0.service", "environment_file": str(quick / "w0.env")}  # fmt: skip
    return WorkerSpec(**(raw | more))  # type: ignore[arg-type]


def test_user_unit_gets_its_environment(journal: Journal, quick: Path) -> None:
    systemd = FakeSystemd()
    made = external(journal, Systemd(systemd, None, lambda: None), unit(quick, user_unit=True))
    made.begin(ACTION, step("replace", devices=bdf(1), visible="1"), "k1")
    made.join()
    assert "HIP_VISIBLE_DEVICES=1\n" in (quick / "w0.env").read_text()
    assert ("systemctl", "--user", "restart", "vllm@0.service") in systemd.ran
    assert made.probe(ACTION, step("replace"), "k1").became == "done"
    made.begin(ACTION, step("stop"), "k2")
    made.join()
    assert made.probe(ACTION, step("stop"), "k2").became == "done"


def test_system_unit_goes_through_the_helper(journal: Journal, quick: Path) -> None:
    asked: list[Request] = []

    def ask(request: Request) -> Answer:
        asked.append(request)
        return Answer("running")

    made = external(journal, Systemd(FakeSystemd(), ask, lambda: None), unit(quick))
    made.begin(ACTION, step("restart"), "k1")
    made.join()
    assert [(r.verb, r.arguments) for r in asked] == [("restart-unit", {"unit": "vllm@0.service"})]
    assert made.probe(ACTION, step("restart"), "k1").became == "absent", "the invocation is still the old one"
    alone = external(journal, Systemd(FakeSystemd(), None, lambda: None), unit(quick))
    alone.begin(ACTION, step("restart"), "k2")
    alone.join()
    assert alone.probe(ACTION, step("restart"), "k2").became == "failed"


def test_gateway_drains_and_waits() -> None:
    draining, running, now = set[str](), [3], [START]

    def call(method: str, path: str) -> tuple[int, bytes]:
        if method == "POST":
            (draining.add if path.endswith("/drain") else draining.discard)("w0")
            return 200, b""
        workers = [{"name": "w0", "draining": "w0" in draining, "in_flight": running[0], "more": 1}]
        return 200, json.dumps({"schema": "x", "workers": workers}).encode()

    gateway, drain = Gateway(call, lambda: now[0]), step("drain", seconds="60")
    assert gateway.probe(ACTION, drain, "k").became == "absent"
    gateway.begin(ACTION, drain, "k")
    from msgspec.structs import replace

    begun = replace(drain, started_at=START)
    assert gateway.probe(ACTION, begun, "k").became == "running"
    now[0] = START + 61
    assert gateway.probe(ACTION, begun, "k").became == "done"
    now[0], running[0] = START, 0
    assert gateway.probe(ACTION, begun, "k").became == "done"
    gateway.begin(ACTION, step("undrain"), "k")
    assert gateway.probe(ACTION, step("undrain"), "k").became == "done"
    with pytest.raises(Refused):
        Gateway(lambda *_: (403, b""), lambda: START).begin(ACTION, drain, "k")
    assert Gateway(lambda *_: (200, b"{"), lambda: START).probe(ACTION, drain, "k").became == "unknown"


def test_people_are_told_once_and_again_until_it_gets_through(journal: Journal) -> None:
    people = People(journal, lambda: START)
    for _ in range(2):
        people.begin(ACTION, Step(actuator="people", verb="notify", target="x", arguments={"text": "help"}), "k")
    assert people.probe(ACTION, step("notify"), "k").became == "done"
    said: list[str] = []
    down = [True]

    def sender(text: str) -> None:
        if down[0]:
            raise OSError("no network")
        said.append(text)

    notifier = Notifier(journal, (sender,), lambda: START)
    assert (notifier.send(), said, notifier.last_error) == (0, [], "no network")
    down[0] = False
    assert (notifier.send(), notifier.send(), said) == (1, 0, ["help"])
    with journal.transaction():
        journal.notice(Notice("k", "again"), START)
    assert notifier.send() == 0, "the same key is told once"


def test_mail_command_and_webhook(tmp_path: Path) -> None:
    out = tmp_path / "mail"
    mail((sys.executable, "-c", f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"))("GPU; rm -rf /")
    assert out.read_text() == "Subject: rocsteady heal: GPU; rm -rf /\n\nGPU; rm -rf /\n"
    got: list[tuple[str | None, bytes]] = []

    class Hook(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_POST(self) -> None:
            got.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = Thread(target=server.handle_request)
    thread.start()
    webhook(f"http://127.0.0.1:{server.server_port}/", "tok")("hello")
    thread.join()
    server.server_close()
    assert got == [("Bearer tok", b'{"schema":"rocsteady.heal-notice/1","text":"hello"}')]


def test_workers_file_follows_a_move(tmp_path: Path) -> None:
    import tomllib

    spec = WorkerSpec(
        name="w0", node="n1", url="http://127.0.0.1:1", model='a "b"\n', devices=(bdf(0),), gateway={"precision": "fp8", "context": 4096}
    )  # fmt: skip
    text = workers_toml((spec,), (worker("w0", bdf(1)),))
    (row,) = tomllib.loads(text)["worker"]
    assert row == {
        "name": "w0", "url": "http://127.0.0.1:1", "model": 'a "b"\n', "served": "", "node": "n1", "gpus": [bdf(1)],
        "precision": "fp8", "context": 4096,
    }  # fmt: skip
    Published(tmp_path / "w.toml").write(text)
    assert (tmp_path / "w.toml").read_text() == text
