"""The supervisor of plain processes. It converges: how a worker is to run is on disk, and ``look`` makes it so.

A process carries the mark of the generation that wanted it. After a crash of the supervisor its processes are found by the
mark: those of the wanted generation are taken over, all others are ended. So no start is done twice and nothing is orphaned.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from rocsteady.heal.actuators.base import Probe, Refused
from rocsteady.heal.journal import Desired, Journal
from rocsteady.heal.records import Action, Step
from rocsteady.heal.supervisor import processes
from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.topology import without_links
from rocsteady.heal.view import WorkerState, WorkerView
from rocsteady.model import InputError

VISIBLE = "HIP_VISIBLE_DEVICES"
OTHERS = ("ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Variables that would renumber what HIP_VISIBLE_DEVICES selects; removed for workers with devices."""
BACKOFF, LONGEST = 1.0, 60.0
"""Seconds before the first restart of a worker that ended; doubled each time up to the longest. A choice of ours."""
STABLE = 60.0
"""Seconds of serving after which earlier ends are forgotten."""
CRASHES = 5
"""Ends in a row, without being stable in between, after which it is a crash loop and the healer decides."""
FROZEN = 5.0
"""Seconds that a worker which answers nothing gets to end by itself: it has no request left that could finish."""
LOG_LARGEST = 64 << 20
"""Bytes after which the log of a worker is moved aside at its next start."""


