"""Tokenizer and "model" of the stub worker. Synthetic: no weights, nothing learnt, the text means nothing.

What they share with a real engine is what a continuation depends on:

- tokens are pieces of bytes, so that a character may take several tokens;
- the greedy token is a function of all token ids before it (prompt and output alike), of the model and its precision;
- a seed makes a repeat equal, but not a continuation: the sampler counts the tokens of its own request;
- presence and frequency penalties look at the output only, a repetition penalty at prompt and output.
"""

from __future__ import annotations

import codecs
import random
import re
from collections.abc import Sequence
from zlib import crc32

BOS, EOS, PAD = 0, 1, 2
SPECIAL = {BOS: "<s>", EOS: "</s>", PAD: "<pad>"}
FIRST_BYTE = len(SPECIAL)
FIRST_WORD = FIRST_BYTE + 256
WORDS = (
    " the", " a", " of", " and", " to", " in", " is", " it", " that", " was", " for", " on", " are", " as", " with",
    " at", " be", " this", " have", " from", " or", " one", " had", " by", " word", " but", " not", " what", " all",
    " were", " we", " when", " your", " can", " said", " there", " use", " an", " each", " which", " she", " do", " how",
    " their", " if", " will", " up", " other", " about", " out", " many", " then", " them", " these", " so", " some",
    " her", " would", " make", " like", " him", " into", " time", " has", " look", " two", " more", " write", " go",
    " see", " number", " no", " way", " could", " people", " my", " than", " first", " water", " been", " call", " who",
    " oil", " its", " now", " find", " long", " down", " day", " did", " get", " come", " made", " may", " part", ".",
    ",", "\n", "!", "?", ";", "The", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", " worker", " token",
    " stream", "user: ", "assistant: ", "system: ",
)  # fmt: skip
VOCABULARY = FIRST_WORD + len(WORDS)
WORD_BYTES = tuple(w.encode() for w in WORDS)
_WORD_ID = {word: FIRST_WORD + i for i, word in enumerate(WORDS)}
_PIECES = re.compile("|".join(re.escape(w) for w in sorted(WORDS, key=len, reverse=True)) + "|.", re.DOTALL)
_LEADS = (0xC3, 0xC5, 0xD0, 0xE4, 0xE5, 0xE3, 0xF0)
"""First bytes of characters of two, three and four bytes: what makes a character take several tokens."""
_MASK = (1 << 64) - 1


def encode(text: str) -> list[int]:
    """Token ids of a text: known words, else the bytes of each character."""
    ids: list[int] = []
    for piece in _PIECES.findall(text):
        known = _WORD_ID.get(piece)
        if known is not None:
            ids.append(known)
        else:
            ids += [FIRST_BYTE + b for b in piece.encode("utf-8", "surrogatepass")]
    return ids


def token_bytes(token: int, skip_special: bool = True) -> bytes:
    """The bytes that a token stands for; an id outside the vocabulary stands for nothing."""
    if token >= FIRST_WORD:
        return WORD_BYTES[token - FIRST_WORD] if token < VOCABULARY else b""
    if token >= FIRST_BYTE:
        return bytes((token - FIRST_BYTE,))
    return b"" if skip_special or token < 0 else SPECIAL[token].encode()


def decode(ids: Sequence[int], skip_special: bool = False) -> str:
    """Text of token ids; what is no UTF-8 becomes U+FFFD."""
    return b"".join(token_bytes(i, skip_special) for i in ids).decode("utf-8", "replace")


class Detokenizer:
    """Text of tokens as they come. Bytes of an unfinished character are held back, as in engines."""

    def __init__(self, prompt: Sequence[int], skip_special: bool = True) -> None:
        self._skip_special = skip_special
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder.decode(b"".join(token_bytes(i, skip_special) for i in prompt[-4:]))

    def step(self, token: int) -> str:
        """What this token adds to the text; empty where a character is not complete yet."""
        return self._decoder.decode(token_bytes(token, self._skip_special))


def _mix(value: int) -> int:
    value ^= value >> 33
    value = (value * 0xFF51AFD7ED558CCD) & _MASK
    value ^= value >> 33
    value = (value * 0xC4CEB9FE1A85EC53) & _MASK
    return value ^ (value >> 33)


class Sampling:
    """How tokens are chosen from the candidates, with the state that a real sampler keeps per request."""

    def __init__(
        self, temperature: float = 0.0, seed: int | None = None, presence: bool = False, repetition: bool = False
    ) -> None:
        self.temperature = temperature
        self.presence = presence
        self.repetition = repetition
        self._random = random.Random(seed) if temperature > 0 else None

    def rank(self) -> int:
        """Which candidate the sampler would take: 0 is the most likely one."""
        return self._random.randrange(4) if self._random is not None else 0


class Generation:
    """One running generation: its token ids and what the next one is."""

    def __init__(self, model: str, prompt: Sequence[int], sampling: Sampling) -> None:
        self.sampling = sampling
        self.output: list[int] = []
        self._prompt = set(prompt) if sampling.repetition else set()
        self._seen: set[int] = set()
        self._open = b""
        self._hash = crc32(model.encode())
        for token in prompt:
            self._append(token)

    def next(self, allow_eos: bool = True) -> int:
        """Choose a token and append it."""
        rank = self.sampling.rank()
        token = self._candidate(rank, allow_eos)
        for more in range(1, 9):
            if not self._penalised(token):
                break
            token = self._candidate(rank + more, allow_eos)
        self.output.append(token)
        self._seen.add(token)
        self._append(token)
        return token

    def _penalised(self, token: int) -> bool:
        if self.sampling.presence and token in self._seen:
            return True
        return self.sampling.repetition and (token in self._seen or token in self._prompt)

    def _append(self, token: int) -> None:
        self._hash = (self._hash * 6364136223846793005 + token + 1442695040888963407) & _MASK
        data = token_bytes(token)
        if len(data) == 1 and data[0] >= 0x80:
            self._open = data if data[0] >= 0xC0 else self._open + data
            if _missing(self._open) <= 0:
                self._open = b""
        else:
            self._open = b""

    def _candidate(self, rank: int, allow_eos: bool) -> int:
        value = _mix((self._hash + rank * 0x9E3779B97F4A7C15) & _MASK)
        if self._open:
            low, high = _range(self._open)
            return FIRST_BYTE + low + value % (high - low + 1)
        kind = value & 0xFF
        value >>= 8
        if kind == 0 and allow_eos:
            return EOS
        if kind < 24:
            return FIRST_BYTE + _LEADS[value % len(_LEADS)]
        return FIRST_WORD + value % len(WORDS)


def _missing(opened: bytes) -> int:
    """How many bytes a character still wants."""
    lead = opened[0]
    wanted = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
    return wanted - len(opened)


def _range(opened: bytes) -> tuple[int, int]:
    """The bytes that may follow; the second byte is restricted after some first ones (RFC 3629)."""
    if len(opened) == 1:
        return {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}.get(
            opened[0], (0x80, 0xBF)
        )
    return 0x80, 0xBF
