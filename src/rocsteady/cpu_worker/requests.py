"""Requests that the CPU worker takes, and clear refusals of what it cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rocsteady.cpu_worker.executor import Executor, Sampling, Unfit

COMPLETION_DEFAULT = 16
"""OpenAI's default of ``max_tokens`` for completions."""


class BadRequest(Exception):
    """The request is answered with 400 (or ``status``)."""

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        self.message, self.param, self.status = message, param, status
        super().__init__(message)

    def body(self) -> bytes:
        """The error document of OpenAI's API."""
        kind = {400: "BadRequestError", 404: "NotFoundError", 429: "RateLimitError"}.get(
            self.status, "InternalServerError"
        )
        return msgspec.json.encode(
            {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.status}}
        )


class StreamOptions(msgspec.Struct):
    """Which usage a stream carries."""

    include_usage: bool | None = False


class Body(msgspec.Struct, kw_only=True):
    """The fields of both routes that are looked at."""

    model: str | None = None
    prompt: str | list[int | str] | None = None
    messages: list[dict[str, Any]] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    stop: str | list[str] | None = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    return_token_ids: bool | None = False
    n: int | None = 1
    best_of: int | None = 1
    echo: bool | None = False
    suffix: str | None = None
    logprobs: Any = None
    tools: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One generation. ``capped``: the client wanted more tokens than are given."""

    chat: bool
    prompt: tuple[int, ...]
    most: int
    capped: bool
    sampling: Sampling
    stops: tuple[str, ...]
    include_stop: bool
    ignore_eos: bool
    stream: bool
    usage: bool
    with_ids: bool


def parse(data: bytes, chat: bool, executor: Executor, most_output: int) -> Wanted:
    """A request that can be served.

    Raises:
        BadRequest: it is malformed, too long, for another model, or wants what a CPU rung does not do.
    """
    try:
        body = msgspec.json.decode(data, type=Body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"malformed request: {error}") from None
    about = executor.about
    if body.model not in (None, "", about.model):
        raise BadRequest(f"The model `{body.model}` does not exist. Valid: {about.model}.", "model", 404)
    _refuse(body)
    prompt = tuple(_prompt(body, chat, executor))
    room = about.context - len(prompt)
    if not prompt or room < 1:
        size = f"{len(prompt)} input tokens, and the context length is {about.context}"
        raise BadRequest(f"This request has {size}." if prompt else "The prompt is empty.", "prompt")
    asked = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
    if asked is not None and asked < 1:
        raise BadRequest(f"max_tokens must be at least 1, got {asked}.", "max_tokens")
    if asked is None and not chat:
        asked = COMPLETION_DEFAULT
    most = min(room, most_output, asked if asked is not None else room)
    stop = body.stop or []
    return Wanted(
        chat=chat, prompt=prompt, most=most, capped=(asked is None or asked > most) and most == most_output,
        sampling=_sampling(body), stops=tuple([stop] if isinstance(stop, str) else stop),
        include_stop=body.include_stop_str_in_output, ignore_eos=body.ignore_eos, stream=bool(body.stream),
        usage=bool(body.stream_options and body.stream_options.include_usage), with_ids=bool(body.return_token_ids),
    )  # fmt: skip


def _refuse(body: Body) -> None:
    """What is not served is said, and never dropped in silence."""
    wrong: Mapping[str, bool] = {
        "n": (body.n or 1) != 1 or (body.best_of or 1) != 1,
        "tools": bool(body.tools),
        "response_format": body.response_format is not None and body.response_format.get("type") != "text",
        "logprobs": body.logprobs not in (None, False),
        "echo": bool(body.echo),
        "suffix": bool(body.suffix),
        "presence_penalty": bool(body.presence_penalty),
        "frequency_penalty": bool(body.frequency_penalty),
        "logit_bias": bool(body.logit_bias),
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise BadRequest(f"the CPU worker does not do this: {name}", name)


def _prompt(body: Body, chat: bool, executor: Executor) -> list[int]:
    try:
        if chat:
            if not body.messages:
                raise BadRequest("messages must not be empty", "messages")
            return executor.chat_prompt([_plain(m) for m in body.messages])
        prompt = body.prompt
        if isinstance(prompt, str):
            return executor.encode(prompt)
        if prompt and all(isinstance(t, int) for t in prompt):
            ids = [int(t) for t in prompt]
            if min(ids) < 0:
                raise BadRequest("token ids must not be negative", "prompt")
            return ids
        if prompt and len(prompt) == 1:
            return executor.encode(str(prompt[0]))
    except Unfit as error:
        raise BadRequest(str(error)) from None
    raise BadRequest("one prompt was wanted: a text or token ids", "prompt")


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message whose content is text."""
    content = message.get("content")
    if isinstance(content, list):
        if any(not isinstance(p, dict) or p.get("type") != "text" for p in content):
            raise BadRequest("the CPU worker takes text only", "messages")
        content = "".join(str(p.get("text", "")) for p in content)
    return {"role": str(message.get("role", "user")), "content": "" if content is None else str(content)}


def _sampling(body: Body) -> Sampling:
    temperature = 1.0 if body.temperature is None else body.temperature
    top_p = 1.0 if body.top_p is None else body.top_p
    repetition = 1.0 if body.repetition_penalty is None else body.repetition_penalty
    if temperature < 0 or not 0 < top_p <= 1 or repetition <= 0:
        raise BadRequest("temperature, top_p or repetition_penalty is out of range")
    return Sampling(
        temperature=temperature, top_p=top_p, top_k=body.top_k, seed=body.seed, repetition_penalty=repetition
    )
