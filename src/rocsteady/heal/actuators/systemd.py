"""Workers that are systemd units. The unit has ``EnvironmentFile=`` with the file that is written here before a start.

``systemctl --user`` for units of the user who runs heal; for units of the system the privileged helper is asked, which
restarts only what stands in its list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rocsteady.heal.actuators.base import Refused
from rocsteady.heal.actuators.external import Commands, Present, write_file
from rocsteady.heal.helper.desk import Answer, Request
from rocsteady.heal.journal import Desired
from rocsteady.heal.supervisor.spec import WorkerSpec

GENERATION = "ROCSTEADY_GENERATION"
LINE = re.compile(rf"^{GENERATION}=(.*)$", re.MULTILINE)
STARTED = re.compile(r"^# started as (\S+) after (\S*)$", re.MULTILINE)
Ask = Callable[[Request], Answer]


class Systemd:
    """The runtime of units."""

    def __init__(self, run: Commands, ask: Ask | None, wait: Callable[[], None]) -> None:
        self._run = run
        self._ask = ask
        self._wait = wait

    def present(self, spec: WorkerSpec) -> Present:
        """State from ``systemctl show``. The generation is that of the file, if the unit was started after it was written."""
        ran = self._run(
            (*_systemctl(spec), "show", spec.unit, "-p", "ActiveState,SubState,MainPID,InvocationID,Result")
        )
        if ran.code:
            raise OSError(f"systemctl show {spec.unit}: code {ran.code}")
        values = dict(line.split("=", 1) for line in ran.out.splitlines() if "=" in line)
        active = values.get("ActiveState") in ("active", "activating", "reloading")
        pid = int(values["MainPID"]) if values.get("MainPID", "0").isdecimal() else 0
        detail = "" if active else f"{values.get('ActiveState', '?')}, {values.get('Result', '?')}"
        return Present(active, self._generation(spec, values.get("InvocationID", "")), pid or None, detail)

    def _generation(self, spec: WorkerSpec, invocation: str) -> str | None:
        try:
            text = Path(spec.environment_file).read_text(encoding="utf-8") if spec.environment_file else ""
        except OSError:
            return None
        generation, before = LINE.search(text), STARTED.search(text)
        if generation is None or before is None:
            return None
        return generation[1] if invocation and invocation != before[2] else None

    def start(self, spec: WorkerSpec, wish: Desired, visible: str) -> None:
        """Write the environment, restart the unit, wait until its invocation is a new one."""
        before = self._invocation(spec)
        if spec.environment_file:
            lines = [f"# started as {wish.generation or '-'} after {before}", f"{GENERATION}={wish.generation}"]
            lines += [f"HIP_VISIBLE_DEVICES={visible}"] if wish.devices else []
            lines += [f"{name}={value}" for name, value in sorted(spec.environment.items())]
            write_file(Path(spec.environment_file), "\n".join(lines) + "\n")
        elif wish.devices != spec.devices:
            raise Refused(f"{spec.unit}: environment_file is wanted to move it")
        self._ctl(spec, "restart", wish.generation)
        self._wait()

    def stop(self, spec: WorkerSpec) -> None:
        """Stop the unit."""
        self._ctl(spec, "stop", "stop")
        self._wait()

    def _invocation(self, spec: WorkerSpec) -> str:
        ran = self._run((*_systemctl(spec), "show", spec.unit, "-p", "InvocationID", "--value"))
        return ran.out if ran.code == 0 else ""

    def _ctl(self, spec: WorkerSpec, word: str, key: str) -> None:
        if spec.user_unit:
            ran = self._run((*_systemctl(spec), word, spec.unit))
            if ran.code:
                raise OSError(f"systemctl {word} {spec.unit}: code {ran.code}: {ran.out[:200]}")
            return
        if self._ask is None:
            raise Refused(f"{spec.unit} is a unit of the system, and there is no helper")
        answer = self._ask(Request(f"{word}-unit", f"{spec.unit} {word} {key}", spec.unit, {"unit": spec.unit}))
        if answer.became in ("refused", "failed"):
            raise Refused(f"the helper: {answer.detail}")


def _systemctl(spec: WorkerSpec) -> tuple[str, ...]:
    return ("systemctl", "--user") if spec.user_unit else ("systemctl",)
