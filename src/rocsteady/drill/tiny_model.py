"""A tiny Llama with random weights and a tokenizer, made on the spot: 0.5 M parameters, 2 MB. Synthetic: its text means nothing.

Written with the standard library alone, so that it needs no download, no torch and no tokenizer library:
``python -m rocsteady.drill.tiny_model DIR``. Formats: safetensors (8 bytes of header length, header in JSON, raw tensors)
and ``tokenizer.json`` of a byte-level BPE as the ``tokenizers`` library reads it.
"""

from __future__ import annotations

import json
import random
import re
import struct
import sys
from array import array
from collections import Counter
from itertools import pairwise
from pathlib import Path

from rocsteady.model import InputError

SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "Serving goes on when a worker dies.",
    "Größe, naïve café, 世界 and 😀 are text too.",
    "One two three four five six seven eight nine ten.",
    "A token is a piece of text; a stream is many tokens.",
    "user: assistant: system:",
)
SPECIAL = ("<s>", "</s>", "<pad>")
HIDDEN, INNER, LAYERS, HEADS, MERGES = 128, 256, 2, 2, 125
VOCABULARY = len(SPECIAL) + 256 + MERGES
SPREAD = 0.3
"""Deviation of the weights. Wide, so that the two best tokens are rarely close and greedy decoding does not hang on the
last bit of a sum."""
NOT_ASCII = 0.6
"""Rows of the output matrix for bytes above 0x7f are shrunk by this, so that most of the text is readable and enough of
it is not: characters that break in the middle are what a continuation must survive."""
TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def byte_alphabet() -> list[str]:
    """The printable character that stands for each byte in a byte-level BPE (the table of GPT-2)."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = [""] * 256, 0
    for byte in range(256):
        if byte in shown:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + extra)
            extra += 1
    return table


def train_merges(sentences: tuple[str, ...], count: int) -> list[tuple[str, str]]:
    """The merges of a BPE: again and again the most frequent pair (ties: first in order)."""
    table = byte_alphabet()
    words: Counter[tuple[str, ...]] = Counter()
    for sentence in sentences:
        for piece in re.findall(r" ?\w+| ?[^\s\w]+|\s+", sentence):
            words[tuple(table[b] for b in piece.encode())] += 1
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words.items():
            for pair in pairwise(word):
                pairs[pair] += times
        if not pairs:
            raise InputError(f"the sentences give {len(merges)} merges, {count} were wanted")
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = Counter({_merge(word, best): times for word, times in words.items()})
    return merges


def _merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    out: list[str] = []
    at = 0
    while at < len(word):
        if word[at : at + 2] == pair:
            out.append(pair[0] + pair[1])
            at += 2
        else:
            out.append(word[at])
            at += 1
    return tuple(out)


def tokenizer() -> dict[str, object]:
    """``tokenizer.json``."""
    merges = train_merges(SENTENCES, MERGES)
    pieces = [*SPECIAL, *byte_alphabet(), *(a + b for a, b in merges)]
    added = [
        {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i, text in enumerate(SPECIAL)
    ]  # fmt: skip
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": [list(pair) for pair in merges],
        },
    }  # fmt: skip


def config() -> dict[str, object]:
    """``config.json``."""
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": HIDDEN // HEADS,
        "vocab_size": VOCABULARY, "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "hidden_act": "silu",
        "rope_theta": 10000.0, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "tie_word_embeddings": False,
        "torch_dtype": "float32", "attention_bias": False, "mlp_bias": False,
    }  # fmt: skip


def tensors(seed: int) -> dict[str, tuple[tuple[int, ...], array[float]]]:
    """Name to shape and values (float32)."""
    source = random.Random(seed)

    def matrix(rows: int, columns: int) -> tuple[tuple[int, ...], array[float]]:
        return (rows, columns), array("f", (source.gauss(0.0, SPREAD) for _ in range(rows * columns)))

    ones = ((HIDDEN,), array("f", [1.0] * HIDDEN))
    out = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN)}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            out[f"{at}self_attn.{name}.weight"] = matrix(HIDDEN, HIDDEN)
        out[f"{at}mlp.gate_proj.weight"] = matrix(INNER, HIDDEN)
        out[f"{at}mlp.up_proj.weight"] = matrix(INNER, HIDDEN)
        out[f"{at}mlp.down_proj.weight"] = matrix(HIDDEN, INNER)
        out[f"{at}input_layernorm.weight"] = out[f"{at}post_attention_layernorm.weight"] = ones
    out["model.norm.weight"] = ones
    shape, head = matrix(VOCABULARY, HIDDEN)
    for byte in range(0x80, 0x100):
        start = (len(SPECIAL) + byte) * HIDDEN
        head[start : start + HIDDEN] = array("f", (v * NOT_ASCII for v in head[start : start + HIDDEN]))
    out["lm_head.weight"] = (shape, head)
    return out


def safetensors(values: dict[str, tuple[tuple[int, ...], array[float]]]) -> bytes:
    """The bytes of a safetensors file."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, (shape, numbers) in values.items():
        start = len(data)
        data += (numbers if sys.byteorder == "little" else _swapped(numbers)).tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, len(data)]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + bytes(data)


def _swapped(numbers: array[float]) -> array[float]:
    copy = numbers[:]
    copy.byteswap()
    return copy


def write_tiny_model(folder: Path, seed: int = 7) -> Path:
    """Write the model folder; the same seed gives the same bytes.

    Raises:
        InputError: the folder cannot be written.
    """
    special = {"bos_token": SPECIAL[0], "eos_token": SPECIAL[1], "pad_token": SPECIAL[2]}
    documents = {
        "config.json": config(),
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2},
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 2048, "chat_template": TEMPLATE,
            "clean_up_tokenization_spaces": False, **special,
        },
        "special_tokens_map.json": special,
    }  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            (folder / name).write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
        (folder / "model.safetensors").write_bytes(safetensors(tensors(seed)))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from error
    return folder


def main(arguments: list[str]) -> int:
    """``python -m rocsteady.drill.tiny_model DIR``."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m rocsteady.drill.tiny_model DIR\n")
        return 2
    try:
        write_tiny_model(Path(arguments[0]))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
