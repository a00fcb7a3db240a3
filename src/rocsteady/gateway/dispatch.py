"""One request of a client, from admission to the last byte: tries, retries, continuation. No HTTP server in here.

The server gives a ``Sink``; a simulation gives its own, with its own connector and clock, and runs the same logic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from rocsteady.gateway.answers import EVENTS, JSON, answer_headers, problem
from rocsteady.gateway.classify import fault
from rocsteady.gateway.config import Config
from rocsteady.gateway.connector import Broken, Connector, Exchange
from rocsteady.gateway.http1 import Head
from rocsteady.gateway.interfaces import (
    Admission,
    Call,
    Clock,
    OpenRelay,
    Refusal,
    Refused,
    Relay,
    Ticket,
    UpstreamRequest,
)
from rocsteady.gateway.retry import Budget, pause
from rocsteady.gateway.routing import Pick, Router
from rocsteady.gateway.splice import splice_model
from rocsteady.gateway.tally import Tally
from rocsteady.gateway.worker import Attempt, Worker


class Sink(Protocol):
    """Where an answer goes."""

    async def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """A whole answer."""
        ...

    async def start(self, headers: list[tuple[str, str]]) -> None:
        """Begin a stream with status 200."""
        ...

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """More of it; ``last``: the stream is complete with it."""
        ...


class Outcome(msgspec.Struct):
    """What became of a call, for the access log. ``status`` 200 with ``result`` ``cut`` is a stream that broke."""

    status: int = 0
    result: str = ""
    worker: str = ""
    stage: str = ""
    reason: str = ""
    tries: int = 0
    continued: int = 0
    first_byte: float | None = None
    detail: str = ""


class _Try(msgspec.Struct):
    """One admitted try."""

    worker: Worker
    ticket: Ticket
    pick: Pick


class Dispatcher:
    """Drives calls. One per process."""

    def __init__(
        self, config: Config, router: Router, admission: Admission, connector: Connector, clock: Clock,
        random: Callable[[], float], open_relay: OpenRelay, tally: Tally,
    ) -> None:  # fmt: skip
        self.config = config
        self.router = router
        self.admission = admission
        self.connector = connector
        self.clock = clock
        self.random = random
        self.open_relay = open_relay
        self.tally = tally
        self.budget = Budget(config.retry.ratio, config.retry.least, clock.now())

    async def run(self, call: Call, sink: Sink) -> Outcome:
        """Answer one call. Never raises but for a client that went away (CancelledError, ConnectionError)."""
        outcome = Outcome()
        failed: list[tuple[Worker, str]] = []
        answer: tuple[Head, bytes, Worker] | None = None
        retry = self.config.retry
        self.budget.request()
        while outcome.tries < retry.attempts:
            try:
                tried = await self._next(call, failed)
            except Refused as refused:
                if not failed:
                    return await self._refuse(call, sink, outcome, refused)
                break
            if tried is None:
                break
            outcome.tries += 1
            worker = tried.worker
            try:
                answer = await self._one(call, sink, tried, outcome)
                if answer is None:
                    return outcome
                failed.append((worker, f"HTTP {answer[0].status}"))
            except Broken as error:
                self._blame(worker, error)
                failed.append((worker, error.reason))
                if error.innocent or (call.exactly_once and error.kind != "connect"):
                    break
            finally:
                tried.ticket.release()
            now = self.clock.now()
            if not self.budget.take(now):
                self.tally.add("budget-empty")
                break
            self.tally.add("retry")
            wait = pause(outcome.tries, retry.base, retry.cap, self.random)
            if wait:
                await self.clock.sleep(wait)
        return await self._give_up(call, sink, outcome, failed, answer)

    async def _next(self, call: Call, failed: list[tuple[Worker, str]]) -> _Try | None:
        """Admission to the next candidate; None where there is none."""
        picks = self.router.candidates(call, failed)
        if not picks:
            return None
        if failed:
            for pick in picks:
                ticket = self.admission.try_admit(call, pick.worker)
                if ticket is not None:
                    return _Try(pick.worker, ticket, pick)
            return None
        try:
            worker, ticket = await self.admission.admit(call, [pick.worker for pick in picks])
        except Refused as refused:
            for pick in self.router.candidates(call, whole=True):  # full: the rest of the ladder, if there is one
                spare = self.admission.try_admit(call, pick.worker)
                if spare is not None:
                    stage = pick.stage if pick.stage != "primary" else "last"
                    return _Try(pick.worker, spare, Pick(pick.worker, stage, pick.reason or refused.reason))
            raise
        for pick in picks:
            if pick.worker is worker:
                return _Try(worker, ticket, pick)
        return _Try(worker, ticket, Pick(worker, "primary", ""))

    async def _one(self, call: Call, sink: Sink, tried: _Try, outcome: Outcome) -> tuple[Head, bytes, Worker] | None:
        """One try. None: the client has its answer; else the answer of a worker that it may still get.

        Raises:
            Broken: the worker failed and nothing reached the client.
        """
        worker = tried.worker
        outcome.worker, outcome.stage, outcome.reason = worker.name, tried.pick.stage, tried.pick.reason
        relay = self.open_relay(call, worker) if call.streams else None
        request = UpstreamRequest(call.path, call.body) if relay is None else relay.request()
        attempt, head = await self._open(call, worker, request, streams=relay is not None)
        try:
            if head.status == 200 and relay is not None and (head.get("content-type") or "").startswith(EVENTS):
                await self._stream(call, sink, tried, outcome, relay, attempt)
                return None
            body = await self._body(attempt.exchange)
        finally:
            worker.attempts.discard(attempt)
            attempt.exchange.close()
        now = self.clock.now()
        whose = fault(head.status, body)
        if whose in ("none", "client"):
            worker.health.proof(now)
            worker.last_bytes = now
            outcome.first_byte = now
            outcome.status, outcome.result = head.status, "ok" if whose == "none" else "client"
            await sink.answer(head.status, answer_headers(head, call, tried.pick, outcome.tries), body)
            return None
        if whose == "busy":
            self.tally.add("worker-busy", worker.name)
        elif whose == "misconfigured":
            self._blame(worker, Broken("misconfigured", f"HTTP {head.status}: {body[:120]!r}"))
        else:
            self._blame(worker, Broken("status", f"HTTP {head.status}"))
        return head, body, worker

    async def _open(
        self, call: Call, worker: Worker, request: UpstreamRequest, *, streams: bool
    ) -> tuple[Attempt, Head]:
        """Send a request and wait for the head. A kept connection that was closed meanwhile is replaced once."""
        fresh = call.exactly_once
        while True:
            attempt = await self._send(call, worker, request, streams=streams, fresh=fresh)
            try:
                return attempt, await attempt.exchange.head()
            except BaseException as error:
                worker.attempts.discard(attempt)
                attempt.exchange.close()
                if fresh or not (isinstance(error, Broken) and error.stale):
                    raise
                fresh = True

    async def _send(
        self, call: Call, worker: Worker, request: UpstreamRequest, *, streams: bool, fresh: bool
    ) -> Attempt:
        spec = worker.spec
        body = request.body
        if spec.upstream_model != call.view.model:
            body = splice_model(body, spec.upstream_model)
        lines = b"Content-Type: application/json\r\nX-Request-Id: %s\r\n" % call.id.encode()
        if call.trace:
            lines += b"Traceparent: %s\r\n" % call.trace.encode()
        if worker.token:
            lines += b"Authorization: Bearer %s\r\n" % worker.token.encode()
        limit = self.config.timeouts.connect
        exchange = await self.connector.send(spec.url, "POST", request.path, lines, body, limit, fresh=fresh)
        attempt = Attempt(call, exchange, self.clock.now(), streams=streams)
        worker.attempts.add(attempt)
        return attempt

    async def _body(self, exchange: Exchange) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := await exchange.read():
            parts.append(part)
            size += len(part)
            if size > self.config.limits.answer_bytes:
                raise Broken("status", f"answer of more than {self.config.limits.answer_bytes} bytes")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _stream(
        self, call: Call, sink: Sink, tried: _Try, outcome: Outcome, relay: Relay, attempt: Attempt
    ) -> None:
        """Relay a stream to its end, on other workers where this one breaks.

        Raises:
            Broken: it broke before anything went to the client.
        """
        worker, ticket = tried.worker, None
        now = self.clock.now
        broke: list[Worker] = []
        try:
            while True:
                try:
                    await self._pump(call, sink, tried, outcome, relay, attempt, worker)
                    worker.health.proof(now())
                    outcome.result = "ok"
                    return
                except Broken as error:
                    if outcome.first_byte is None:
                        raise
                    self._blame(worker, error)
                    outcome.detail = error.reason
                finally:
                    worker.attempts.discard(attempt)
                    attempt.exchange.close()
                rest = relay.closing()
                if rest is not None:
                    outcome.result = "ok"
                    await sink.write(rest, last=True)
                    return
                if ticket is not None:
                    ticket.release()
                    ticket = None
                broke.append(worker)
                found = await self._continue(call, relay, broke)
                if isinstance(found, Refusal):
                    outcome.result = "cut"
                    self.tally.add("stream-cut", found.code)
                    await sink.write(relay.error_event(found, call.id), last=True)
                    return
                worker, ticket, attempt = found
                outcome.continued += 1
                outcome.worker = worker.name
                self.tally.add("continued")
        finally:
            if ticket is not None:
                ticket.release()

    async def _pump(
        self, call: Call, sink: Sink, tried: _Try, outcome: Outcome, relay: Relay, attempt: Attempt, worker: Worker
    ) -> None:
        """Bytes of one worker to the client, until the answer is complete."""
        exchange, clock = attempt.exchange, self.clock
        while not relay.finished:
            data = await exchange.read()
            now = clock.now()
            attempt.last = worker.last_bytes = now
            out = relay.feed(data) if data else relay.end()
            if out:
                if outcome.first_byte is None:
                    outcome.first_byte, outcome.status = now, 200
                    worker.ttft = now - attempt.sent if worker.ttft is None else (
                        0.9 * worker.ttft + 0.1 * (now - attempt.sent)
                    )  # fmt: skip
                    await sink.start(answer_headers(None, call, tried.pick, outcome.tries))
                attempt.first = True
                await sink.write(out, last=relay.finished)
            if relay.failure is not None:
                raise Broken("stream-error", relay.failure)
            if not data:
                break
        if relay.finished:  # the end of the body is due at once: the connection can be used again
            tail = await exchange.read()
            if tail:
                return
        elif outcome.first_byte is None:
            raise Broken("stream-error", "an empty stream")

    async def _continue(
        self, call: Call, relay: Relay, broke: list[Worker]
    ) -> tuple[Worker, Ticket, Attempt] | Refusal:
        """Another worker that goes on, or why none does."""
        request = relay.resume_request()
        if isinstance(request, Refusal):
            return request
        last = "no other worker of the same model and precision is there"
        if len(broke) > self.config.retry.continuations:
            return Refusal("too-often", f"it was continued {len(broke) - 1} times already")
        for worker in self.router.same(broke[0], broke):
            if worker in broke[1:] or not self.budget.take(self.clock.now()):
                continue
            ticket = self.admission.try_admit(call, worker)
            if ticket is None:
                last = "the other workers are full"
                continue
            attempt: Attempt | None = None
            kept = False
            try:
                attempt, head = await self._open(call, worker, request, streams=True)
                if head.status == 200:
                    relay.resumed()
                    kept = True
                    return worker, ticket, attempt
                body = await self._body(attempt.exchange)
                last = f"{worker.name} answered HTTP {head.status}"
                if fault(head.status, body) == "worker":
                    self._blame(worker, Broken("status", f"HTTP {head.status}"))
            except Broken as error:
                self._blame(worker, error)
                last = f"{worker.name}: {error.reason}"
            finally:
                if not kept:
                    ticket.release()
                    if attempt is not None:
                        worker.attempts.discard(attempt)
                        attempt.exchange.close()
        return Refusal("no-worker", last)

    def _blame(self, worker: Worker, error: Broken) -> None:
        if error.stale or error.innocent:
            return  # a kept connection had been closed: says nothing about the engine
        self.tally.add("worker-failure", worker.name, error.kind)
        worker.health.failure(error.kind, error.reason, self.clock.now())

    async def _refuse(self, call: Call, sink: Sink, outcome: Outcome, refused: Refused) -> Outcome:
        self.tally.add("refused", refused.code)
        outcome.status, outcome.result, outcome.detail = refused.status, "refused", refused.reason
        body = problem(refused.reason, refused.code, call.id)
        wait = str(max(1, round(refused.retry_after)))
        headers = [("Content-Type", JSON), ("X-Request-Id", call.id), ("Retry-After", wait)]
        await sink.answer(refused.status, headers, body)
        return outcome

    async def _give_up(
        self, call: Call, sink: Sink, outcome: Outcome, failed: list[tuple[Worker, str]],
        answer: tuple[Head, bytes, Worker] | None,
    ) -> Outcome:  # fmt: skip
        """Nothing worked: the last answer of a worker if it was one of those that a client can use, else ours."""
        outcome.result = "failed"
        headers = [("Content-Type", JSON), ("X-Request-Id", call.id), ("X-Rocsteady-Tries", str(outcome.tries))]
        if (
            answer is not None
            and failed
            and failed[-1][0] is answer[2]
            and fault(answer[0].status, answer[1]) == "busy"
        ):
            outcome.status = answer[0].status
            headers.append(("Retry-After", answer[0].get("retry-after") or "1"))
            headers[0] = ("Content-Type", answer[0].get("content-type") or JSON)
            await sink.answer(outcome.status, headers, answer[1])
            return outcome
        if not failed:
            if call.view.model not in self.router.models():
                outcome.status, outcome.result = 404, "client"
                body = problem(f"the model {call.view.model!r} does not exist", "model_not_found", call.id)
                await sink.answer(404, headers, body)
                return outcome
            outcome.status, outcome.detail = 503, "no worker may take it"
        else:
            outcome.status = 502 if len(failed) == 1 else 503
            outcome.detail = "; ".join(f"{worker.name}: {why}" for worker, why in failed)
        headers.append(("Retry-After", "2"))
        message = f"no worker could answer: {outcome.detail}"
        await sink.answer(outcome.status, headers, problem(message, "no_worker", call.id))
        return outcome
