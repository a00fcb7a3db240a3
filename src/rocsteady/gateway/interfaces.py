"""What the parts of the gateway know of each other.

The handler drives one client request like this (errors left out)::

    call = Call(...)                               # parsed once, body kept as the bytes that came
    worker, ticket = await admission.admit(call, candidates)
    relay = open_relay(call, worker)               # continuation, or plain pass-through
    upstream = relay.request()                     # what to send: path and body
    while bytes come from the worker:
        out = relay.feed(data)                     # b"" = nothing to forward yet
        if out: forward to the client              # the first non-empty one commits the answer
        if relay.failure: break                    # an error event inside the stream: a failure, not output
        if relay.finished: break
    # the worker broke:
    nothing forwarded yet -> next candidate, fresh relay, within the retry budget
    else                  -> relay.resume_request() on another worker, or relay.error_event(...)
    ticket.release()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from rocsteady.gateway.worker import Worker

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
EMBEDDINGS = "/v1/embeddings"


class View(msgspec.Struct):
    """The keys of a request body that the gateway looks at; all others are not even decoded.

    ``raw`` values hold JSON text: whether they are there is what matters most.
    """

    model: str = ""
    stream: bool | None = None
    n: int | None = None
    best_of: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    logprobs: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    response_format: msgspec.Raw = msgspec.Raw()
    stream_options: msgspec.Raw = msgspec.Raw()


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """An API key as the configuration names it; never the secret itself.

    ``priority``: 0 is shed last, larger numbers earlier. ``weight``: share under fair queueing.
    """

    name: str
    priority: int = 1
    weight: float = 1.0


ANYBODY = Key(name="anybody")
"""Who calls where no keys are configured."""


class Call:
    """One request of a client.

    ``body`` is what came, byte for byte. ``prompt_tokens`` is an estimate (bytes of the body by
    ``scheduler.bytes_per_token``), ``output_tokens`` what the client allows (None: it set no limit). Times are seconds
    of the runtime's monotonic clock.
    """

    __slots__ = (
        "arrived", "body", "deadline", "degrade", "exactly_once", "headers", "id", "key", "output_tokens", "path",
        "priority", "prompt_tokens", "trace", "view",
    )  # fmt: skip

    def __init__(
        self, *, id: str, path: str, body: bytes, view: View, key: Key = ANYBODY, headers: Mapping[str, str] | None = None,
        arrived: float = 0.0, deadline: float | None = None, priority: int | None = None, prompt_tokens: int = 0,
        degrade: bool = True, exactly_once: bool = False, trace: str = "",
    ) -> None:  # fmt: skip
        self.id = id
        self.path = path
        self.body = body
        self.view = view
        self.key = key
        self.headers: Mapping[str, str] = {} if headers is None else headers
        self.arrived = arrived
        self.deadline = deadline
        self.priority = key.priority if priority is None else priority
        self.prompt_tokens = prompt_tokens
        limit = view.max_completion_tokens
        self.output_tokens = view.max_tokens if limit is None else limit
        self.degrade = degrade
        self.exactly_once = exactly_once
        self.trace = trace

    @property
    def streams(self) -> bool:
        """Whether the client wants server-sent events."""
        return bool(self.view.stream)


class UpstreamRequest(msgspec.Struct, frozen=True):
    """What to send to a worker. The model name inside ``body`` is the client's; the attempt puts the worker's in."""

    path: str
    body: bytes


class Refusal(msgspec.Struct, frozen=True):
    """Why a stream cannot go on elsewhere. ``code`` is a label of a metric, ``reason`` a sentence for the client."""

    code: str
    reason: str


class Relay(Protocol):
    """What stands between the bytes of a worker and the client, for one answer with status 200.

    Bytes of several workers may pass through one relay, one after the other. A relay never raises on what a worker
    sends: what it cannot read it forwards (plain) or reports as ``failure``.
    """

    finished: bool
    """The answer is complete ([DONE] passed, or a body of known length); what follows is not needed."""
    failure: str | None
    """An error event came inside the stream. It is not forwarded; the text is the worker's."""

    def request(self) -> UpstreamRequest:
        """The first request."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the body, in any cut. Returns what may go to the client now, whole events only."""
        ...

    def end(self) -> bytes:
        """The worker closed an answer cleanly. Returns what is left to forward; sets ``failure`` if it was cut."""
        ...

    def closing(self) -> bytes | None:
        """The end of an answer that was complete when its worker broke; None where text is missing."""
        ...

    def resume_request(self) -> UpstreamRequest | Refusal:
        """How another worker of the same model and precision goes on behind what was forwarded."""
        ...

    def resumed(self) -> None:
        """The other worker answered 200: the bytes that follow are its."""
        ...

    def error_event(self, refusal: Refusal, call_id: str) -> bytes:
        """The event (with its [DONE]) that ends a stream which cannot go on: never a silent cut."""
        ...


OpenRelay = Callable[[Call, "Worker"], Relay]


class Ticket(Protocol):
    """Room that one request holds on a worker."""

    def release(self) -> None:
        """Give it back; more than once does no harm."""
        ...


class Refused(Exception):
    """The request is not admitted. ``retry_after`` in seconds; ``code`` is a label of a metric."""

    def __init__(self, code: str, reason: str, retry_after: float, status: int = 429) -> None:
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        self.status = status
        super().__init__(reason)


class Admission(Protocol):
    """Who may start now, on which worker.

    The load that an engine reports is in ``worker.load`` (KV usage, running, waiting), memory of its GPUs in
    ``worker.gpu_memory_ratio``; both None where unknown. ``worker.spec`` holds what the configuration says of limits.
    """

    def has_room(self, call: Call, worker: Worker) -> bool:
        """Whether ``worker`` would take this call at once. Cheap: asked for each candidate of each request."""
        ...

    async def admit(self, call: Call, workers: Sequence[Worker]) -> tuple[Worker, Ticket]:
        """Room on the first of ``workers`` (best first) that has some; waits in the queue while none has.

        Raises:
            Refused: the queue is full, the deadline passed, or load is shed.
        """
        ...

    def try_admit(self, call: Call, worker: Worker) -> Ticket | None:
        """Room on this worker now, past the queue: for retries and continuations of admitted calls."""
        ...


class Clock(Protocol):
    """Time. The virtual one of a simulation has the same shape."""

    def now(self) -> float:
        """Seconds, monotonic."""
        ...

    def wall(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
