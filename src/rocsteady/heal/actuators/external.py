"""Workers that somebody else runs: systemd units, containers of docker or podman. What is wished is on disk here as well."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from rocsteady.heal.actuators.base import Probe, Refused
from rocsteady.heal.journal import Desired, Journal
from rocsteady.heal.records import Action, Step
from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.supervisor.supervisor import Prober, Surroundings
from rocsteady.heal.view import WorkerState, WorkerView

VERBS = ("replace", "restart", "stop", "start")
SECONDS = 120.0
"""Limit of one command; a container that ends gets its own time within it."""


class Ran(NamedTuple):
    """Exit code and standard output of a command."""

    code: int
    out: str


Commands = Callable[[tuple[str, ...]], Ran]


def run_command(command: tuple[str, ...]) -> Ran:
    """Run without a shell. Raises ``OSError`` where it cannot be run or takes too long."""
    try:
        done = subprocess.run(
            command, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"{command[0]} took more than {SECONDS:.0f} s") from error
    return Ran(done.returncode, done.stdout[:65536].decode(errors="replace").strip())


class Present(NamedTuple):
    """What runs. ``generation``: the wish that it was started for, None where that cannot be told."""

    running: bool
    generation: str | None
    pid: int | None
    detail: str = ""


class Runtime(Protocol):
    """How one kind of worker is started and ended. Calls may take long; they run beside the rounds."""

    def present(self, spec: WorkerSpec) -> Present:
        """What runs now."""

    def start(self, spec: WorkerSpec, wish: Desired, visible: str) -> None:
        """Start it for this wish, in place of what runs. Raises ``OSError`` or ``Refused``."""

    def stop(self, spec: WorkerSpec) -> None:
        """End it. Raises ``OSError`` or ``Refused``."""


class External:
    """An executor over a ``Runtime``. It converges to what is wished, as the supervisor does."""

    def __init__(
        self, name: str, specs: tuple[WorkerSpec, ...], journal: Journal, runtime: Runtime, prober: Prober,
        surroundings: Surroundings, clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._name = name
        self._specs = {spec.name: spec for spec in specs}
        self._journal = journal
        self._runtime = runtime
        self._prober = prober
        self._surroundings = surroundings
        self._clock = clock
        self._busy: dict[str, threading.Thread] = {}
        self._errors: dict[str, str] = {}
        self._watched: dict[str, str] = {}
        self._since: dict[str, float] = {}
        for spec in specs:
            if journal.desired(spec.name) is None:
                journal.desire(Desired(name=spec.name, devices=spec.devices))

    def begin(self, action: Action, step: Step, key: str) -> None:
        """Write down the wish, and begin to fulfil it."""
        del action
        now = self._journal.desired(step.target)
        if now is None or step.target not in self._specs or step.verb not in VERBS:
            raise Refused(f"{step.verb} {step.target}: nothing that {self._name} does here")
        wish = msgspec.structs.replace(now, generation=key, run=step.verb != "stop")
        if step.verb == "replace":
            wish = msgspec.structs.replace(
                wish, devices=tuple(filter(None, step.arguments["devices"].split(","))),
                visible=step.arguments["visible"], render_nodes=step.arguments.get("render_nodes", ""),
            )  # fmt: skip
        self._journal.desire(wish)
        self._errors.pop(step.target, None)
        self._fulfil(self._specs[step.target], wish)

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        """Done when what runs is of this wish, for a stop when nothing runs."""
        del action
        wish = self._journal.desired(step.target)
        if wish is None or wish.generation != key:
            return Probe("absent")
        if self._working(step.target):
            return Probe("running")
        if error := self._errors.get(step.target):
            return Probe("failed", error)
        present = self._runtime.present(self._specs[step.target])
        if step.verb == "stop":
            return Probe("running" if present.running else "done", present.detail)
        if present.running and present.generation == key:
            return Probe("done")
        return Probe("absent", present.detail)  # the start was cut off before it began, or has ended again

    def look(self) -> tuple[WorkerView, ...]:
        """How its workers are."""
        return tuple(self._view(spec) for spec in self._specs.values())

    def join(self) -> None:
        """Wait for what is under way."""
        for thread in list(self._busy.values()):
            thread.join()

    def _working(self, name: str) -> bool:
        thread = self._busy.get(name)
        return thread is not None and thread.is_alive()

    def _fulfil(self, spec: WorkerSpec, wish: Desired) -> None:
        if self._working(spec.name):
            raise OSError(f"{spec.name}: an earlier wish is still being fulfilled")
        if wish.devices and not wish.render_nodes:
            found = self._surroundings.render_nodes(spec.node, wish.devices)
            wish = msgspec.structs.replace(wish, render_nodes=found)
        visible = (self._surroundings.visible(spec.node, wish.devices) or wish.visible) if wish.devices else ""
        self._prober.unwatch(spec.name)
        self._watched.pop(spec.name, None)

        def work() -> None:
            try:
                if wish.run:
                    self._runtime.start(spec, wish, visible)
                else:
                    self._runtime.stop(spec)
            except (OSError, Refused) as error:
                self._errors[spec.name] = str(error)

        thread = threading.Thread(target=work, name=f"{self._name} {spec.name}", daemon=True)
        self._busy[spec.name] = thread
        thread.start()

    def _view(self, spec: WorkerSpec) -> WorkerView:
        now = self._clock()
        wish = self._journal.desired(spec.name) or Desired(name=spec.name, devices=spec.devices)
        state: WorkerState
        pid, detail, vital = None, "", self._prober.vital(spec.name)
        if self._working(spec.name):
            state = "starting" if wish.run else "draining"
        else:
            try:
                present = self._runtime.present(spec)
            except OSError as error:
                present = Present(False, None, None, str(error))
                state = "unknown"
            else:
                state = "starting" if present.running else "stopped" if not wish.run else "failed"
            pid, detail = present.pid, present.detail
            if present.running:
                if self._watched.get(spec.name) != wish.generation or spec.name not in self._since:
                    self._watched[spec.name], self._since[spec.name] = wish.generation, now
                    self._prober.watch(spec, wish.generation)
                    vital = self._prober.vital(spec.name)
                if vital.responsive is False or (not vital.ready and now - self._since[spec.name] > spec.start):
                    state, detail = "unresponsive", vital.detail or f"not ready within {spec.start:.0f} s"
                elif vital.ready:
                    state = "serving"
        return WorkerView(
            name=spec.name, node=spec.node, state=state, devices=wish.devices, generation=wish.generation,
            since=self._since.get(spec.name, 0.0), pid=pid, model=spec.model, requests=vital.requests,
            fragmentation=vital.fragmentation, executor=self._name, movable=spec.movable and bool(spec.devices),
            detail=self._errors.get(spec.name, detail),
        )  # fmt: skip


def write_file(path: Path, text: str) -> None:
    """Complete or not there."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
