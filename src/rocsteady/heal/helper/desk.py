"""Takes requests one after the other, remembers each, and carries none out twice."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Literal

import msgspec

from rocsteady.heal.helper.gpus import NotDone
from rocsteady.heal.helper.memory import Done, Requests
from rocsteady.heal.helper.verbs import MODULE, VERBS, Parts, boot_id, load_driver

LARGEST = 4096
"""Bytes of a request: the longest holds the addresses of the GPUs of a hive."""
WAITING = 32
Log = Callable[[str], None]


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``verb``: one of ``VERBS``, or ``probe`` to learn what became of ``key``."""

    verb: str
    key: str
    target: str = ""
    arguments: dict[str, str] = {}


class Answer(msgspec.Struct, frozen=True):
    """What became of a request. refused: it was not taken, nothing happened."""

    became: Literal["refused", "absent", "running", "done", "failed", "unknown"]
    detail: str = ""


class Desk:
    """Requests in, answers out. ``work`` runs in one thread: nothing is done to the host by two at once."""

    def __init__(self, parts: Parts, log: Log = lambda _: None) -> None:
        self._parts = parts
        self._requests = Requests(parts.host)
        self._order = self._requests.tidy()
        self._queue: queue.Queue[Request | None] = queue.Queue(WAITING)
        self._mine: set[str] = set()
        self._lock = threading.Lock()
        self._log = log

    def recover(self) -> None:
        """After a restart: fans become automatic, and a driver that was unloaded is loaded."""
        self._parts.fans.recover()
        boot = boot_id(self._parts.host)
        for done in self._requests.all():
            if done.state != "begun":
                continue
            if done.verb == "reload-driver" and done.boot_id == boot and not self._parts.host.names(MODULE):
                self._end(done, "done", f"finished after a restart: {load_driver(self._parts.host)}")

    def answer(self, line: bytes, who: str) -> Answer:
        """Answer one request; returns at once."""
        try:
            request = msgspec.json.decode(line, type=Request)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
            return self._refused(who, "?", "no request")
        if not request.key or len(request.key) > 200:
            return self._refused(who, request.verb, "a key was wanted")
        if request.verb == "probe":
            return self.probe(request.key)
        verb = VERBS.get(request.verb)
        if verb is None or (self._parts.rules.verbs and request.verb not in self._parts.rules.verbs):
            return self._refused(who, request.verb, "no such verb, or it is off")
        if set(request.arguments) != verb.takes:
            return self._refused(who, request.verb, f"it takes {', '.join(sorted(verb.takes)) or 'no arguments'}")
        with self._lock:
            known = self._requests.get(request.key)
            if known is not None and (known.verb != request.verb):
                return self._refused(who, request.verb, "the key is of another request")
            again = known is not None and known.state == "begun" and request.key not in self._mine and verb.repeatable
            if known is not None and not again:
                return self._became(known)
            begun = Done(
                key=request.key, verb=request.verb, boot_id=boot_id(self._parts.host), state="begun", order=self._order
            )  # fmt: skip
            try:
                self._mine.add(request.key)
                self._requests.put(begun)
                self._order += 1
                self._queue.put_nowait(request)
            except queue.Full:
                self._mine.discard(request.key)
                self._end(begun, "failed", "too much waits")
                return self._refused(who, request.verb, "too much waits")
        self._log(f"{who} {request.verb} {request.target} {request.key}")
        return Answer("running")

    def probe(self, key: str) -> Answer:
        """What became of a request."""
        known = self._requests.get(key)
        return Answer("absent") if known is None else self._became(known)

    def _became(self, known: Done) -> Answer:
        if known.verb == "reboot" and known.state != "failed":
            if known.boot_id != boot_id(self._parts.host):
                return Answer("done", "another boot began")
            return Answer("running", "the machine goes down")
        if known.state != "begun":
            return Answer(known.state, known.detail)
        if known.key in self._mine:
            return Answer("running")
        verb = VERBS.get(known.verb)
        if verb is not None and verb.repeatable:
            return Answer("absent", "cut off; it can be done again")
        return Answer("unknown", "cut off; it is not done again")

    def work(self) -> None:
        """Carry out what waits, until ``close``."""
        while (request := self._queue.get()) is not None:
            self.carry_out(request)

    def carry_out(self, request: Request) -> None:
        """One request; what goes wrong is its result."""
        begun = self._requests.get(request.key)
        if begun is None:
            return
        try:
            detail = VERBS[request.verb].act(self._parts, request.target, request.arguments)
            self._end(begun, "done", detail)
        except NotDone as error:
            self._end(begun, "failed", f"not done: {error}")
        except (OSError, ValueError) as error:
            self._end(begun, "failed", str(getattr(error, "strerror", None) or error))
        finally:
            self._mine.discard(request.key)

    def pending(self) -> Request | None:
        """The next request, for tests that have no thread."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        """End ``work``, and give the fans back."""
        self._queue.put(None)
        self._parts.fans.release_all()

    def _end(self, begun: Done, state: Literal["done", "failed"], detail: str) -> None:
        self._requests.put(msgspec.structs.replace(begun, state=state, detail=detail[:500]))
        self._log(f"{begun.verb} {begun.key} {state}: {detail}")

    def _refused(self, who: str, verb: str, why: str) -> Answer:
        self._log(f"{who} {verb[:40]!r} refused: {why}")
        return Answer("refused", why)
