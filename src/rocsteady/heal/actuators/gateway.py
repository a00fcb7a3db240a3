"""Drains workers through the gateway's admin API."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import quote

import msgspec

from rocsteady.heal.actuators.base import Probe, Refused
from rocsteady.heal.records import Action, Step

SECONDS = 5.0
LARGEST = 4 << 20
Call = Callable[[str, str], tuple[int, bytes]]
"""Method and path -> HTTP status and body; raises OSError where nobody answers."""


class _Worker(msgspec.Struct, frozen=True):
    name: str
    draining: bool
    in_flight: int = 0


class _Answer(msgspec.Struct, frozen=True):
    workers: tuple[_Worker, ...]


class Gateway:
    """The actuator ``gateway``. Verbs: drain (waits ``seconds`` for running requests), undrain. Both can be repeated."""

    def __init__(self, call: Call, clock: Callable[[], float]) -> None:
        self._call = call
        self._clock = clock

    def begin(self, action: Action, step: Step, key: str) -> None:
        """Ask for it. A gateway that does not know the worker has nothing to drain."""
        del action, key
        if step.verb not in ("drain", "undrain"):
            raise Refused(f"{step.verb} is nothing that a gateway does")
        status, _ = self._call("POST", f"/admin/workers/{quote(step.target, safe='')}/{step.verb}")
        if status == 404:
            return
        if status >= 400:
            raise Refused(f"the gateway answers {status}")

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        """Drained: no request is running any more, or the time that they had is over."""
        del action, key
        status, body = self._call("GET", "/admin/workers")
        if status >= 400:
            return Probe("unknown", f"the gateway answers {status}")
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return Probe("unknown", f"the gateway's answer: {error}")
        worker = next((w for w in answer.workers if w.name == step.target), None)
        if worker is None:
            return Probe("done", "the gateway does not know it")
        if worker.draining != (step.verb == "drain"):
            return Probe("absent")
        waited = self._clock() - (step.started_at or 0.0)
        if worker.draining and worker.in_flight and waited < float(step.arguments.get("seconds", "0")):
            return Probe("running", f"{worker.in_flight} requests are running")
        return Probe("done")


def http_call(url: str, token: str) -> Call:
    """Calls with a bearer token."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(method: str, path: str) -> tuple[int, bytes]:
        request = urllib.request.Request(
            url.rstrip("/") + path, method=method, headers={"Authorization": f"Bearer {token}"}
        )  # fmt: skip
        try:
            with opener.open(request, timeout=SECONDS) as answer:
                return answer.status, answer.read(LARGEST)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code, b""

    return call
