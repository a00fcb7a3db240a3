"""ONNX Runtime GenAI: small (about 200 MB installed), int4, exported offline from a model folder (see ``export``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocsteady.cpu_worker.executor import About, Sampling, Token, Unfit
from rocsteady.model import InputError

CONFIG = "genai_config.json"


class GenaiExecutor:
    """A folder that the model builder of ONNX Runtime GenAI wrote.

    Raises:
        InputError: the package is missing, or the folder is no such model.
    """

    def __init__(self, folder: Path, name: str) -> None:
        try:
            import onnxruntime_genai as genai  # noqa: PLC0415
        except ImportError as error:
            raise InputError(f"serving needs {error.name}: pip install 'rocsteady[cpu]'") from None
        genai.disable_telemetry_events()
        self._genai = genai
        config = _config(folder)
        try:
            self._model = genai.Model(str(folder))
            self._tokenizer = genai.Tokenizer(self._model)
        except RuntimeError as error:
            raise InputError(f"{folder}: {error}") from None
        size = sum(p.stat().st_size for p in folder.glob("*.onnx*"))
        self.about = About(
            runtime="onnxruntime-genai", model=name, precision=precision_of(folder), context=config, size_bytes=size
        )
        self.eos = frozenset(int(i) for i in self._tokenizer.eos_token_ids)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return [int(i) for i in self._tokenizer.encode(text)]

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """The model's own chat template.

        Raises:
            Unfit: the model has none, or it refuses these messages.
        """
        try:
            return self.encode(
                self._tokenizer.apply_chat_template(json.dumps(list(messages)), add_generation_prompt=True)
            )
        except RuntimeError as error:
            raise Unfit(f"the chat template does not take these messages: {error}") from None

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[Token]:
        """Tokens, one at a time."""
        genai = self._genai
        params = genai.GeneratorParams(self._model)
        options: dict[str, Any] = {"max_length": len(prompt) + most, "do_sample": sampling.temperature > 0}
        if sampling.temperature > 0:
            options |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
            options["top_k"] = sampling.top_k if sampling.top_k and sampling.top_k > 0 else 0
            if sampling.seed is not None:
                options["random_seed"] = sampling.seed & 0x7FFFFFFF
        if sampling.repetition_penalty != 1.0:
            options["repetition_penalty"] = sampling.repetition_penalty
        try:
            params.set_search_options(**options)
            generator = genai.Generator(self._model, params)
            generator.append_tokens(list(prompt))
        except RuntimeError as error:
            raise Unfit(str(error)) from None
        stream = self._tokenizer.create_stream()
        for _ in range(most):
            if generator.is_done():
                return
            generator.generate_next_token()
            token = int(generator.get_next_tokens()[0])
            yield Token(token, "" if token in self.eos else stream.decode(token))
            if token in self.eos:
                return

    def close(self) -> None:
        """The model goes with its last reference."""
        del self._tokenizer, self._model


def _config(folder: Path) -> int:
    """The context length of a model folder."""
    try:
        document = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        return int(document["model"]["context_length"])
    except OSError as error:
        raise InputError(f"{folder / CONFIG}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / CONFIG}: no model.context_length: {error}") from None


def precision_of(folder: Path) -> str:
    """The precision that ``export`` noted beside the model; 'unknown' for a model from elsewhere."""
    try:
        return str(json.loads((folder / "rocsteady.json").read_text(encoding="utf-8"))["precision"])
    except (OSError, ValueError, KeyError, TypeError):
        return "unknown"
