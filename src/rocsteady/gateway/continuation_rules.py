"""Which requests may go on elsewhere after the first byte, and which may not, with the reason.

A generation goes on as a new request whose prompt is the old prompt and the tokens so far, both as token ids. That is
truthful where the next token depends on nothing but these ids:

- greedy decoding (``temperature`` 0): the text equals that of an unbroken run.
- sampling without a seed: every later token is drawn from the same distribution as in an unbroken run; what was not shown
  to the client yet may be drawn again.
- a repetition penalty: vLLM applies it to prompt and output alike, so that moving tokens from one to the other changes
  nothing (checked against vLLM 0.32 in ``tests/drill/test_real_continuation.py``).

It is not where the sampler looks at the output alone (presence and frequency penalty, forbidden word sequences), keeps a
state of its own (a seed, a grammar, a beam), or where the answer is more than text (n > 1, tools, logprobs). A field that is
not listed here is refused: nobody has shown that it can be continued.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"

NEUTRAL = frozenset(
    {
        "model", "messages", "prompt", "stream", "stream_options", "user", "max_tokens", "max_completion_tokens", "n",
        "best_of", "temperature", "seed", "stop", "min_tokens", "include_stop_str_in_output", "return_token_ids", "metadata",
        "store", "service_tier", "request_id", "session_id", "safety_identifier", "prompt_cache_key",
        # these shape the prompt, which is continued as the ids it became:
        "chat_template", "chat_template_kwargs", "add_generation_prompt", "continue_final_message", "add_special_tokens",
        "documents", "reasoning_effort",
        # looked at below:
        "tools", "functions", "tool_choice", "function_call", "parallel_tool_calls", "include_reasoning", "response_format",
        "logprobs", "top_logprobs", "echo", "use_beam_search", "presence_penalty", "frequency_penalty", "length_penalty",
        "bad_words",
    }
)  # fmt: skip
"""Fields that are known, and either do not change the tokens or are judged below."""
CARRIED = frozenset(
    {
        "model", "user", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "stop", "stop_token_ids",
        "include_stop_str_in_output", "ignore_eos", "logit_bias", "allowed_token_ids", "skip_special_tokens",
        "spaces_between_special_tokens", "priority", "cache_salt",
    }
)  # fmt: skip
"""Fields that the new request takes over as they are."""
COMPLETION_DEFAULT = 16
"""``max_tokens`` of /v1/completions where it is not given (OpenAI's and vLLM's default); chats have no limit then."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a continuation must know of the request."""

    chat: bool
    greedy: bool
    max_tokens: int | None
    min_tokens: int
    held: int
    """Characters that the worker holds back for stop strings: one less than the longest."""
    lookback: int
    """Characters before the cut that the new worker must see again to find a stop string across it."""
    wants_ids: bool
    wants_usage: bool
    continuous_usage: bool


class NotContinuable(msgspec.Struct, frozen=True):
    """Why a request is not continued."""

    reason: str


def terms(path: str, body: Mapping[str, Any]) -> Terms | NotContinuable:
    """Judge a request before it is sent."""
    if path not in (COMPLETIONS, CHAT):
        return NotContinuable(f"{path} is not continued")
    if not body.get("stream"):
        return NotContinuable("the answer is not streamed: it is asked for again as a whole")
    given = {key: value for key, value in body.items() if value is not None}
    reason = _unknown(given) or _shape(path, given) or _sampling(given)
    if reason:
        return NotContinuable(reason)
    stops = given.get("stop") or []
    longest = max((len(s) for s in ([stops] if isinstance(stops, str) else stops)), default=1)
    lookback = max(0, longest - 1)
    options = given.get("stream_options") or {}
    usage = bool(options.get("include_usage"))
    return Terms(
        chat=path == CHAT,
        greedy=_number(given, "temperature") == 0,
        max_tokens=_max_tokens(path, body, given),
        min_tokens=int(given.get("min_tokens", 0)),
        held=0 if given.get("include_stop_str_in_output") else lookback,
        lookback=lookback,
        wants_ids=bool(given.get("return_token_ids")),
        wants_usage=usage,
        continuous_usage=usage and bool(options.get("continuous_usage_stats")),
    )


def _unknown(given: Mapping[str, Any]) -> str | None:
    unknown = sorted(given.keys() - NEUTRAL - CARRIED)
    return f"{', '.join(unknown)}: not known to be continuable" if unknown else None


def _shape(path: str, given: Mapping[str, Any]) -> str | None:
    if given.get("n", 1) != 1 or given.get("best_of", 1) != 1:
        return "n is above 1"
    if given.get("tools") or given.get("functions") or given.get("tool_choice") not in (None, "none", "auto"):
        return "tools are offered"
    form = given.get("response_format")
    if form is not None and not (isinstance(form, Mapping) and form.get("type") == "text"):
        return "the output is structured: a grammar would start anew"
    if given.get("logprobs") not in (None, False) or given.get("top_logprobs"):
        return "logprobs are asked for"
    if given.get("echo"):
        return "the prompt is echoed"
    if path == COMPLETIONS:
        prompt = given.get("prompt")
        ids = isinstance(prompt, list) and bool(prompt) and all(type(t) is int for t in prompt)
        if not isinstance(prompt, str) and not ids and not (isinstance(prompt, list) and len(prompt) == 1):
            return "there are several prompts"
    else:
        for message in given.get("messages") or ():
            content = message.get("content") if isinstance(message, Mapping) else None
            if isinstance(content, list) and any(
                not isinstance(p, Mapping) or p.get("type") != "text" for p in content
            ):
                return "the prompt is more than text"
    if not _valid_types(given):
        return "malformed"
    return None


def _valid_types(given: Mapping[str, Any]) -> bool:
    """Whether the fields that are computed with have their types; what has not is the worker's to refuse."""
    stop = given.get("stop", [])
    numbers = all(type(given.get(k, 0)) is int for k in ("max_tokens", "max_completion_tokens", "min_tokens"))
    stops = isinstance(stop, str) or (isinstance(stop, list) and all(isinstance(s, str) for s in stop))
    return numbers and stops and isinstance(given.get("stream_options", {}), Mapping)


def _sampling(given: Mapping[str, Any]) -> str | None:
    for key in ("presence_penalty", "frequency_penalty"):
        if given.get(key):
            return f"{key} looks at the output alone"
    if given.get("bad_words"):
        return "bad_words looks at the output alone"
    if given.get("use_beam_search") or given.get("length_penalty", 1) != 1:
        return "beam search has a state of its own"
    if _number(given, "temperature") != 0 and "seed" in given:
        return "a seeded sampler starts anew: the rest would be another text than the seed promises"
    return None


def _number(given: Mapping[str, Any], key: str) -> float | None:
    value = given.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _max_tokens(path: str, body: Mapping[str, Any], given: Mapping[str, Any]) -> int | None:
    if path == CHAT:
        asked = given.get("max_completion_tokens", given.get("max_tokens"))
    else:
        asked = given.get("max_tokens") if "max_tokens" in body else COMPLETION_DEFAULT
    return int(asked) if asked is not None else None
