"""What a CPU runtime must be able to do. Token ids in, tokens out; blocking, each generation in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What is served. ``context``: tokens of prompt and answer together. ``size_bytes``: of the weights on disk, None: not known."""

    runtime: str
    model: str
    precision: str
    context: int
    size_bytes: int | None = None


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How tokens are chosen. ``temperature`` 0 is greedy."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int | None = None
    seed: int | None = None
    repetition_penalty: float = 1.0


class Token(msgspec.Struct, frozen=True):
    """One token, and what it adds to the text (nothing, while a character is incomplete)."""

    id: int
    text: str


class Executor(Protocol):
    """A model on a CPU runtime."""

    about: About
    eos: frozenset[int]

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        ...

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Token ids of a chat, up to where the answer starts."""
        ...

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[Token]:
        """Up to ``most`` tokens; ends early after an end token, which is the last one given. Closing it stops the work."""
        ...

    def close(self) -> None:
        """Let go of the model."""
        ...


class Unfit(Exception):
    """The model or the request is not for this executor; the message is for the person or client that asked."""
