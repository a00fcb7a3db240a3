"""A streamed answer that survives its worker: the relay between the events of workers and one client.

::

    relay = Continuation(call.path, call.body)
    send relay.request(); feed what comes; forward what feed returns
    the worker breaks  ──> relay.closing()          the answer was complete, only its end got lost
                      └──> relay.resume_request()   token ids for another worker of the same model and precision
                           relay.resumed(); feed what comes
                      └──> relay.error_event()      it cannot go on: said so in the stream

The first worker's events are forwarded as they are, without the token ids that only we asked for. A resumed answer comes
from ``/v1/completions``, whatever the client asked for, and is written in the form of the first one: its id, its kind of
chunk, the sum of the tokens.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.gateway import continuation_events as events
from rocsteady.gateway.continuation_events import Choice, Chunk
from rocsteady.gateway.continuation_progress import Progress, Seam
from rocsteady.gateway.continuation_rules import CARRIED, CHAT, COMPLETIONS, NotContinuable, Terms, terms
from rocsteady.gateway.interfaces import Refusal, UpstreamRequest
from rocsteady.gateway.plain import error_event

LARGEST_EVENT = 16 * 2**20
"""An event above this is no token: what sends it is not a worker, and we do not gather it in memory."""


class Head(msgspec.Struct, frozen=True):
    """What the client's chunks have in common."""

    id: str
    created: int
    model: str


