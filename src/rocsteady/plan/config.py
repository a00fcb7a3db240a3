"""Reading ``config.json``: limits, types, and the names that families give to the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from rocsteady.model import InputError

MAX_CONFIG_BYTES = 16 << 20
"""A config.json is some kilobytes; the largest published ones (long ignore lists) stay below 1 MB."""
Config = dict[str, Any]

NAMES: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim", "model_dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads", "attention_heads"),
    "kv_heads": ("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num", "num_query_groups"),
    "head_dim": ("head_dim", "kv_channels", "attention_head_dim", "head_size"),
    "intermediate": (
        "intermediate_size", "ffn_hidden_size", "n_inner", "decoder_ffn_dim", "ffn_dim", "hidden_dim", "inner_hidden_size",
    ),
    "vocab": ("vocab_size", "padded_vocab_size", "n_vocab"),
    "positions": (
        "max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len", "model_max_length",
        "max_target_positions",
    ),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"),
    "experts_per_token": ("num_experts_per_tok", "moe_topk", "moe_top_k", "top_k_experts", "num_experts_per_token"),
    "expert_intermediate": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "shared_intermediate": ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "num_shared_expert"),
}  # fmt: skip
"""What we call it -> the keys under which published configurations keep it."""

LIMITS = {
    "layers": 1_000, "hidden": 1_000_000, "heads": 10_000, "kv_heads": 10_000, "head_dim": 65_536,
    "intermediate": 10_000_000, "vocab": 100_000_000, "positions": 1_000_000_000, "experts": 100_000,
}  # fmt: skip
"""Two orders of magnitude above anything published: beyond them a value is a mistake, not a model."""


def read_config(path: Path) -> Config:
    """The object in a config.json.

    Raises:
        InputError: no such file, too large, no JSON object.
    """
    try:
        size = path.stat().st_size
        if size > MAX_CONFIG_BYTES:
            raise InputError(f"{path}: {size:,} bytes is no config.json (limit {MAX_CONFIG_BYTES:,})")
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise InputError(f"{path}: more than {MAX_CONFIG_BYTES:,} bytes is no config.json")
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(raw, dict) or not raw:
        raise InputError(f"{path}: holds no JSON object with a model's configuration")
    return raw


class Reader:
    """Typed access to a configuration. ``where`` names it in messages."""

    def __init__(self, raw: Config, where: str) -> None:
        self.where = where
        self.raw = raw
        text = raw
        for key in ("text_config", "llm_config", "language_config", "thinker_config", "decoder"):
            inner = text.get(key)
            if isinstance(inner, dict) and any(
                k in inner or "text_config" in inner for k in NAMES["layers"] + NAMES["hidden"]
            ):
                text = {**text, **inner} if key != "decoder" else inner
        if isinstance(text.get("text_config"), dict) and text is not raw:
            text = {**text, **text["text_config"]}
        self.text: Config = text

    def whole(self, key: str, low: int = 1, high: int = 1 << 40) -> int | None:
        """A whole number under this very key; None where it is absent or null."""
        return self._whole(key, self.text.get(key), low, high)

    def _whole(self, key: str, value: object, low: int, high: int) -> int | None:
        if value is None:
            return None
        if isinstance(value, list) and value and all(isinstance(v, int) for v in value):
            value = max(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(f"{self.where}: {key} is {str(value)[:40]!r}: expected a whole number")
        if not low <= value <= high:
            raise InputError(f"{self.where}: {key} is {value}: expected {low} to {high}")
        return value

    def named(self, what: str, low: int = 1) -> int | None:
        """A number under any of its names."""
        for key in NAMES[what]:
            value = self._whole(key, self.text.get(key), low, LIMITS.get(what, 1 << 40))
            if value is not None:
                return value
        return None

    def text_of(self, key: str) -> str | None:
        """A string, None where it is absent."""
        value = self.text.get(key)
        return value if isinstance(value, str) else None

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean."""
        value = self.text.get(key)
        return value if isinstance(value, bool) else default

    def number(self, key: str, default: float) -> float:
        """A positive number of sensible size, else the default."""
        value = self.text.get(key)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6
        return float(value) if usable and isinstance(value, int | float) else default

    def names_of(self, key: str) -> list[str]:
        """A list of strings; empty where it is absent."""
        value = self.text.get(key)
        return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []

    def section(self, *keys: str) -> Config | None:
        """The first nested object with one of these names, of the text part or the whole."""
        for source in (self.text, self.raw):
            for key in keys:
                value = source.get(key)
                if isinstance(value, dict) and value:
                    return value
        return None
