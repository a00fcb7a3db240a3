"""llama.cpp through ``llama-cpp-python``: reads GGUF files. Not in our extras: it is compiled for minutes at installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocsteady.cpu_worker.executor import About, Sampling, Token, Unfit
from rocsteady.cpu_worker.utf8 import Utf8
from rocsteady.model import InputError


class LlamaCppExecutor:
    """A GGUF file.

    Raises:
        InputError: the package is missing, or the file is no model.
    """

    def __init__(self, path: Path, name: str, context: int, threads: int | None) -> None:
        try:
            import llama_cpp  # noqa: PLC0415
        except ImportError:
            raise InputError(
                "this runtime needs llama-cpp-python: pip install llama-cpp-python (it compiles)"
            ) from None
        try:
            self._llama = llama_cpp.Llama(str(path), n_ctx=context, n_threads=threads, verbose=False)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{path}: {error}") from None
        metadata = self._llama.metadata
        self.about = About(
            runtime="llama.cpp", model=name, precision=f"gguf file type {metadata.get('general.file_type', 'unknown')}",
            context=context, size_bytes=path.stat().st_size,
        )  # fmt: skip
        self.eos = frozenset({int(self._llama.token_eos())})
        template = metadata.get("tokenizer.chat_template")
        self._format: Any = None
        if template:
            shape = llama_cpp.llama_chat_format.Jinja2ChatFormatter
            self._format = shape(template=template, eos_token="", bos_token="", add_generation_prompt=True)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return [int(i) for i in self._llama.tokenize(text.encode(), add_bos=False, special=True)]

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """The chat template of the file.

        Raises:
            Unfit: it has none.
        """
        if self._format is None:
            raise Unfit("the model has no chat template")
        return self.encode(self._format(messages=list(messages)).prompt)

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[Token]:
        """Tokens, one at a time."""
        if sampling.seed is not None:
            self._llama.set_seed(sampling.seed & 0x7FFFFFFF)
        text = Utf8()
        tokens = self._llama.generate(
            list(prompt), temp=sampling.temperature, top_p=sampling.top_p, top_k=sampling.top_k or 0,
            repeat_penalty=sampling.repetition_penalty,
        )  # fmt: skip
        for number, token in enumerate(tokens, start=1):
            ended = token in self.eos
            yield Token(int(token), "" if ended else text.step(self._llama.detokenize([token])))
            if ended or number >= most:
                return

    def close(self) -> None:
        """Free the model."""
        self._llama.close()