class Continuation:
    """The relay of one streamed answer (``interfaces.Relay``). Pure: no clock, no socket."""

    def __init__(self, path: str, body: bytes) -> None:
        self.finished = False
        self.failure: str | None = None
        self.continued = 0
        """How many times the answer went on elsewhere."""
        self._path, self._body = path, body
        self._fields = read_fields(body)
        judged = terms(path, self._fields)
        self._terms: Terms | None = judged if isinstance(judged, Terms) else None
        self._unfit = judged.reason if isinstance(judged, NotContinuable) else ""
        self._unfit_code = "request" if self._unfit else ""
        self._rest = b""
        self._head: Head | None = None
        self._prompt: list[int] | None = None
        self._last: Choice | None = None
        self._usage_sent = False
        self._diverged = False
        self._on_other = False
        self._seam = Seam(0, 0)
        t = self._terms
        self._progress = Progress(t.held, t.lookback, t.max_tokens, t.wants_ids) if t else Progress(0, 0, None, False)
        self._strip = t is not None and not t.wants_ids

    @property
    def unfit(self) -> str:
        """Why this answer could not go on elsewhere; '' where it could."""
        return self._unfit

    def request(self) -> UpstreamRequest:
        """The first request: the client's, and token ids are asked for where the answer may be continued."""
        if not self._strip:
            return UpstreamRequest(self._path, self._body)
        if "return_token_ids" in self._fields:
            fields = msgspec.json.decode(self._body, type=dict[str, msgspec.Raw])
            return UpstreamRequest(self._path, msgspec.json.encode({**fields, "return_token_ids": True}))
        start = self._body.index(b"{") + 1
        return UpstreamRequest(self._path, self._body[:start] + b'"return_token_ids":true,' + self._body[start:])

    def feed(self, data: bytes) -> bytes:
        """Bytes of the worker's answer; returns the whole events that the client may have."""
        if self.finished or self.failure is not None:
            return b""
        if self._rest:
            data = self._rest + data
        suspicious = events.may_hold_error(data)
        if self._terms is None and not suspicious:
            end = events.complete(data)
            self._rest = data[end:]
            if data[:end].endswith(events.DONE_EVENT):
                self.finished = True
            return data[:end]
        whole, self._rest = events.split(data)
        if len(self._rest) > LARGEST_EVENT:
            self.failure = "an event has no end"
            return b""
        out: list[bytes] = []
        for event in whole:
            out.append(self._event(event, suspicious))
            if self.finished or self.failure is not None:
                break
        return b"".join(out)

    def end(self) -> bytes:
        """The worker closed the answer. Without [DONE] it was cut, however properly the connection ended."""
        if not self.finished and self.failure is None:
            self.failure = "the stream ended without [DONE]"
        return b""

    def closing(self) -> bytes | None:
        """The end of an answer that was complete when its worker broke; None where text is missing."""
        if self._last is None or self._terms is None or self.finished or self._diverged:
            return None
        out = b""
        if self._terms.wants_usage and not self._usage_sent:
            out = events.event({**self._envelope(), "choices": [], "usage": self._counts(len(self._progress.ids))})
        self.finished, self.failure = True, None
        return out + events.DONE_EVENT

    def resume_request(self) -> UpstreamRequest | Refusal:
        """What another worker is asked. May be called again where that worker answered nothing."""
        if self._terms is None:
            return Refusal(self._unfit_code, self._unfit)
        if self._diverged:
            return Refusal("diverged", "another worker gave another text for what was sent already")
        if self._unfit:
            return Refusal(self._unfit_code, self._unfit)
        if self._prompt is None:
            return Refusal("no-token-ids", "the worker sends no token ids")
        seam = self._progress.seam()
        if not self._terms.greedy and self._progress.seen_after(seam):
            return Refusal("sampled", "the answer is sampled, and part of what was sent would have to be drawn again")
        return UpstreamRequest(COMPLETIONS, self._resume_body(seam))

    def resumed(self) -> None:
        """The other worker has answered 200; what is fed from now on comes from it."""
        self._seam = self._progress.rewind()
        self._rest = b""
        self.failure = None
        self._on_other = True
        self.continued += 1

    def error_event(self, refusal: Refusal, call_id: str) -> bytes:
        """The events that end a stream which cannot go on."""
        return error_event(refusal, call_id)

    def _event(self, event: bytes, suspicious: bool) -> bytes:
        data = events.payload(event)
        if data is None:
            return event
        if data == events.DONE:
            if self._on_other and self._progress.ends_early():
                return self._diverge()
            self.finished = True
            return event
        if suspicious and (error := events.error_in(data)) is not None:
            if error.clients and not self._on_other:
                return event
            self.failure = error.message or "error event"
            return b""
        if self._terms is None:
            return event
        chunk = events.read_chunk(data)
        if chunk is None:
            return self._unreadable(event)
        return self._other(chunk, data) if self._on_other else self._first(chunk, event)

    def _first(self, chunk: Chunk, event: bytes) -> bytes:
        """An event of the first worker: forwarded as it is, less the ids."""
        if self._head is None:
            self._head = Head(chunk.id, chunk.created, chunk.model)
        prompt = chunk.prompt_token_ids
        if not chunk.choices:
            self._usage_sent = True
        for choice in chunk.choices:
            prompt = choice.prompt_token_ids or prompt
            self._judge_choice(choice)
            self._progress.add(text_of(choice), choice.token_ids or [])
            if choice.finish_reason is not None:
                self._last = choice
        if prompt is not None and self._prompt is None:
            self._prompt = prompt
        return events.without_ids(event) if self._strip else event

    def _judge_choice(self, choice: Choice) -> None:
        delta = choice.delta
        if choice.index:
            self._unfit, self._unfit_code = "the answer has several choices", "choices"
        elif delta is not None and (delta.reasoning or delta.reasoning_content):
            self._unfit, self._unfit_code = "the worker parses the text into reasoning", "reasoning"
        elif delta is not None and (delta.tool_calls or delta.function_call):
            self._unfit, self._unfit_code = "the worker parses the text into tool calls", "tools"
        elif choice.token_ids is None and text_of(choice):
            self._unfit, self._unfit_code = "the worker sends no token ids", "no-token-ids"

    def _other(self, chunk: Chunk, data: bytes) -> bytes:
        """An event of a later worker: what is new of it, in the form of the first answer."""
        assert self._terms is not None
        document = msgspec.json.decode(data)
        out = b""
        for choice in chunk.choices[:1]:
            news = self._progress.add(choice.text or "", choice.token_ids or [])
            if news is None or (choice.finish_reason is not None and self._progress.ends_early()):
                return self._diverge()
            if choice.finish_reason is not None:
                self._last = choice
            if news.text or news.ids or choice.finish_reason is not None:
                given = document["choices"][0]
                out = events.event(self._chunk(given, news.text, news.ids, len(self._progress.ids)))
        if not chunk.choices and self._terms.wants_usage:
            self._usage_sent = True
            completion = (document.get("usage") or {}).get("completion_tokens")
            count = self._seam.tokens + completion if isinstance(completion, int) else len(self._progress.ids)
            document |= {**self._envelope(), "choices": [], "usage": self._counts(count)}
            out = events.event(document)
        return out

    def _chunk(self, given: dict[str, Any], text: str, ids: list[int], count: int) -> dict[str, Any]:
        assert self._terms is not None
        shown = ids if self._terms.wants_ids else None
        choice: dict[str, Any] = {"index": 0}
        if self._terms.chat:
            choice |= {"delta": {"content": text}, "logprobs": None, "finish_reason": given.get("finish_reason")}
            if given.get("finish_reason") is not None:
                choice["stop_reason"] = given.get("stop_reason")
            choice["token_ids"] = shown
        else:
            choice |= {
                "text": text, "logprobs": None, "finish_reason": given.get("finish_reason"),
                "stop_reason": given.get("stop_reason"), "prompt_token_ids": None, "token_ids": shown,
            }  # fmt: skip
        out = {**self._envelope(), "choices": [choice]}
        if self._terms.continuous_usage:
            out["usage"] = self._counts(count)
        return out

    def _envelope(self) -> dict[str, Any]:
        head = self._head or Head("", 0, "")
        kind = "chat.completion.chunk" if self._terms is not None and self._terms.chat else "text_completion"
        return {"id": head.id, "object": kind, "created": head.created, "model": head.model}

    def _counts(self, completion: int) -> dict[str, int]:
        prompt = len(self._prompt or ())
        return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}

    def _resume_body(self, seam: Seam) -> bytes:
        assert self._terms is not None
        body: dict[str, Any] = {k: v for k, v in self._fields.items() if k in CARRIED and v is not None}
        most = self._terms.max_tokens
        body |= {
            "prompt": [*(self._prompt or ()), *self._progress.ids[: seam.tokens]],
            "max_tokens": None if most is None else most - seam.tokens,
            "stream": True,
            "return_token_ids": True,
        }
        if self._terms.min_tokens > seam.tokens:
            body["min_tokens"] = self._terms.min_tokens - seam.tokens
        if self._terms.wants_usage:
            body["stream_options"] = {"include_usage": True}
        return msgspec.json.encode(body)

    def _diverge(self) -> bytes:
        self._diverged = True
        self.failure = "another worker gave another text for what was sent already"
        return b""

    def _unreadable(self, event: bytes) -> bytes:
        """Not what a worker of ours sends. Before the seam it is the client's to judge, after it nobody can."""
        if self._on_other:
            self.failure = "an event that cannot be read"
            return b""
        self._unfit, self._unfit_code = "the worker sent an event that cannot be read", "unreadable"
        return event


def text_of(choice: Choice) -> str:
    """The text of a choice of either kind of stream."""
    if choice.delta is not None:
        return choice.delta.content or ""
    return choice.text or ""


def read_fields(body: bytes) -> dict[str, Any]:
    """The fields of a request, decoded as far as they are judged: a long prompt or chat of text is not unpacked.

    What is no JSON object has no fields; the worker refuses it.
    """
    try:
        raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        fields: dict[str, Any] = {}
        for key, value in raw.items():
            text = bytes(value)
            if key == "prompt" and text.startswith(b'"'):
                fields[key] = ""
            elif key == "messages" and b'"type"' not in text:
                fields[key] = []
            else:
                fields[key] = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return fields


__all__ = ["CHAT", "COMPLETIONS", "Continuation", "read_fields", "text_of"]
