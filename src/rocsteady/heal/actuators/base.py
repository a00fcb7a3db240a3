"""What the healer asks of everybody who carries out a step."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from rocsteady.heal.records import Action, Step
from rocsteady.heal.view import WorkerView
from rocsteady.model import RocsteadyError

Became = Literal["absent", "running", "done", "failed", "unknown"]


class Refused(RocsteadyError):
    """The step was not done, and nothing of it happened."""


class Probe(NamedTuple):
    """What became of a step. absent: it never began; unknown: it cannot be told, so it is not repeated."""

    became: Became
    detail: str = ""


class Actuator(Protocol):
    """Carries out steps. ``key`` is the same for the same step of the same action, also after a restart."""

    def begin(self, action: Action, step: Step, key: str) -> None:
        """Begin the step; return soon. Raises ``Refused`` where nothing happened, any other error where that is open."""

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        """What became of it."""


class Workers(Actuator, Protocol):
    """An executor of workers. Verbs: replace, restart, stop, start."""

    def look(self) -> tuple[WorkerView, ...]:
        """Its workers now; also does what is due (starts, stops, gives up)."""