class Vital(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker itself says. ``responsive``: None = not known."""

    ready: bool = False
    responsive: bool | None = None
    requests: float | None = None
    fragmentation: float | None = None
    detail: str = ""


class Prober(Protocol):
    """Asks workers how they are, beside everything else."""

    def watch(self, spec: WorkerSpec, generation: str) -> None:
        """Begin anew with a worker that was started."""

    def unwatch(self, name: str) -> None:
        """Stop asking it."""

    def vital(self, name: str) -> Vital:
        """The newest answer."""


class Surroundings(Protocol):
    """What the gpu-health document says about devices."""

    def visible(self, node: str, devices: tuple[str, ...]) -> str | None:
        """HIP indices, None where they are not known."""

    def render_nodes(self, node: str, devices: tuple[str, ...]) -> str:
        """Render nodes with commas, '' where they are not known."""

    def unfit(self, node: str, devices: tuple[str, ...]) -> str:
        """Why nothing may be started on them, '' when it may."""


class _Run(msgspec.Struct):
    """A process that lives, or lived at the last look."""

    pid: int
    generation: str
    started_at: float
    child: subprocess.Popen[bytes] | None
    stopping_at: float | None = None
    killed: bool = False
    grace: float = 0.0
    serving_at: float | None = None


class _History(msgspec.Struct):
    """Ends of a worker."""

    crashes: int = 0
    not_before: float = 0.0
    last_end: str = ""
    generation: str = ""
    restarts: int = 0


class Supervisor:
    """Workers of this machine."""

    def __init__(
        self, specs: tuple[WorkerSpec, ...], journal: Journal, instance: str, logs: Path, prober: Prober,
        surroundings: Surroundings, clock: Callable[[], float], environ: Mapping[str, str],
        checkpoint: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._specs = {spec.name: spec for spec in specs}
        self._journal = journal
        self._instance = instance
        self._logs = logs
        self._prober = prober
        self._surroundings = surroundings
        self._clock = clock
        self._environ = environ
        self._checkpoint = checkpoint
        self._runs: dict[str, _Run] = {}
        self._history = {name: _History() for name in self._specs}
        logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        for spec in specs:
            if journal.desired(spec.name) is None:
                journal.desire(Desired(name=spec.name, devices=spec.devices))
        self._adopt()

    def begin(self, action: Action, step: Step, key: str) -> None:
        """Write down how the worker is to run from now on; ``look`` does the rest."""
        del action
        now = self._journal.desired(step.target)
        if now is None or step.target not in self._specs:
            raise Refused(f"no worker is called {step.target}")
        changed = msgspec.structs.replace(now, generation=key, run=step.verb != "stop")
        if step.verb == "replace":
            changed = msgspec.structs.replace(
                changed, devices=tuple(filter(None, step.arguments["devices"].split(","))),
                visible=step.arguments["visible"], render_nodes=step.arguments.get("render_nodes", ""),
                without_links=step.arguments.get("without_links", ""),
            )  # fmt: skip
        elif step.verb not in ("restart", "start", "stop"):
            raise Refused(f"{step.verb} is nothing that a supervisor does")
        self._checkpoint("supervisor: before the wish")
        self._journal.desire(changed)
        self._checkpoint("supervisor: after the wish")
        self.look()

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        """Done as soon as the wish is on disk, for a stop when nothing of the worker is left."""
        del action
        wish = self._journal.desired(step.target)
        if wish is None or wish.generation != key:
            return Probe("absent")
        if step.verb == "stop" and (step.target in self._runs or self._marked(step.target)):
            return Probe("running", "still ending")
        return Probe("done")

    def look(self) -> tuple[WorkerView, ...]:
        """Do what is due, and say how the workers are."""
        views = []
        for name, spec in self._specs.items():
            wish = self._journal.desired(name) or Desired(name=name, devices=spec.devices)
            self._converge(spec, wish)
            views.append(self._view(spec, wish))
        return tuple(views)

    def stop_all(self) -> bool:
        """Ask all processes to end, kill what takes too long; True when none is left. What is wished stays on disk."""
        for name, spec in self._specs.items():
            run = self._runs.get(name)
            if run is not None:
                self._reap(name, run)
            if (run := self._runs.get(name)) is not None:
                self._stop(spec, run)
        rest = [one for one in processes.find(self._instance) if one.worker not in self._runs]
        for one in rest:
            processes.send(one, self._instance, signal.SIGKILL)
        return not self._runs and not rest

    def _adopt(self) -> None:
        """Take over processes of the wanted generation, end all others of this instance."""
        now = self._clock()
        for one in processes.find(self._instance):
            wish = self._journal.desired(one.worker)
            wanted = one.worker in self._specs and wish is not None and wish.run and wish.generation == one.generation
            if wanted and one.leader:
                self._runs[one.worker] = _Run(one.pid, one.generation, now, None)
                self._prober.watch(self._specs[one.worker], one.generation)
            elif not wanted:
                processes.send(one, self._instance, signal.SIGKILL)

    def _marked(self, name: str) -> list[processes.Marked]:
        return [one for one in processes.find(self._instance) if one.worker == name]

    def _converge(self, spec: WorkerSpec, wish: Desired) -> None:
        run = self._runs.get(spec.name)
        if run is not None:
            self._reap(spec.name, run)
        run = self._runs.get(spec.name)
        if run is not None and (not wish.run or run.generation != wish.generation):
            self._stop(spec, run)
            return
        if run is None and wish.run:
            self._start(spec, wish)

    def _reap(self, name: str, run: _Run) -> None:
        """Notice that a process ended, and end what it left behind."""
        now = self._clock()
        code = run.child.poll() if run.child is not None else None
        if run.child is not None and code is None:
            return
        if run.child is None and processes.alive(run.pid):
            return
        for one in self._marked(name):
            processes.send(one, self._instance, signal.SIGKILL)
        del self._runs[name]
        self._prober.unwatch(name)
        if run.stopping_at is not None:
            return
        history = self._history[name]
        stable = run.serving_at is not None and now - run.serving_at >= STABLE
        history.crashes = 1 if stable else history.crashes + 1
        history.not_before = now + min(LONGEST, BACKOFF * 2 ** (history.crashes - 1))
        history.last_end = _how(code)
        history.generation = run.generation
        self._journal.audit(now, "worker-ended", name, history.last_end)

    def _stop(self, spec: WorkerSpec, run: _Run) -> None:
        """TERM to the group, KILL when it takes longer than allowed."""
        now = self._clock()
        if run.stopping_at is None:
            run.stopping_at = now
            frozen = self._prober.vital(spec.name).responsive is False
            run.grace = min(spec.stop, FROZEN) if frozen else spec.stop
            self._prober.unwatch(spec.name)
            self._signal(spec.name, run, signal.SIGTERM)
        elif now - run.stopping_at >= run.grace:
            run.killed = True
            self._signal(spec.name, run, signal.SIGKILL)

    def _signal(self, name: str, run: _Run, number: signal.Signals) -> None:
        for one in self._marked(name):
            if one.generation == run.generation or number == signal.SIGKILL:
                processes.send(one, self._instance, number)

    def _start(self, spec: WorkerSpec, wish: Desired) -> None:
        now = self._clock()
        history = self._history[spec.name]
        if history.generation != wish.generation:
            history.crashes, history.not_before, history.generation = 0, 0.0, wish.generation
        if now < history.not_before or history.crashes >= CRASHES:
            return
        if wish.devices and self._surroundings.unfit(spec.node, wish.devices):
            return
        visible = self._surroundings.visible(spec.node, wish.devices) if wish.devices else ""
        if visible is None:
            return
        for one in self._marked(spec.name):
            processes.send(one, self._instance, signal.SIGKILL)  # of a start that nobody remembers
        self._checkpoint("supervisor: before the start")
        try:
            environ = self._environment(spec, wish, visible)
            with _log(self._logs / f"{spec.name}.log") as log:
                child = subprocess.Popen(
                    spec.command, env=environ, cwd=spec.directory, stdin=subprocess.DEVNULL, stdout=log,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
        except (OSError, InputError) as error:
            history.crashes += 1
            history.not_before = now + min(LONGEST, BACKOFF * 2 ** (history.crashes - 1))
            history.last_end = f"cannot be started: {getattr(error, 'strerror', None) or error}: {spec.command[0]}"
            return
        self._checkpoint("supervisor: after the start")
        history.restarts += 1
        self._runs[spec.name] = _Run(child.pid, wish.generation, now, child)
        self._journal.audit(now, "worker-started", spec.name, f"pid {child.pid}, {VISIBLE}={visible or 'unset'}")
        self._prober.watch(spec, wish.generation)

    def _environment(self, spec: WorkerSpec, wish: Desired, visible: str) -> dict[str, str]:
        """Ours and that of the configuration, the mark, and which devices it may see."""
        environ = dict(self._environ) | spec.environment
        if wish.devices:
            environ = {k: v for k, v in environ.items() if k not in OTHERS} | {VISIBLE: visible}
        if wish.without_links and spec.topology_file:
            environ["NCCL_TOPO_FILE"] = str(self._topology(spec, wish))
        return environ | {processes.MARK: processes.mark(self._instance, spec.name, wish.generation)}

    def _topology(self, spec: WorkerSpec, wish: Desired) -> Path:
        """A copy of the topology file without the bad links, beside the logs."""
        path = self._logs / f"{spec.name}.topology.xml"
        pairs = [tuple(pair.split(">", 1)) for pair in wish.without_links.split()]
        text = without_links(Path(spec.topology_file).read_text(encoding="utf-8"), [(a, b) for a, b in pairs])
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
        return path

    def _view(self, spec: WorkerSpec, wish: Desired) -> WorkerView:
        now = self._clock()
        run, history = self._runs.get(spec.name), self._history[spec.name]
        vital = self._prober.vital(spec.name) if run is not None and run.stopping_at is None else Vital()
        state: WorkerState
        detail = vital.detail
        if run is None and not wish.run:
            state = "stopped"
        elif run is None and history.crashes >= CRASHES:
            state, detail = "failed", f"ended {history.crashes} times in a row, last: {history.last_end}"
        elif run is None:
            state, detail = "starting", self._surroundings.unfit(spec.node, wish.devices) or history.last_end
        elif run.stopping_at is not None or run.generation != wish.generation:
            state, detail = "starting" if wish.run else "draining", "the old process is ending"
        elif vital.responsive is False:
            state = "unresponsive"
        elif vital.ready:
            run.serving_at = run.serving_at or now
            state = "serving"
            if now - run.serving_at >= STABLE:
                history.crashes = 0
        elif now - run.started_at > spec.start:
            state, detail = "unresponsive", f"not ready within {spec.start:.0f} s"
        else:
            state = "starting"
        return WorkerView(
            name=spec.name, node=spec.node, state=state, devices=wish.devices, generation=wish.generation,
            since=run.started_at if run else 0.0, pid=run.pid if run else None, model=spec.model,
            restarts=max(0, history.restarts - 1), requests=vital.requests, fragmentation=vital.fragmentation,
            executor="supervisor", movable=spec.movable and bool(spec.devices), topology_file=bool(spec.topology_file),
            detail=detail,
        )  # fmt: skip


def _log(path: Path) -> BinaryIO:
    """The log of a worker, moved aside once when it is large."""
    if path.exists() and path.stat().st_size > LOG_LARGEST:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _how(code: int | None) -> str:
    if code is None:
        return "ended"
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"ended with code {code}"
