"""Bodies and events as vLLM 0.32 writes them: same keys, same order, null where it writes null.

``tests/drill/test_stub_protocol.py`` compares them with recordings of the real server.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.drill.stub_request import Request

DONE = b"data: [DONE]\n\n"
FINGERPRINT = "stub-synthetic"


def event(document: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + msgspec.json.encode(document) + b"\n\n"


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """Token counts in the order of the real server."""
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


class Piece(msgspec.Struct, frozen=True):
    """What one step of the engine adds to an answer."""

    text: str
    tokens: list[int]
    finish: str | None = None
    stop: str | int | None = None


class Writer:
    """Builds the events of one answer."""

    def __init__(self, request: Request, identity: str, created: int, model: str, with_ids: bool) -> None:
        self.request = request
        self.with_ids = with_ids and bool(request.body.return_token_ids)
        self._head: dict[str, Any] = {
            "id": identity,
            "object": "chat.completion.chunk" if request.chat else "text_completion",
            "created": created,
            "model": model,
        }
        self._identity, self._created, self._model = identity, created, model
        self._first = True

    def role(self) -> bytes:
        """First event of a chat."""
        choices = []
        for index in range(self.request.body.n or 1):
            delta = {"role": "assistant", "content": ""}
            choices.append({"index": index, "delta": delta, "logprobs": None, "finish_reason": None})
        out = b""
        for choice in choices:
            document = {**self._head, "choices": [choice]}
            if self.request.continuous_usage:
                document["usage"] = {**usage(len(self.request.prompt), 0), "completion_tokens_details": None}
            document["prompt_token_ids"] = list(self.request.prompt) if self.with_ids else None
            document["prompt_text"] = None
            out += event(document)
        return out

    def piece(self, index: int, piece: Piece, count: int) -> bytes:
        """One event with text; ``count`` is the number of output tokens so far."""
        ids = piece.tokens if self.with_ids else None
        choice: dict[str, Any] = {"index": index}
        if self.request.chat:
            choice |= {"delta": {"content": piece.text}, "logprobs": None, "finish_reason": piece.finish}
            if piece.finish is not None:
                choice["stop_reason"] = piece.stop
            choice["token_ids"] = ids
        else:
            prompt = list(self.request.prompt) if self.with_ids and self._first else None
            choice |= {
                "text": piece.text, "logprobs": None, "finish_reason": piece.finish, "stop_reason": piece.stop,
                "prompt_token_ids": prompt, "token_ids": ids,
            }  # fmt: skip
        self._first = False
        document = {**self._head, "choices": [choice]}
        if self.request.continuous_usage:
            details = {"completion_tokens_details": None} if self.request.chat else {}
            document["usage"] = {**usage(len(self.request.prompt), count), **details}
        if piece.finish is not None and not self.request.usage:
            document["system_fingerprint"] = FINGERPRINT
        return event(document)

    def final_usage(self, completion: int) -> bytes:
        """The event with the token counts."""
        counts = usage(len(self.request.prompt), completion)
        return event({**self._head, "choices": [], "usage": counts, "system_fingerprint": FINGERPRINT})

    def whole(self, answers: list[Piece]) -> bytes:
        """Body of an answer that was not streamed."""
        choices: list[dict[str, Any]] = []
        prompt = list(self.request.prompt) if self.with_ids else None
        for index, answer in enumerate(answers):
            ids = answer.tokens if self.with_ids else None
            end = {"logprobs": None, "finish_reason": answer.finish, "stop_reason": answer.stop, "token_ids": ids}
            if self.request.chat:
                message = {
                    "role": "assistant", "content": answer.text, "refusal": None, "annotations": None, "audio": None,
                    "function_call": None, "reasoning": None,
                }  # fmt: skip
                choices.append({"index": index, "message": message, **end, "routed_experts": None})
            else:
                more = {"prompt_logprobs": None, "prompt_token_ids": prompt, "routed_experts": None}
                choices.append({"index": index, "text": answer.text, **end, **more})
        counts = usage(len(self.request.prompt), sum(len(a.tokens) for a in answers))
        document: dict[str, Any] = {
            **self._head, "object": "chat.completion" if self.request.chat else "text_completion", "choices": choices,
            "service_tier": None, "system_fingerprint": FINGERPRINT,
            "usage": {**counts, "prompt_tokens_details": None, "completion_tokens_details": None},
        }  # fmt: skip
        if self.request.chat:
            document |= {"prompt_logprobs": None, "prompt_token_ids": prompt, "prompt_text": None}
        document |= {"kv_transfer_params": None, "ec_transfer_params": None, "metrics": None}
        return msgspec.json.encode(document)
