"""Continuation that costs nothing until a stream breaks.

The first worker's events are forwarded with one pass of a pattern that takes the token ids out; the bytes are kept and
only read, event by event, by a ``Continuation`` when the answer has to go on elsewhere, says something unusual, or gets
longer than what is kept. Most answers never do.
"""

from __future__ import annotations

import re

from rocsteady.gateway.continuation import Continuation
from rocsteady.gateway.continuation_events import DONE_EVENT, may_hold_error
from rocsteady.gateway.interfaces import Refusal, UpstreamRequest

MOST_KEPT = 32_768
"""Bytes kept of one answer (some 150 events of vLLM): 64 MiB for 2,000 streams. A longer answer is read as it comes."""
_CLOSE = re.compile(rb'token_ids":\[[0-9,\s]*\]')
_SPACED = re.compile(rb'token_ids": \[[0-9,\s]*\]')
"""Two patterns that begin with plain text: one with a choice in front costs five times as much."""


def without_ids(data: bytes) -> bytes:
    """The same events with the token ids replaced by null."""
    out, found = _CLOSE.subn(b'token_ids":null', data)
    return out if found else _SPACED.sub(b'token_ids": null', data)


class LazyContinuation:
    """The relay of one streamed answer (``interfaces.Relay``)."""

    __slots__ = ("_continuation", "_kept", "_request", "_rest", "_size", "_strip", "failure", "finished")

    def __init__(self, path: str, body: bytes) -> None:
        self._continuation = Continuation(path, body)
        self._request = self._continuation.request()
        self._strip = self._request.body is not body
        self._kept: list[bytes] | None = []
        self._size = 0
        self._rest = b""
        self.finished = False
        self.failure: str | None = None

    def request(self) -> UpstreamRequest:
        """The first request."""
        return self._request

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the body."""
        if self._kept is None:
            return self._through(data)
        if self._rest:
            data = self._rest + data
            self._rest = b""
        if not data.endswith(b"\n\n"):
            stop = data.rfind(b"\n\n") + 2
            if b"\r\n" in data or len(data) - stop > MOST_KEPT:
                return self._read(data)
            if stop < 2:
                self._rest = data
                return b""
            data, self._rest = data[:stop], data[stop:]
        self._size += len(data)
        if (
            self._size > MOST_KEPT
            or (b'error"' in data and may_hold_error(data))
            or b"\r\n" in data
            or not data.startswith(b"data: ")
        ):
            return self._read(data)
        self._kept.append(data)
        if data.endswith(DONE_EVENT):
            self.finished = True
        return without_ids(data) if self._strip else data

    def _read(self, data: bytes) -> bytes:
        """From here on event by event."""
        rest, self._rest = self._rest, b""
        self._catch_up()
        return self._through(data + rest)

    def _catch_up(self) -> None:
        kept, self._kept = self._kept, None
        if kept:
            self._continuation.feed(b"".join(kept))  # what comes out is with the client already
        rest, self._rest = self._rest, b""
        if rest:
            self._continuation.feed(rest)

    def _through(self, data: bytes) -> bytes:
        out = self._continuation.feed(data)
        self._take_over()
        return out

    def end(self) -> bytes:
        """The worker closed the answer."""
        self._catch_up()
        out = self._continuation.end()
        self._take_over()
        return out

    def closing(self) -> bytes | None:
        """The end of an answer that was complete when its worker broke."""
        self._catch_up()
        out = self._continuation.closing()
        self._take_over()
        return out

    def resume_request(self) -> UpstreamRequest | Refusal:
        """How another worker goes on."""
        self._catch_up()
        return self._continuation.resume_request()

    def resumed(self) -> None:
        """The other worker answered."""
        self._continuation.resumed()
        self._take_over()

    def _take_over(self) -> None:
        self.finished, self.failure = self._continuation.finished, self._continuation.failure

    def error_event(self, refusal: Refusal, call_id: str) -> bytes:
        """How a stream ends that cannot go on."""
        return self._continuation.error_event(refusal, call_id)
