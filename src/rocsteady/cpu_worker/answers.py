"""Bodies and events of the CPU worker: OpenAI's, with the token ids of vLLM where they are asked for."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.cpu_worker.engine import Piece
from rocsteady.cpu_worker.requests import Wanted

DONE = b"data: [DONE]\n\n"


class Writer:
    """Builds the events or the body of one answer."""

    def __init__(self, wanted: Wanted, identity: str, created: int, model: str) -> None:
        self._wanted = wanted
        self._head = {"id": identity, "created": created, "model": model}
        self._first = True

    def events(self, piece: Piece) -> bytes:
        """The events of one piece; the first one of a chat is led by the role."""
        wanted, out = self._wanted, b""
        choice: dict[str, Any] = {"index": 0}
        if wanted.chat:
            if self._first:
                out = self._event(
                    [{**choice, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}], ids=True
                )
            choice |= {"delta": {"content": piece.text}}
        else:
            choice |= {"text": piece.text}
        choice |= {"logprobs": None, "finish_reason": piece.finish}
        if piece.finish is not None:
            choice["stop_reason"] = piece.stop
        if wanted.with_ids:
            choice["token_ids"] = piece.tokens
            if self._first and not wanted.chat:
                choice["prompt_token_ids"] = list(wanted.prompt)
        self._first = False
        return out + self._event([choice])

    def usage(self, completion: int) -> bytes:
        """The event with the token counts."""
        return self._event([], usage=self.counts(completion))

    def _event(self, choices: list[dict[str, Any]], *, ids: bool = False, usage: Any = None) -> bytes:
        kind = "chat.completion.chunk" if self._wanted.chat else "text_completion"
        document: dict[str, Any] = {**self._head, "object": kind, "choices": choices}
        if ids and self._wanted.with_ids:
            document["prompt_token_ids"] = list(self._wanted.prompt)
        if usage is not None:
            document["usage"] = usage
        return b"data: " + msgspec.json.encode(document) + b"\n\n"

    def whole(self, text: str, ids: list[int], last: Piece) -> bytes:
        """The body of an answer that is not streamed."""
        wanted = self._wanted
        choice: dict[str, Any] = {"index": 0}
        if wanted.chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        choice |= {"logprobs": None, "finish_reason": last.finish, "stop_reason": last.stop}
        kind = "chat.completion" if wanted.chat else "text_completion"
        document = {**self._head, "object": kind, "choices": [choice], "usage": self.counts(len(ids))}
        if wanted.with_ids:
            choice["token_ids"] = ids
            (document if wanted.chat else choice)["prompt_token_ids"] = list(wanted.prompt)
        return msgspec.json.encode(document)

    def counts(self, completion: int) -> dict[str, int]:
        """Token counts."""
        prompt = len(self._wanted.prompt)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
