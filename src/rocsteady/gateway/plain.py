"""The relay without continuation: events pass through byte for byte; error events of the engine are caught.

vLLM ends a stream whose engine died with status 200, one ``data: {"error": ...}`` and ``data: [DONE]``. That is a
failure and must not reach the client as an answer.
"""

from __future__ import annotations

import msgspec

from rocsteady.gateway.interfaces import Call, Refusal, UpstreamRequest

MOST_EVENT = 4_194_304
"""Bytes held back while an event has no end; logprobs of long answers stay far below."""


class _Error(msgspec.Struct):
    error: msgspec.Raw = msgspec.Raw()
    choices: msgspec.Raw = msgspec.Raw()


_ERROR = msgspec.json.Decoder(_Error)


def error_text(data: bytes) -> str | None:
    """The error in the payload of an event, None where it is none."""
    try:
        found = _ERROR.decode(data)
    except msgspec.DecodeError:
        return None
    raw = bytes(found.error)
    if not raw or raw == b"null" or bytes(found.choices) not in (b"", b"null", b"[]"):
        return None
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return "error event"
    if isinstance(value, dict):
        value = value.get("message", value)
    return str(value)[:300]


def error_event(refusal: Refusal, call_id: str) -> bytes:
    """The events that end a stream which cannot go on."""
    error = {
        "error": {
            "message": f"the answer was cut off: {refusal.reason}", "type": "stream_interrupted", "param": None,
            "code": refusal.code, "request_id": call_id,
        }
    }  # fmt: skip
    return b"data: " + msgspec.json.encode(error) + b"\n\ndata: [DONE]\n\n"


class PlainRelay:
    """Pass-through; nothing can be resumed."""

    __slots__ = ("_call", "_rest", "failure", "finished")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._rest = b""
        self.finished = False
        self.failure: str | None = None

    def request(self) -> UpstreamRequest:
        """The client's own."""
        return UpstreamRequest(self._call.path, self._call.body)

    def feed(self, data: bytes) -> bytes:
        """Whole events."""
        if self.failure is not None:
            return b""
        if self._rest:
            data = self._rest + data
            self._rest = b""
        if not data.endswith(b"\n\n"):
            stop = max(data.rfind(b"\n\n") + 2, data.rfind(b"\r\n\r\n") + 4)
            if stop < 4 and stop != 2 and not data.startswith(b"\n\n"):
                stop = 0
            if stop <= 1:
                if len(data) > MOST_EVENT:
                    self.failure = "an event without an end"
                    return b""
                self._rest = data
                return b""
            data, self._rest = data[:stop], data[stop:]
        if b'"error"' in data:
            data = self._without_error(data)
        if b"data: [DONE]" in data or b"data:[DONE]" in data:
            self.finished = True
        return data

    def _without_error(self, data: bytes) -> bytes:
        """What stands before the first error event."""
        at = 0
        for line in data.splitlines(keepends=True):
            if line.startswith(b"data:"):
                text = error_text(line[5:].strip())
                if text is not None:
                    self.failure = text
                    return data[:at]
            at += len(line)
        return data

    def end(self) -> bytes:
        """Without [DONE] the answer was cut."""
        if not self.finished and self.failure is None:
            self.failure = "the stream ended without [DONE]"
        return b""

    def closing(self) -> bytes | None:
        """Never: what came is not looked at."""
        return None

    def resume_request(self) -> UpstreamRequest | Refusal:
        """Never."""
        return Refusal("off", self.failure or "the worker broke off, and continuation is off")

    def resumed(self) -> None:
        """Never."""

    def error_event(self, refusal: Refusal, call_id: str) -> bytes:
        """The end of a stream that cannot go on."""
        return error_event(refusal, call_id)
