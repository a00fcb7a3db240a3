"""Streams of the stub worker (synthetic), whole and broken, and what a client reads from them."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from typing import Any

from rocsteady.drill.stub_worker import StubConfig, StubWorker
from rocsteady.gateway.continuation import Continuation
from rocsteady.gateway.interfaces import Refusal, UpstreamRequest

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"


@lru_cache(maxsize=4096)
def answer_of(path: str, body: bytes, interval: int = 1, model: str = "stub") -> bytes:
    """The whole answer of a fresh worker."""

    async def run() -> bytes:
        reply = await StubWorker(StubConfig(stream_interval=interval, model=model), wall=lambda: 1.0).answer(path, body)
        if reply.events is None:
            raise AssertionError(reply.body)
        return b"".join([event async for event in reply.events])

    return asyncio.run(run())


class Seen:
    """What a client made of a stream."""

    def __init__(self, stream: bytes) -> None:
        self.events = [e.removeprefix(b"data: ") for e in stream.split(b"\n\n")[:-1]]
        assert stream.endswith(b"\n\n") or not stream
        self.done = bool(self.events) and self.events[-1] == b"[DONE]"
        self.documents: list[dict[str, Any]] = [json.loads(e) for e in self.events if e != b"[DONE]"]
        self.text, self.finish, self.stop = "", None, None
        self.ids: list[int] = []
        self.usage: dict[str, Any] | None = None
        self.roles = 0
        self.heads: set[tuple[str, str, int, str]] = set()
        self.error: dict[str, Any] | None = None
        for document in self.documents:
            if "error" in document:
                self.error = document["error"]
                continue
            self.heads.add((document["id"], document["object"], document["created"], document["model"]))
            if not document["choices"]:
                self.usage = document["usage"]
            for choice in document["choices"]:
                delta = choice.get("delta", {})
                self.roles += "role" in delta
                self.text += choice.get("text") or delta.get("content") or ""
                self.ids += choice.get("token_ids") or []
                if choice.get("finish_reason"):
                    self.finish, self.stop = choice["finish_reason"], choice.get("stop_reason")

    def same_as(self, other: Seen) -> bool:
        names = ("done", "text", "finish", "stop", "ids", "usage", "roles", "error")
        return all(getattr(self, n) == getattr(other, n) for n in names) and len(self.heads) == 1


def direct(path: str, body: dict[str, Any]) -> Seen:
    """What the client would get from an unbroken worker, without a gateway."""
    return Seen(answer_of(path, json.dumps(body).encode()))


def through(
    path: str, body: dict[str, Any], cuts: list[int], interval: int = 1, piece: int = 1 << 30
) -> tuple[Seen, Continuation, Refusal | None]:
    """The same through a continuation; the n-th worker breaks after ``cuts[n]`` bytes of its answer."""
    relay = Continuation(path, json.dumps(body).encode())
    request: UpstreamRequest | Refusal = relay.request()
    out = b""
    for cut in [*cuts, None]:
        assert isinstance(request, UpstreamRequest)
        answer = answer_of(request.path, request.body, interval)[:cut]
        for start in range(0, len(answer), piece):
            out += relay.feed(answer[start : start + piece])
        if relay.finished:
            break
        if not out:  # nothing was forwarded: an ordinary retry
            relay = Continuation(path, json.dumps(body).encode())
            request = relay.request()
            continue
        if (closing := relay.closing()) is not None:
            out += closing
            break
        request = relay.resume_request()
        if isinstance(request, Refusal):
            out += relay.error_event(request, "id")
            return Seen(out), relay, request
        relay.resumed()
    return Seen(out), relay, None
