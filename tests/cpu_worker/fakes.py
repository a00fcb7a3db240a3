"""A runtime without a model, for what does not depend on one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rocsteady.cpu_worker.executor import About, Sampling, Token, Unfit


class FakeExecutor:
    """Says the prompt backwards, over and over; ``gate`` holds each token back until it is set."""

    def __init__(self, *, context: int = 200, size: int | None = 10, gated: bool = False, fails: bool = False) -> None:
        self.about = About(runtime="fake", model="fake", precision="none", context=context, size_bytes=size)
        self.eos = frozenset({0})
        self.gate = threading.Event()
        if not gated:
            self.gate.set()
        self.fails = fails
        self.made = 0
        self.closed = 0

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        if any(m["role"] == "strange" for m in messages):
            raise Unfit("no such role")
        return self.encode("".join(f"{m['role']}:{m['content']};" for m in messages))

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[Token]:
        del sampling
        try:
            for number in range(most):
                self.gate.wait(20)
                if self.fails:
                    raise RuntimeError("out of luck")
                token = prompt[-1 - number % len(prompt)]
                self.made += 1
                yield Token(token, "" if token == 0 else chr(token))
                if token == 0:
                    return
        finally:
            self.closed += 1

    def close(self) -> None:
        self.closed += 100
