"""What the helper keeps on disk: what became of each request, and what was there before it changed something."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from rocsteady.heal.helper.host import Host

FOLDER = "/var/lib/rocsteady-helper"
KEEP = 1000
"""Requests that are remembered. A healer asks about its last few dozen."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One request. ``begun`` without a result after a restart: it was cut off."""

    key: str
    verb: str
    boot_id: str
    state: Literal["begun", "done", "failed"]
    detail: str = ""
    order: int = 0


class Requests:
    """Requests by key, so that none is carried out twice."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def _path(self, key: str) -> str:
        return f"{FOLDER}/requests/{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def get(self, key: str) -> Done | None:
        """What became of it; None where it never came."""
        return self._read(self._path(key))

    def _read(self, path: str) -> Done | None:
        try:
            return msgspec.json.decode(self._host.read(path), type=Done)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise OSError(f"{path}: {error}") from error

    def put(self, done: Done) -> None:
        """Write it; complete or not there."""
        self._host.replace(self._path(done.key), msgspec.json.encode(done).decode())

    def all(self) -> list[Done]:
        """All that are remembered, oldest first."""
        found = [
            self._read(f"{FOLDER}/requests/{n}") for n in self._host.names(f"{FOLDER}/requests") if n.endswith(".json")
        ]
        return sorted((d for d in found if d is not None), key=lambda d: d.order)

    def tidy(self) -> int:
        """Forget the oldest; the next order number."""
        known = self.all()
        for done in known[:-KEEP]:
            self._host.remove(self._path(done.key))
        return known[-1].order + 1 if known else 1


class Saved:
    """Values from before our first change, by GPU and knob."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def _path(self, bdf: str, what: str) -> str:
        return f"{FOLDER}/saved/{bdf}-{what}"

    def get(self, bdf: str, what: str) -> str | None:
        """What was there, None where we changed nothing."""
        try:
            return self._host.read(self._path(bdf, what))
        except FileNotFoundError:
            return None

    def keep(self, bdf: str, what: str, value: str) -> None:
        """Remember, unless something older is remembered already."""
        if self.get(bdf, what) is None:
            self._host.replace(self._path(bdf, what), value)

    def forget(self, bdf: str, what: str) -> None:
        """It was put back."""
        self._host.remove(self._path(bdf, what))

    def all(self, what: str) -> list[str]:
        """GPUs with a remembered value."""
        return [n.removesuffix(f"-{what}") for n in self._host.names(f"{FOLDER}/saved") if n.endswith(f"-{what}")]
