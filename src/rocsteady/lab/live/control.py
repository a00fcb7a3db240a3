"""Talking to a lab that runs in another process: one file of orders, one of answers, both below ``DIR/.lab``.

Orders, one a line, in ``inject``: ``ras-ue gpu=2``, ``ras-ue gpu=2 delay=30``, ``clear``, ``clear ras-ue``. The running
lab takes the file away and says in ``state.json`` (schema ``rocsteady.lab-state/1``) what came of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from rocsteady.lab.live.node import LivingNode
from rocsteady.model import InputError

FOLDER = ".lab"
ORDERS, TAKEN, STATE = f"{FOLDER}/inject", f"{FOLDER}/taken", f"{FOLDER}/state.json"
SCHEMA = "rocsteady.lab-state/1"
LARGEST = 4096
MOST_ERRORS = 20


class Control:
    """The running lab's side."""

    def __init__(self, node: LivingNode) -> None:
        self._node = node
        self._errors: list[str] = []
        self.running = True

    def close(self) -> None:
        """Say that nobody listens any more."""
        self.running = False
        self.write()

    def poll(self) -> None:
        """Carry out what was ordered; a line that cannot be understood is answered, not raised."""
        taken = self._node.directory / TAKEN
        try:
            (self._node.directory / ORDERS).replace(taken)
            text = taken.read_bytes()[:LARGEST].decode(errors="replace")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            try:
                obey(self._node, line)
            except InputError as error:
                self._errors = [*self._errors, str(error)][-MOST_ERRORS:]

    def write(self) -> None:
        """The state of the lab, exchanged as a whole."""
        new = self._node.directory / f"{STATE}.new"
        new.write_bytes(
            msgspec.json.format(msgspec.json.encode(document(self._node, self._errors, self.running)), indent=1) + b"\n"
        )
        new.replace(self._node.directory / STATE)


def obey(node: LivingNode, line: str) -> None:
    """One order.

    Raises:
        InputError: it is none.
    """
    words = line.split()
    if not words:
        return
    if words[0] == "clear":
        node.clear(words[1] if len(words) > 1 else None)
        return
    options = {"gpu": None, "delay": None} | dict(word.partition("=")[::2] for word in words[1:])
    gpu, delay = options.pop("gpu"), options.pop("delay")
    if options:
        raise InputError(f"order {line!r}: SCENARIO [gpu=N] [delay=SECONDS] or clear [SCENARIO] was wanted")
    try:
        node.inject(words[0], None if gpu is None else int(gpu), 0.0 if delay is None else float(delay))
    except ValueError:
        raise InputError(f"order {line!r}: gpu= wants a whole number, delay= seconds") from None


def document(node: LivingNode, errors: list[str], running: bool) -> dict[str, Any]:
    """``rocsteady.lab-state/1``: seconds are simulated and count from the start; ``began`` is wall clock since 1970."""
    return {
        "schema": SCHEMA, "running": running, "pid": os.getpid(), "shape": node.shape.name, "now": round(node.now, 3),
        "faults": [
            {
                "scenario": fault.scenario.name, "gpu": fault.gpu, "bdf": node.slots[fault.gpu], "at": fault.at,
                "began": fault.began, "ended": fault.ended,
            }
            for fault in node.faults
        ],
        "errors": errors,
    }  # fmt: skip


def order(directory: Path, line: str) -> None:
    """Leave an order for the lab that runs on ``directory``.

    Raises:
        InputError: no lab runs there, or an order still waits.
    """
    try:
        running = msgspec.json.decode((directory / STATE).read_bytes()).get("running") is True
    except (OSError, msgspec.DecodeError, AttributeError):
        running = False
    if not running:
        raise InputError(f"{directory}: no lab runs here (rocsteady lab run SHAPE {directory})")
    waiting = directory / ORDERS
    if waiting.exists():
        raise InputError(f"{waiting}: an order waits already; does the lab still run?")
    new = directory / f"{ORDERS}.new"
    new.write_text(line + "\n", encoding="utf-8")
    new.replace(waiting)
