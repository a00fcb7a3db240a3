"""One streamed request, timed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec

from rocsteady.bench.lengths import Ask
from rocsteady.bench.samples import Failure, Sample

STAGE = "X-Rocsteady-Stage"
SHOWN = 200


class Target(msgspec.Struct, kw_only=True, frozen=True):
    """Where and how to ask.

    endpoint: ``completions`` or ``chat``. first_token, between, total: time limits in seconds.
    fixed_output: ask for exactly the wanted number of tokens (``ignore_eos`` and ``min_tokens``, extensions of vLLM).
    """

    url: str
    model: str
    endpoint: str = "completions"
    key: str | None = None
    first_token: float = 60.0
    between: float = 30.0
    total: float = 600.0
    fixed_output: bool = False
    temperature: float = 0.0

    @property
    def address(self) -> str:
        """Address of the endpoint."""
        path = "/v1/chat/completions" if self.endpoint == "chat" else "/v1/completions"
        return self.url.rstrip("/") + path

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request."""
        body: dict[str, Any] = {
            "model": self.model, "max_tokens": ask.output_tokens, "stream": True, "temperature": self.temperature,
            "stream_options": {"include_usage": True},
        }  # fmt: skip
        if self.endpoint == "chat":
            body["messages"] = [{"role": "user", "content": ask.prompt}]
        else:
            body["prompt"] = ask.prompt
        if self.fixed_output:
            body |= {"ignore_eos": True, "min_tokens": ask.output_tokens}
        return body


class Problem(Exception):
    """A request failed."""

    def __init__(self, failure: Failure, detail: str) -> None:
        self.failure = failure
        self.detail = detail
        super().__init__(detail)


async def ask_once(
    session: aiohttp.ClientSession, target: Target, ask: Ask, due: float, clock: Callable[[], float] = time.monotonic
) -> Sample:
    """Make one request and time it. ``clock``: seconds after the start of the run. Never raises for a failed request."""
    sample = Sample(due=due, sent=clock(), ended=0.0, wanted_output=ask.output_tokens)
    headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}
    try:
        async with asyncio.timeout(target.total):
            async with session.post(target.address, json=target.body(ask), headers=headers) as answer:
                sample.stage = answer.headers.get(STAGE)
                if answer.status != 200:
                    raise refusal(answer.status, (await answer.content.read(SHOWN)).decode(errors="replace"))
                await _stream(answer, sample, target, clock)
    except Problem as problem:
        sample.failure, sample.detail = problem.failure, problem.detail
    except TimeoutError:
        sample.failure, sample.detail = "timeout-total", f"not answered within {target.total:g} s"
    except aiohttp.ClientConnectorError as error:
        sample.failure, sample.detail = "refused", str(error)[:SHOWN]
    except (aiohttp.ClientError, ConnectionError, OSError) as error:
        cut = sample.first is not None
        sample.failure, sample.detail = ("stream-cut" if cut else "refused"), f"{type(error).__name__}: {error}"[:SHOWN]
    sample.ended = clock()
    return sample


def refusal(status: int, body: str) -> Problem:
    """The failure of an HTTP status."""
    kind: Failure = "rate-limited" if status == 429 else "client-error" if status < 500 else "server-error"
    return Problem(kind, f"HTTP {status}: {' '.join(body.split())[:SHOWN]}")


async def _stream(answer: aiohttp.ClientResponse, sample: Sample, target: Target, clock: Callable[[], float]) -> None:
    done = False
    while True:
        wait = target.first_token if sample.first is None else target.between
        try:
            async with asyncio.timeout(wait):
                line = await answer.content.readline()
        except TimeoutError:
            kind: Failure = "timeout-first-token" if sample.first is None else "timeout-between-tokens"
            raise Problem(kind, f"nothing for {wait:g} s") from None
        except ValueError as error:
            raise Problem("malformed", str(error)[:SHOWN]) from error
        if not line:
            break
        if not line.startswith(b"data:"):
            if line.startswith(b"event: error"):
                raise Problem("stream-error", "error event")
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            done = True
            break
        take_event(data, sample, clock())
    if not done and sample.finish is None:
        raise Problem("stream-cut", "the stream ended before its end mark")
    if not done:
        raise Problem("stream-cut", "no [DONE] behind the last event")


def take_event(data: bytes, sample: Sample, now: float) -> None:
    """Take one event into the sample.

    Raises:
        Problem: it is an error event, or no JSON.
    """
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Problem("malformed", str(error)[:SHOWN]) from error
    if not isinstance(event, dict):
        raise Problem("malformed", "an event that is no object")
    if event.get("error") is not None or event.get("object") == "error":
        raise Problem("stream-error", json.dumps(event.get("error", event))[:SHOWN])
    usage = event.get("usage")
    if isinstance(usage, dict):
        sample.input_tokens = _number(usage.get("prompt_tokens"), sample.input_tokens)
        sample.output_tokens = _number(usage.get("completion_tokens"), sample.output_tokens)
    for choice in event.get("choices") or ():
        if not isinstance(choice, dict):
            continue
        sample.finish = choice.get("finish_reason") or sample.finish
        delta = choice.get("delta")
        text = choice.get("text") if delta is None else None
        if isinstance(delta, dict):
            text = delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
        if text:
            if sample.first is None:
                sample.first = now
            elif sample.last is not None:
                sample.gaps.append(now - sample.last)
            sample.last = now


def _number(value: object, known: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else known
