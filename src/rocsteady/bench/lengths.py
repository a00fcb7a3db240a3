"""How long prompts and answers are: distributions, files of conversations, traces."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import random
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from rocsteady.model import InputError

PRESETS = {
    "sharegpt-like": ("lognormal:161,1.1,4096", "lognormal:338,0.9,2048"),
    "alpaca-like": ("lognormal:19,0.6,512", "lognormal:58,0.9,1024"),
}
"""Means of ShareGPT (161.31 and 337.99 tokens) and Alpaca (19.31 and 58.45): vLLM paper, section 6.1, figure 11,
https://arxiv.org/abs/2309.06180, read 2026-12-01. The log-normal shape and its width are ours."""
WORDS = (
    "time", "person", "year", "way", "day", "thing", "man", "world", "life", "hand", "part", "child", "eye", "woman",
    "place", "work", "week", "case", "point", "company", "number", "group", "problem", "fact", "water", "room", "mother",
    "area", "money", "story", "month", "lot", "right", "study", "book", "word", "business", "issue", "side", "kind",
)  # fmt: skip
"""Common English nouns: one token each in the usual vocabularies, with the blank before. The server's count is used."""
MOST_TOKENS = 1_000_000
SPEC = re.compile(r"(fixed|uniform|lognormal):([\d.]+)(?:[,-]([\d.]+))?(?:,(\d+))?")


class Distribution(msgspec.Struct, frozen=True):
    """A distribution of lengths in tokens. ``lognormal``: mean and sigma of the logarithm, cut at ``most``."""

    kind: str
    first: float
    second: float
    most: int

    def draw(self, rng: random.Random) -> int:
        """One length, at least 1."""
        if self.kind == "fixed":
            value = self.first
        elif self.kind == "uniform":
            value = rng.uniform(self.first, self.second)
        else:
            value = rng.lognormvariate(math.log(self.first) - self.second**2 / 2, self.second)
        return max(1, min(self.most, round(value)))


def parse_distribution(text: str, option: str) -> Distribution:
    """``512``, ``fixed:512``, ``uniform:100-900``, ``lognormal:MEAN,SIGMA[,MOST]``.

    Raises:
        InputError: it is none of these.
    """
    match = SPEC.fullmatch(text if ":" in text else f"fixed:{text}")
    try:
        if match is None:
            raise ValueError
        kind, first, second = match[1], float(match[2]), float(match[3] or 0)
        most = int(match[4]) if match[4] else MOST_TOKENS
        if not 1 <= first <= MOST_TOKENS or not 1 <= most <= MOST_TOKENS:
            raise ValueError
        if kind == "uniform" and not first <= second <= MOST_TOKENS:
            raise ValueError
        if kind == "lognormal" and not 0 < second <= 4:
            raise ValueError
    except ValueError:
        raise InputError(
            f"{option} {text}: N, uniform:LOW-HIGH or lognormal:MEAN,SIGMA[,MOST] in tokens was wanted"
        ) from None
    return Distribution(kind, first, second, most)


class Ask(msgspec.Struct, frozen=True):
    """One request to be made: text of the prompt, answer length in tokens, and when (traces only, seconds)."""

    prompt: str
    output_tokens: int
    at: float | None = None


def synthetic(inputs: Distribution, outputs: Distribution, rng: random.Random) -> Iterator[Ask]:
    """Endless requests with prompts of common words."""
    while True:
        yield Ask(words(inputs.draw(rng), rng), outputs.draw(rng))


def words(count: int, rng: random.Random) -> str:
    """A prompt of about ``count`` tokens. No two are alike, so that prefix caches do not answer for the engine."""
    return " ".join(rng.choices(WORDS, k=count))


def read_requests(path: Path, rng: random.Random) -> list[Ask]:
    """Requests of a file: a trace with times and lengths (JSON lines or CSV), or conversations (ShareGPT's JSON).

    JSON lines: ``{"timestamp": ms, "input_length": n, "output_length": n}`` (Mooncake, https://github.com/kvcache-ai/Mooncake).
    CSV: ``TIMESTAMP,ContextTokens,GeneratedTokens`` (Azure, https://github.com/Azure/AzurePublicDataset).
    ShareGPT: ``[{"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "..."}]}]``.

    Raises:
        InputError: not there, or none of these.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    head = text.lstrip()[:1]
    try:
        if head == "[":
            found = _conversations(json.loads(text))
        elif head == "{":
            found = [_line(json.loads(line), rng) for line in text.splitlines() if line.strip()]
        else:
            found = _azure(text, rng)
    except (ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        raise InputError(f"{path}: neither a trace nor conversations ({type(error).__name__}: {error})") from error
    if not found:
        raise InputError(f"{path}: no request in it")
    start = min((ask.at for ask in found if ask.at is not None), default=0.0)
    timed = [msgspec.structs.replace(ask, at=None if ask.at is None else ask.at - start) for ask in found]
    return sorted(timed, key=lambda ask: ask.at or 0.0)


def _conversations(document: object) -> list[Ask]:
    found = []
    if not isinstance(document, list):
        raise ValueError("a list was wanted")
    for entry in document:
        turns = entry["conversations"]
        for one, two in itertools.pairwise(turns):
            if one.get("from") in ("human", "user") and two.get("from") in ("gpt", "chatgpt", "assistant"):
                # four characters a token is the rule that vendors state for English; only the length of the answer
                # hangs on it
                found.append(Ask(str(one["value"]), max(1, len(str(two["value"])) // 4)))
                break
    return found


def _line(row: dict[str, object], rng: random.Random) -> Ask:
    if "input_length" in row:
        at = row.get("timestamp")
        return Ask(
            words(_count(row["input_length"]), rng), _count(row["output_length"]),
            None if at is None else float(str(at)) / 1000,
        )  # fmt: skip
    return Ask(str(row["prompt"]), _count(row.get("output_tokens", row.get("output_len", 128))))


def _azure(text: str, rng: random.Random) -> list[Ask]:
    found = []
    for row in csv.DictReader(io.StringIO(text)):
        stamp = row["TIMESTAMP"].strip()
        moment = datetime.fromisoformat(stamp[:26] if "+" not in stamp else stamp)
        found.append(Ask(words(_count(row["ContextTokens"]), rng), _count(row["GeneratedTokens"]), moment.timestamp()))
    return found


def _count(value: object) -> int:
    number = int(float(str(value)))
    if not 0 <= number <= MOST_TOKENS:
        raise ValueError(f"{value} tokens")
    return max(1, number)
