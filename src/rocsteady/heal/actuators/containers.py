"""Workers that are containers of docker or podman. A container's devices are fixed, so a move makes a new one.

``command`` is what follows ``run``; ``{visible}``, ``{devices}`` and ``{render_devices}`` (one ``--device`` argument each)
are filled in. The container carries the name of the worker and a label with the wish that it was made for.
"""

from __future__ import annotations

import json

from rocsteady.heal.actuators.external import Commands, Present
from rocsteady.heal.journal import Desired
from rocsteady.heal.supervisor.spec import WorkerSpec

LABEL = "rocsteady.generation"
RENDER = "{render_devices}"


class Containers:
    """The runtime of containers; ``program`` is docker or podman."""

    def __init__(self, program: str, run: Commands) -> None:
        self._program = program
        self._run = run

    def present(self, spec: WorkerSpec) -> Present:
        """State and label from ``inspect``."""
        form = f'{{{{json .State.Running}}}} {{{{json .State.Pid}}}} {{{{json (index .Config.Labels "{LABEL}")}}}} {{{{json .State.ExitCode}}}}'
        ran = self._run((self._program, "container", "inspect", "--format", form, spec.name))
        if ran.code:
            if "no such container" in ran.out.lower():
                return Present(False, None, None, "no container")
            raise OSError(f"{self._program} inspect {spec.name}: {ran.out[:200]}")
        try:
            running, pid, label, code = (json.loads(part) for part in ran.out.splitlines()[-1].split(" "))
        except ValueError as error:
            raise OSError(f"{self._program} inspect {spec.name}: {error}") from error
        return Present(bool(running), label, int(pid) or None, "" if running else f"ended with code {code}")

    def start(self, spec: WorkerSpec, wish: Desired, visible: str) -> None:
        """Make it anew."""
        self.stop(spec)
        if RENDER in spec.command:  # the container sees only these devices, and HIP counts them from 0
            visible = ",".join(str(n) for n in range(len(wish.devices)))
        environment = dict(spec.environment) | ({"HIP_VISIBLE_DEVICES": visible} if wish.devices else {})
        command = (
            self._program, "run", "--detach", "--name", spec.name, "--label", f"{LABEL}={wish.generation}",
            *(part for name, value in sorted(environment.items()) for part in ("--env", f"{name}={value}")),
            *_filled(spec.command, wish, visible),
        )  # fmt: skip
        ran = self._run(command)
        if ran.code:
            raise OSError(f"{self._program} run {spec.name}: {ran.out[-300:]}")

    def stop(self, spec: WorkerSpec) -> None:
        """End and remove it; fine where there is none."""
        for command in (("stop", "--time", f"{spec.stop:.0f}", spec.name), ("rm", "--force", spec.name)):
            ran = self._run((self._program, *command))
            if ran.code and "no such container" not in ran.out.lower():
                raise OSError(f"{self._program} {command[0]} {spec.name}: {ran.out[:200]}")


def _filled(command: tuple[str, ...], wish: Desired, visible: str) -> list[str]:
    out: list[str] = []
    for part in command:
        if part == RENDER:
            out += [f"--device=/dev/dri/{name}" for name in wish.render_nodes.split(",") if name]
        else:
            out.append(part.replace("{visible}", visible).replace("{devices}", ",".join(wish.devices)))
    return out
