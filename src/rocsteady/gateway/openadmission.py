"""Admission without limits: counts what is with each worker. For tests and for a gateway that shall not queue."""

from __future__ import annotations

from collections.abc import Sequence

from rocsteady.gateway.interfaces import Call, Refused
from rocsteady.gateway.worker import Worker


class OpenTicket:
    """One request counted."""

    __slots__ = ("_worker",)

    def __init__(self, worker: Worker) -> None:
        worker.inflight += 1
        self._worker: Worker | None = worker

    def release(self) -> None:
        """Count it off, once."""
        if self._worker is not None:
            self._worker.inflight -= 1
            self._worker = None


class OpenAdmission:
    """Lets everybody in."""

    def has_room(self, call: Call, worker: Worker) -> bool:
        """Always."""
        del call, worker
        return True

    async def admit(self, call: Call, workers: Sequence[Worker]) -> tuple[Worker, OpenTicket]:
        """The first."""
        del call
        if not workers:
            raise Refused("no-worker", "no worker", 1.0, 503)
        return workers[0], OpenTicket(workers[0])

    def try_admit(self, call: Call, worker: Worker) -> OpenTicket:
        """Always."""
        del call
        return OpenTicket(worker)
