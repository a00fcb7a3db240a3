"""Server-sent events of a worker: cut apart, recognised, and rewritten for the client of a continued stream."""

from __future__ import annotations

import re
from typing import Any

import msgspec

DONE = b"[DONE]"
DONE_EVENT = b"data: [DONE]\n\n"
_IDS = re.compile(rb'("(?:prompt_)?token_ids":\s*)\[[0-9,\s]*\]')
"""A quote inside a JSON text is escaped, so that this never matches inside the text of an answer."""
_KEY = b'token_ids":['
"""The same as engines write it: without spaces."""
_END = re.compile(rb"\r?\n\r?\n")


class Delta(msgspec.Struct):
    """The part of a chat's choice that we read."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[msgspec.Raw] | None = None
    function_call: msgspec.Raw | None = None


class Choice(msgspec.Struct, gc=False):
    """The part of a choice that we read, of both kinds of stream."""

    index: int = 0
    text: str | None = None
    delta: Delta | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None


class Chunk(msgspec.Struct):
    """The part of an event that we read."""

    id: str = ""
    created: int = 0
    model: str = ""
    choices: list[Choice] = []
    prompt_token_ids: list[int] | None = None


class WorkerError(msgspec.Struct, frozen=True):
    """An error that a worker sent inside a stream."""

    message: str
    code: int | None

    @property
    def clients(self) -> bool:
        """Whether it is the client's: a 4xx other than a timeout or a rate limit."""
        return self.code is not None and 400 <= self.code < 500 and self.code not in (408, 429)


_CHUNK = msgspec.json.Decoder(Chunk)


def split(data: bytes) -> tuple[list[bytes], bytes]:
    """The complete events, each with its blank line, and what is left of the last one."""
    if b"\r" not in data:
        parts = data.split(b"\n\n")
        rest = parts.pop()
        return [part + b"\n\n" for part in parts], rest
    events: list[bytes] = []
    start = 0
    for end in _END.finditer(data):
        events.append(data[start : end.end()])
        start = end.end()
    return events, data[start:]


def complete(data: bytes) -> int:
    """Where the last complete event ends; 0 where none does. (Fast: no event is looked at.)"""
    end = data.rfind(b"\n\n") + 2
    crlf = data.rfind(b"\r\n\r\n") + 4
    return max(end if end > 1 else 0, crlf if crlf > 3 else 0)


def payload(event: bytes) -> bytes | None:
    """The data of an event; None for a comment or an event without data."""
    if event.startswith(b"data: ") and event.find(b"\n") == len(event) - 2:
        return event[6:-2]
    lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def may_hold_error(data: bytes) -> bool:
    """Whether an event of these bytes may be an error. Cheap: quotes inside an answer's text are escaped."""
    return b'"error"' in data


def error_in(data: bytes) -> WorkerError | None:
    """The error that the data of an event is; None for anything else.

    vLLM 0.32 and SGLang: ``{"error": {"message", "code"}}``; vLLM before 0.10: ``{"object": "error", "message", "code"}``.
    """
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(document, dict):
        return None
    inner = document.get("error")
    if inner is None and document.get("object") == "error":
        inner = document
    if inner is None:
        return None
    if not isinstance(inner, dict):
        return WorkerError(str(inner), None)
    code = inner.get("code")
    return WorkerError(str(inner.get("message", "")), code if isinstance(code, int) else None)


def read_chunk(data: bytes) -> Chunk | None:
    """An event of an answer; None where it is malformed."""
    try:
        return _CHUNK.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def without_ids(data: bytes) -> bytes:
    """The same bytes with the token ids replaced by null, as they are where nobody asked for them."""
    at = data.find(_KEY)
    while at >= 0:
        end = data.find(b"]", at)
        if end < 0:
            break
        data = b"%bnull%b" % (data[: at + len(_KEY) - 1], data[end + 1 :])
        at = data.find(_KEY, at)
    return _IDS.sub(rb"\1null", data) if b'token_ids": ' in data else data


def event(document: Any) -> bytes:
    """One event."""
    return b"data: " + msgspec.json.encode(document) + b"\n\n"
