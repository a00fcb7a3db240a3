"""A stream cut anywhere reads like one that was never cut, or ends with an error that says why.

The workers are stubs (synthetic); ``tests/drill/test_real_continuation.py`` does the same with the real engine.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocsteady.gateway.continuation import Continuation
from rocsteady.gateway.interfaces import Refusal
from tests.gateway.streams import CHAT, COMPLETIONS, answer_of, direct, through

PROMPT = {"prompt": "The quick brown fox"}
MESSAGES = {"messages": [{"role": "user", "content": "say more"}]}
GREEDY = {"temperature": 0, "stream": True, "max_tokens": 40, "ignore_eos": True}
USAGE = {"stream_options": {"include_usage": True}}
BOTH = [(COMPLETIONS, PROMPT), (CHAT, MESSAGES)]


def length(path: str, body: dict[str, Any]) -> int:
    request = Continuation(path, json.dumps(body).encode()).request()
    return len(answer_of(request.path, request.body))


@pytest.mark.parametrize(("path", "what"), BOTH, ids=["completions", "chat"])
def test_cut_at_every_byte(path: str, what: dict[str, Any]) -> None:
    body = {**GREEDY, **what, **USAGE, "max_tokens": 14}
    whole = direct(path, body)
    assert any(ord(c) > 127 for c in whole.text) and whole.finish == "length" and whole.usage is not None
    for cut in range(length(path, body)):
        seen, relay, refusal = through(path, body, [cut])
        assert refusal is None and seen.same_as(whole), cut
        assert relay.continued <= 1
        assert b"token_ids" not in b"".join(seen.events).replace(b'token_ids":null', b"")


def test_ids_are_not_shown_unless_asked_for() -> None:
    body = {**GREEDY, **PROMPT}
    seen, _, _ = through(COMPLETIONS, {**body, "return_token_ids": True}, [5000])
    whole = direct(COMPLETIONS, {**body, "return_token_ids": True})
    assert seen.same_as(whole) and len(seen.ids) == 40
    prompts = [d["choices"][0]["prompt_token_ids"] for d in seen.documents if d["choices"]]
    assert prompts[0] and not any(prompts[1:])
    assert not through(COMPLETIONS, {**body, "return_token_ids": False}, [5000])[0].ids


def test_unbroken_stream_is_byte_identical() -> None:
    for path, what in BOTH:
        body = {**GREEDY, **what, **USAGE}
        relay = Continuation(path, json.dumps(body).encode())
        assert relay.feed(answer_of(path, relay.request().body)) == answer_of(path, json.dumps(body).encode())
        assert relay.finished and relay.end() == b"" and relay.failure is None


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    path, what = draw(st.sampled_from(BOTH))
    body: dict[str, Any] = {**GREEDY, **what, "max_tokens": draw(st.integers(1, 40))}
    body["ignore_eos"] = draw(st.booleans())
    if draw(st.booleans()):
        text = direct(path, {**body, "max_tokens": 40}).text
        at = draw(st.integers(0, max(0, len(text) - 2)))
        stops = [text[at : at + draw(st.integers(1, 12))] or "x", draw(st.text(min_size=1, max_size=15))]
        body["stop"] = stops if draw(st.booleans()) else stops[0]
        body["include_stop_str_in_output"] = draw(st.booleans())
    if draw(st.booleans()):
        body["min_tokens"] = draw(st.integers(0, body["max_tokens"]))
    if draw(st.booleans()):
        body["repetition_penalty"] = 1.2
    if draw(st.booleans()):
        body["stop_token_ids"] = draw(st.lists(st.integers(259, 370), max_size=20))
    if draw(st.booleans()):
        body["return_token_ids"] = draw(st.booleans())
    if draw(st.booleans()):
        body["stream_options"] = {"include_usage": True, "continuous_usage_stats": draw(st.booleans())}
    return path, body


@settings(max_examples=180, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests(), st.lists(st.integers(0, 12_000), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 700))
def test_any_request_any_cuts(request: tuple[str, dict[str, Any]], cuts: list[int], interval: int, piece: int) -> None:
    path, body = request
    whole = direct(path, body)
    seen, _, refusal = through(path, body, cuts, interval, piece)
    assert refusal is None, refusal
    assert seen.same_as(whole)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"n": 2}, "n is above 1"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "structured"),
        ({"structured_outputs": {"regex": "a+"}}, "structured_outputs"),
        ({"guided_json": {}}, "guided_json"),
        ({"logprobs": True}, "logprobs"),
        ({"temperature": 0.8, "seed": 1}, "seed"),
        ({"seed": 1, "temperature": None}, "seed"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"frequency_penalty": -0.5}, "frequency_penalty"),
        ({"bad_words": ["x"]}, "bad_words"),
        ({"use_beam_search": True}, "beam"),
        ({"truncate_prompt_tokens": 5}, "truncate_prompt_tokens"),
        ({"unheard_of": 1}, "unheard_of"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "more than text"),
    ],
)  # fmt: skip
def test_refused_with_an_error_in_the_stream(change: dict[str, Any], code: str) -> None:
    body = {**GREEDY, **MESSAGES, **change}
    relay = Continuation(CHAT, json.dumps(body).encode())
    assert relay.request().body == json.dumps(body).encode()
    answer = answer_of(CHAT, json.dumps({**GREEDY, **MESSAGES}).encode())
    sent = relay.feed(answer[:3000])
    assert sent and answer.startswith(sent) and sent.endswith(b"\n\n") and not relay.finished
    refusal = relay.resume_request()
    assert isinstance(refusal, Refusal) and code in refusal.reason
    last = relay.error_event(refusal, "call-7")
    document = json.loads(last.split(b"\n\n")[0].removeprefix(b"data: "))
    assert code in document["error"]["message"] and document["error"]["request_id"] == "call-7"
    assert document["error"]["code"] == refusal.code and last.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("neutral", [{"n": 1}, {"tools": []}, {"tool_choice": None}, {"logprobs": False}, {"seed": 4},
                                     {"response_format": {"type": "text"}}, {"presence_penalty": 0}, {"user": "u"},
                                     {"max_tokens": None, "max_completion_tokens": 40}])  # fmt: skip
def test_what_says_nothing_does_not_refuse(neutral: dict[str, Any]) -> None:
    seen, _, refusal = through(CHAT, {**GREEDY, **MESSAGES, **neutral}, [4000])
    assert refusal is None and seen.same_as(direct(CHAT, {**GREEDY, **MESSAGES, **neutral}))


def test_sampling_goes_on_only_where_nothing_seen_is_drawn_again() -> None:
    body = {**PROMPT, "stream": True, "max_tokens": 40, "temperature": 0.9, "ignore_eos": True}
    seen, relay, refusal = through(COMPLETIONS, body, [4000])
    assert refusal is None and relay.continued == 1 and seen.finish == "length" and seen.done
    refusals = [through(COMPLETIONS, {**body, "stop": ["never ever"]}, [cut])[2] for cut in range(4000, 7000, 250)]
    assert {r.code for r in refusals if r is not None} == {"sampled"}


def test_another_model_is_found_out() -> None:
    body = {**PROMPT, **GREEDY, "stop": ["a string that does not come"]}
    relay = Continuation(COMPLETIONS, json.dumps(body).encode())
    sent = relay.feed(answer_of(COMPLETIONS, relay.request().body)[:6000])
    request = relay.resume_request()
    assert sent and not isinstance(request, Refusal)
    relay.resumed()
    assert relay.feed(answer_of(COMPLETIONS, request.body, 1, "other")) == b""
    assert relay.failure and not relay.finished
    refusal = relay.resume_request()
    assert isinstance(refusal, Refusal) and refusal.code == "diverged"


@pytest.mark.parametrize(
    "error",
    [
        b'data: {"error": {"message": "EngineCore died", "type": "InternalServerError", "param": null, "code": 500}}\n\n',
        b'data: {"error":{"message":"EngineCore died","code":500}}\n\n',
        b'data: {"object":"error","message":"EngineCore died","type":"InternalServerError","param":null,"code":500}\n\n',
        b'data: {"error": "EngineCore died"}\n\n',
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", [{**PROMPT, **GREEDY}, {**PROMPT, **GREEDY, "n": 2}], ids=["continuable", "not"])
def test_error_events_are_failures(error: bytes, body: dict[str, Any]) -> None:
    relay = Continuation(COMPLETIONS, json.dumps(body).encode())
    answer = answer_of(COMPLETIONS, json.dumps({**PROMPT, **GREEDY, "return_token_ids": True}).encode())
    cut = answer.index(b"\n\n", 3000) + 2
    sent = relay.feed(answer[:cut] + error + b"data: [DONE]\n\n")
    assert b"error" not in sent and b"[DONE]" not in sent and sent.count(b"\n\n") == answer[:cut].count(b"\n\n")
    assert relay.failure == "EngineCore died" and not relay.finished
    assert isinstance(relay.resume_request(), Refusal) == ("n" in body)


def test_an_answer_that_talks_about_errors_is_no_error() -> None:
    text = 'data: {"error": {"message": "x", "code": 500}}\n\ndata: [DONE]\n\n"token_ids":[1,2]'
    row = {"id": "a", "object": "text_completion", "created": 1, "model": "m", "choices": [{"index": 0, "text": text}]}
    event = b"data: " + json.dumps(row).encode() + b"\n\n"
    for body in ({**PROMPT, **GREEDY}, {**PROMPT, **GREEDY, "n": 2}):
        relay = Continuation(COMPLETIONS, json.dumps(body).encode())
        assert relay.feed(event) == event and relay.failure is None and not relay.finished


def test_a_clients_error_inside_a_stream_is_passed_on() -> None:
    relay = Continuation(COMPLETIONS, json.dumps({**PROMPT, **GREEDY}).encode())
    error = b'data: {"error": {"message": "bad request", "code": 400}}\n\n'
    assert relay.feed(error + b"data: [DONE]\n\n") == error + b"data: [DONE]\n\n"
    assert relay.failure is None and relay.finished


def test_a_proper_end_without_done_is_a_cut() -> None:
    relay = Continuation(COMPLETIONS, json.dumps({**PROMPT, **GREEDY}).encode())
    relay.feed(answer_of(COMPLETIONS, relay.request().body)[:3000])
    assert relay.end() == b"" and relay.failure


def test_workers_without_token_ids_and_parsers_are_refused() -> None:
    for event, code in (
        ({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}]}, "no-token-ids"),
        ({"choices": [{"index": 0, "delta": {"reasoning": "x"}, "token_ids": [1]}]}, "reasoning"),
        ({"choices": [{"index": 0, "delta": {"tool_calls": [{}]}, "token_ids": [1]}]}, "tools"),
        ({"choices": [{"index": 1, "delta": {"content": "x"}, "token_ids": [1]}]}, "choices"),
        ({"choices": "what"}, "unreadable"),
    ):
        relay = Continuation(CHAT, json.dumps({**MESSAGES, **GREEDY}).encode())
        data = b"data: " + json.dumps({"id": "a", "prompt_token_ids": [1], **event}).encode() + b"\n\n"
        assert json.loads(relay.feed(data).removeprefix(b"data: "))["choices"] is not None
        refusal = relay.resume_request()
        assert isinstance(refusal, Refusal) and refusal.code == code


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([{}, {"n": 2}]))
def test_any_bytes(data: bytes, more: dict[str, Any]) -> None:
    """No junk raises, and what is forwarded is made of whole events."""
    relay = Continuation(COMPLETIONS, json.dumps({**PROMPT, **GREEDY, **more}).encode())
    out = relay.feed(b"data: " + data) + relay.feed(data + b"\n\n")
    assert not out or out.endswith((b"\n\n", b"\n\r\n"))
    relay.end()
    relay.closing()
    relay.resume_request()


@settings(max_examples=120, deadline=None)
@given(st.binary(max_size=200) | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.sampled_from(["stop", "n", "temperature", "messages", "prompt", "stream_options", "max_tokens", "min_tokens", "response_format", "stream", "logprobs"]), c)).map(lambda v: json.dumps(v).encode()))  # fmt: skip
def test_any_body(body: bytes) -> None:
    """A malformed request is the worker's to refuse: it is passed on."""
    for path in (COMPLETIONS, CHAT):
        relay = Continuation(path, body)
        assert relay.request().path == path
