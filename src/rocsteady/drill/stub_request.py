"""Requests of vLLM's OpenAI server, as far as the stub knows them: parsing and vLLM's refusals."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.drill.stub_tokens import BOS, encode


class Refused(Exception):
    """A request is answered with an error. ``code`` is the HTTP status."""

    def __init__(self, code: int, message: str, param: str | None = None) -> None:
        self.code = code
        self.message = message
        self.param = param
        super().__init__(message)

    def body(self) -> bytes:
        """The error document as vLLM 0.32 writes it."""
        kind = {400: "BadRequestError", 404: "NotFoundError"}.get(self.code, "InternalServerError")
        return error_body(self.message, kind, self.param, self.code)


def error_body(message: str, kind: str, param: str | None, code: int) -> bytes:
    """``{"error": {...}}``."""
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": param, "code": code}})


class StreamOptions(msgspec.Struct):
    """Which usage a stream carries."""

    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


class Body(msgspec.Struct, kw_only=True):
    """Fields that the stub reads; others are ignored, as vLLM does with unknown ones."""

    model: str | None = None
    prompt: str | list[Any] = ""
    messages: list[dict[str, Any]] = []
    max_tokens: int | None = -1
    max_completion_tokens: int | None = None
    n: int | None = 1
    temperature: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    min_tokens: int = 0
    skip_special_tokens: bool = True
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    echo: bool | None = False
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    return_token_ids: bool | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One generation to run."""

    chat: bool
    body: Body
    prompt: tuple[int, ...]
    max_tokens: int
    stops: tuple[str, ...]
    stop_ids: frozenset[int]
    usage: bool
    continuous_usage: bool


def parse(data: bytes, chat: bool, served: str, max_model_len: int) -> Request:
    """A request, or the refusal vLLM would give.

    Raises:
        Refused: 400 for what is malformed or too long, 404 for a model that is not served.
    """
    try:
        body = msgspec.json.decode(data, type=Body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"1 validation error: {error}") from None
    if body.model not in (None, "", served):
        raise Refused(404, f"The model `{body.model}` does not exist. Valid aliases: {served}.", "model")
    prompt = tuple(chat_prompt(body.messages)) if chat else tuple(completion_prompt(body.prompt))
    if not prompt:
        raise Refused(400, "Either prompt or prompt_embeds must be provided and non-empty.", "prompt")
    limit = _limit(body, chat, len(prompt), max_model_len)
    stop = body.stop or []
    options = body.stream_options or StreamOptions()
    return Request(
        chat=chat, body=body, prompt=prompt, max_tokens=limit,
        stops=tuple(s for s in ([stop] if isinstance(stop, str) else stop) if s),
        stop_ids=frozenset(body.stop_token_ids or ()),
        usage=bool(options.include_usage), continuous_usage=bool(options.continuous_usage_stats),
    )  # fmt: skip


def _limit(body: Body, chat: bool, prompt: int, max_model_len: int) -> int:
    """Output tokens: what was asked for, else 16 for completions and all that fits for chats."""
    asked = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
    if asked == -1:
        asked = None if chat else 16
    if asked is not None and asked < 1:
        raise Refused(400, f"max_tokens must be at least 1, got {asked}. (parameter=max_tokens, value={asked})", "max_tokens")  # fmt: skip
    if asked is not None and asked > max_model_len:
        raise Refused(
            400, f"max_tokens={asked} cannot be greater than max_model_len={max_model_len}. Please request fewer output "
            f"tokens. (parameter=max_tokens, value={asked})", "max_tokens",
        )  # fmt: skip
    room = max_model_len - prompt
    if room < 1:
        raise Refused(
            400, f"This model's maximum context length is {max_model_len} tokens. However, your request has {prompt} "
            "input tokens. Please reduce the length of the input messages.", "input_tokens",
        )  # fmt: skip
    return room if asked is None else min(asked, room)


def completion_prompt(prompt: str | list[Any]) -> list[int]:
    """Token ids of a text, of token ids, or of a list with one of them.

    Raises:
        Refused: several prompts; the stub runs one.
    """
    if isinstance(prompt, str):
        return encode(prompt)
    if prompt and all(isinstance(t, int) and not isinstance(t, bool) for t in prompt):
        return [int(t) for t in prompt]
    if len(prompt) == 1 and isinstance(prompt[0], str | list):
        return completion_prompt(prompt[0])
    if not prompt:
        return []
    raise Refused(400, "the stub takes one prompt", "prompt")


def chat_prompt(messages: list[dict[str, Any]]) -> list[int]:
    """The rendered prompt of a chat: ``<s>role: text`` a line, then ``assistant: ``."""
    if not messages:
        raise Refused(400, "messages must not be empty", "messages")
    ids: list[int] = []
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        ids += [BOS, *encode(f"{message.get('role', 'user')}: {content}\n")]
    return ids + encode("assistant: ")
