"""Exact KV-cache arithmetic: layer groups, block bytes, blocks per request, what the engine prints.

Checked against the logs in docs/plan.md; the rules by version are in ``versions``.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from rocsteady.model import InputError
from rocsteady.plan.shapes import Attention, Shape
from rocsteady.plan.versions import Engine

KV_BYTES = {
    "fp8": 1.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "fp8_inc": 1.0,
    "int8": 1.0,
    "bfloat16": 2.0,
    "float16": 2.0,
    "float32": 4.0,
    "nvfp4": 0.5625,
}
"""Bytes an element; nvfp4 counts its scale per 16 elements."""
LATENT_BYTES = {"fp8_ds_mla": 656.0, "nvfp4_ds_mla": 352.0}
"""Bytes a token and layer of packed latent layouts (DeepSeek V3.2 and later)."""


class Group(msgspec.Struct, frozen=True):
    """Layers that share a block table: how many, of which kind, tokens per block (0 for a state)."""

    kind: Attention
    layers: int
    block_size: int
    page_bytes: float


class Cache(msgspec.Struct, frozen=True):
    """The cache of one GPU. ``block_bytes`` is one block of the pool, ``groups`` share the pool."""

    block_bytes: float
    block_size: int
    groups: tuple[Group, ...]
    padding_layers: int

    def blocks(self, kv_bytes: float) -> int:
        """Whole blocks in that many bytes."""
        return int(kv_bytes // self.block_bytes) if self.block_bytes and kv_bytes > 0 else 0


def kv_width(kv_dtype: str | None, dtype: str) -> float:
    """Bytes an element. ``auto`` and None are the model's precision."""
    name = (kv_dtype or "auto").split()[0].lower()
    if name == "auto":
        return 4.0 if dtype in ("float32", "float") else 2.0
    if name in LATENT_BYTES:
        return 1.0
    if name not in KV_BYTES:
        raise InputError(
            f"--kv-cache-dtype {kv_dtype}: not known; one of auto, {', '.join(sorted([*KV_BYTES, *LATENT_BYTES]))}"
        )
    return KV_BYTES[name]


def token_bytes(kind: Attention, tp: int, width: float, kv_dtype: str | None) -> float:
    """Bytes one token takes in one layer on one GPU."""
    if kind.kind == "mla":
        name = (kv_dtype or "").lower()
        packed = next((LATENT_BYTES[k] for k in LATENT_BYTES if k in name), None)
        if packed is None and name.startswith("fp8") and (kind.extra_per_token or kind.compress > 1):
            packed = LATENT_BYTES["fp8_ds_mla"]  # sparse attention has no other 8-bit layout
        each = packed if packed is not None else kind.head_dim_k * width
        return (2 if kind.doubled else 1) * each / kind.compress + kind.extra_per_token
    heads = max(1, kind.kv_heads // tp)
    return heads * (kind.head_dim_k + kind.head_dim_v) * width + kind.extra_per_token


def state_bytes(kind: Attention, tp: int, dtype: str) -> float:
    """Bytes of the fixed state of one request in one layer on one GPU."""
    model = 4.0 if dtype in ("float32", "float") else 2.0
    return (kind.state_model * model + kind.state_float32 * 4.0) / tp


def cache_of(
    shape: Shape, engine: Engine, tp: int, pp: int, dtype: str, kv_dtype: str | None, block_size: int | None
) -> Cache:
    """Groups and block bytes of the stage with the most layers."""
    width = kv_width(kv_dtype, dtype)
    stage = -(-len(shape.layers) // pp)
    kept = shape.layers[:stage]
    if not engine.hybrid_groups:
        kept = tuple(msgspec.structs.replace(k, kind="full") if k.kind in ("sliding", "chunked") else k for k in kept)
    counts: dict[Attention, int] = Counter(kept)
    base = block_size or (
        1 if engine.rocm and any(k.kind == "mla" for k in counts) and not engine.at_least(0, 14) else 16
    )
    states = {k: n for k, n in counts.items() if k.kind == "state"}
    tokens = {k: n for k, n in counts.items() if k.kind != "state"}
    if not tokens:
        kind, layers = next(iter(states.items()), (Attention(kind="state"), 0))
        page = state_bytes(kind, tp, dtype)
        return Cache(page * layers, 1, (Group(kind, layers, 0, page),), 0)
    per_token = {k: token_bytes(k, tp, width, kv_dtype) for k in tokens}
    widest = max(per_token.values())
    if states:
        need = max(state_bytes(k, tp, dtype) for k in states)
        base = max(base if block_size else 16, -(-int(-(-need // widest)) // 16) * 16)
    page = base * widest
    sizes = list(counts.values())
    smallest, largest = min(sizes), max(sizes)
    size = largest if largest < engine.group_slack * smallest else smallest
    if len(counts) == 1:
        size = sizes[0]
    groups: list[Group] = []
    padding = 0
    for kind, layers in counts.items():
        blocks = 0 if kind.kind == "state" else int(page // per_token[kind])
        for start in range(0, layers, size):
            held = min(size, layers - start)
            padding += size - held
            groups.append(Group(kind, held, blocks, page))
    return Cache(size * page, base, tuple(groups), padding)


def blocks_per_request(cache: Cache, engine: Engine, length: int, batched_tokens: int, speculative: int = 0) -> int:
    """Blocks of the pool that one request of ``length`` tokens holds at most."""
    flight = engine.in_flight_batches * batched_tokens
    total = 0
    for group in cache.groups:
        if group.kind.kind == "state":
            total += 1 + speculative
        elif group.kind.kind in ("sliding", "chunked") and group.kind.window:
            ahead = group.kind.window - (1 if group.kind.kind == "sliding" else 0) + flight
            total += -(-min(ahead, length) // group.block_size) + (1 if group.kind.kind == "sliding" else 0)
        else:
            total += -(-length // group.block_size)
    return max(1, total)


def printed_tokens(cache: Cache, engine: Engine, blocks: int, length: int, per_request: int) -> int:
    """ "GPU KV cache size" as that version prints it."""
    if engine.tokens_are_derived:
        return int(blocks / per_request * length)
    sizes = [g.block_size for g in cache.groups if g.block_size] or [cache.block_size]
    return blocks // len(cache.groups) * min(sizes)
