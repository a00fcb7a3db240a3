"""The shape of a model: what weights, KV cache and activation depend on, and nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["full", "sliding", "chunked", "mla", "state", "cross"]


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of layer keeps per token, or per request for ``state``.

    kind: full, sliding (``window`` tokens), chunked (``window``), mla (one latent vector, not split by TP),
        state (linear attention, Mamba: a fixed size), cross (encoder-decoder: keeps the encoder's length too).
    state_split, state_float32: elements of the state in model precision and in 32 bit, of all heads (split by TP).
    """

    kind: Kind
    kv_heads: int = 0
    head_dim_k: int = 0
    head_dim_v: int = 0
    window: int = 0
    state_model: int = 0
    state_float32: int = 0
    compress: int = 1
    """Tokens that share one vector (DeepSeek V4)."""
    doubled: bool = False
    """The layer keeps an index of the same page size beside its vectors."""
    extra_per_token: int = 0
    """Bytes beside the KV vectors, e.g. the indexer of DeepSeek V3.2."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one kind: how many, in which form they are kept, and how they are divided.

    role: attention, mlp, expert, embedding, head, router, norm, state, vision, other: what quantisers choose by.
    split: divided by TP (True) or replicated. layered: divided by PP.
    """

    role: str
    count: int
    split: bool = True
    layered: bool = True
    heads_split: int = 0
    """Number of KV heads when the part can be divided only so far."""


class Vision(msgspec.Struct, frozen=True, kw_only=True):
    """An encoder: ``tokens`` patches of one item, ``item_tokens`` language tokens that come out."""

    hidden: int
    intermediate: int
    layers: int
    tokens: int
    item_tokens: int
    parameters: int
    flash: bool = True
    any_size: bool = False
    """Images keep their size (no ``image_size``): ``tokens`` is then a usual amount, not the largest."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A model. ``layers`` holds the attention of each layer, in order."""

    architecture: str
    model_type: str
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    positions: int
    dtype: str
    layers: tuple[Attention, ...]
    parts: tuple[Part, ...]
    gated: bool
    experts: int = 0
    experts_per_token: int = 0
    expert_intermediate: int = 0
    rotary_dim: int = 0
    vision: Vision | None = None
    encoder_tokens: int = 0
    tied: bool = False
    known: bool = True
    moe: bool = False
    mtp_layers: int = 0

    @property
    def parameters(self) -> int:
        """All parameters, the encoder's included."""
        return sum(p.count for p in self.parts)
