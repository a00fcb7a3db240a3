"""The file of workers that a gateway reads: who there is, where, and on which GPUs they run now.

A gateway steers by the health of a worker's GPUs, so after a move it must know the new ones. Its source of kind ``file``
reads this again when it changes.
"""

from __future__ import annotations

import json
from pathlib import Path

from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.view import WorkerView


def workers_toml(specs: tuple[WorkerSpec, ...], views: tuple[WorkerView, ...]) -> str:
    """The file for workers as they are; devices as the configuration has them where nothing else is known."""
    now = {view.name: view.devices for view in views}
    lines = ["# Written by rocsteady heal; read by rocsteady gateway (source of kind file)."]
    for spec in specs:
        values: dict[str, object] = {
            "name": spec.name, "url": spec.url, "model": spec.model or spec.name, "served": spec.served_model,
            "node": spec.node, "gpus": list(now.get(spec.name, spec.devices)), **spec.gateway,
        }  # fmt: skip
        # a basic string of TOML takes the escapes that JSON writes for ASCII
        lines += ["", "[[worker]]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


class Published:
    """Writes the file when it changes; complete or not there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = ""

    def write(self, text: str) -> None:
        """Raises ``OSError`` where it cannot be written."""
        if text == self._written:
            return
        new = self._path.with_name(f".{self._path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(self._path)
        self._written = text
