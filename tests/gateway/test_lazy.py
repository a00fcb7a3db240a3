"""The lazy relay gives the bytes that the careful one gives, whatever the cut, and resumes alike."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rocsteady.gateway.continuation import Continuation
from rocsteady.gateway.interfaces import COMPLETIONS
from rocsteady.gateway.lazy import MOST_KEPT, LazyContinuation

BODY = json.dumps({"model": "m", "prompt": "x", "stream": True, "temperature": 0, "max_tokens": 400}).encode()
WORDS = st.sampled_from([" a", "ä", 'token_ids":[1,2]', "\n\n", "data: [DONE]", " gpu", '"error"', "😀"])


def events(words: list[str], end: str) -> bytes:
    out = b""
    for number, word in enumerate(words):
        choice = {"index": 0, "text": word, "logprobs": None, "finish_reason": None, "token_ids": [number + 5]}
        document = {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
        if number == 0:
            choice["prompt_token_ids"] = [1, 2, 3]
        out += b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"
    if end == "error":
        out += b'data: {"error":{"message":"EngineCore died","code":500}}\n\ndata: [DONE]\n\n'
    if end == "done":
        out += b"data: [DONE]\n\n"
    if end == "comment":
        out += b": ping\n\ndata: [DONE]\n\n"
    return out


@given(st.lists(WORDS, max_size=30), st.sampled_from(["error", "done", "cut", "comment"]), st.booleans(), st.data())
def test_same_bytes_same_end_same_resumption(words: list[str], end: str, longer: bool, data: st.DataObject) -> None:
    wire = events(words * (12 if longer else 1), end)
    careful, lazy = Continuation(COMPLETIONS, BODY), LazyContinuation(COMPLETIONS, BODY)
    assert lazy.request() == careful.request()
    expected, got, at = b"", b"", 0
    while at < len(wire):
        step = data.draw(st.integers(1, len(wire)))
        part = wire[at : at + step]
        at += step
        expected += careful.feed(part)
        got += lazy.feed(part)
        assert (lazy.finished, lazy.failure) == (careful.finished, careful.failure)
    assert got == expected
    if end == "cut":
        assert lazy.closing() == careful.closing()
        assert lazy.resume_request() == careful.resume_request()


def test_long_answers_are_not_kept() -> None:
    lazy = LazyContinuation(COMPLETIONS, BODY)
    wire = events([" word"] * 400, "cut")
    for at in range(0, len(wire), 700):
        lazy.feed(wire[at : at + 700])
    assert lazy._kept is None
    assert len(wire) > MOST_KEPT
