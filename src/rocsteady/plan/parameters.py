"""Counting parameters by role, from the shapes of the matrices."""

from __future__ import annotations

from rocsteady.plan.config import Reader
from rocsteady.plan.shapes import Attention, Part, Vision

STATE_ONLY = ("mamba", "mamba2", "falcon_mamba")
"""Families whose layers are a state and its projections, without an MLP; ``intermediate_size`` is the state's width."""


def parts_of(
    reader: Reader,
    layers: tuple[Attention, ...],
    model_type: str,
    hidden: int,
    heads: int,
    head_dim: int,
    intermediate: int,
    vocab: int,
    gated: bool,
    tied: bool,
    vision: Vision | None,
) -> tuple[Part, ...]:
    """All parameters by role. Layer norms and biases are counted where they are more than a rounding error."""
    count = reader.named("layers") or len(layers)
    parts: list[Part] = [Part(role="embedding", count=vocab * hidden, layered=False)]
    if not tied:
        parts.append(Part(role="head", count=vocab * hidden, layered=False))
    for kind in layers:
        parts.extend(_attention(reader, kind, hidden, heads, head_dim))
    matrices = 3 if gated else 2
    dense, sparse = _dense_and_sparse(reader, count)
    if model_type in STATE_ONLY:
        dense = 0
    parts.append(Part(role="mlp", count=dense * matrices * hidden * intermediate))
    experts = reader.named("experts", 0) or 0
    if sparse and experts:
        inner = reader.named("expert_intermediate") or intermediate
        latent = reader.whole("moe_latent_size")  # latent MoE (Nemotron 3): experts work on a projection of the stream
        parts.append(Part(role="expert", count=sparse * experts * matrices * (latent or hidden) * inner))
        if latent:
            parts.append(Part(role="mlp", count=sparse * 2 * hidden * latent, split=False))
        parts.append(Part(role="router", count=sparse * experts * hidden, split=False))
        shared = reader.named("shared_intermediate", 0) or (reader.named("shared_experts", 0) or 0) * inner
        if not shared and model_type.startswith("llama4"):
            shared = intermediate
        if shared:
            parts.append(Part(role="mlp", count=sparse * matrices * hidden * shared))
    if model_type.startswith("gemma4") and experts:
        parts.append(Part(role="mlp", count=count * matrices * hidden * intermediate))
    parts.append(Part(role="norm", count=count * 2 * hidden + hidden, split=False))
    encoder_layers = reader.whole("encoder_layers") or 0
    if encoder_layers:
        parts.append(Part(role="attention", count=encoder_layers * 4 * hidden * hidden, layered=False))
        parts.append(Part(role="attention", count=count * 4 * hidden * hidden))  # cross attention
        inner = reader.whole("encoder_ffn_dim") or intermediate
        parts.append(Part(role="mlp", count=encoder_layers * 2 * hidden * inner, layered=False))
        positions = (reader.whole("max_source_positions") or 0) + (reader.whole("max_target_positions") or 0)
        parts.append(Part(role="embedding", count=positions * hidden, split=False, layered=False))
    if vision is not None:
        parts.append(Part(role="vision", count=vision.parameters, layered=False))
    return tuple(p for p in parts if p.count)


def _dense_and_sparse(reader: Reader, layers: int) -> tuple[int, int]:
    """Layers with a plain MLP and with experts."""
    pattern = reader.text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return pattern.count("-"), pattern.count("E")
    if not (reader.named("experts", 0) or 0) > 1:
        return layers, 0
    only_mlp = reader.text.get("mlp_only_layers")
    dense = len(only_mlp) if isinstance(only_mlp, list) else 0
    dense += reader.whole("first_k_dense_replace", 0) or 0
    step = (
        reader.whole("decoder_sparse_step")
        or reader.whole("interleave_moe_layer_step")
        or reader.whole("expert_layer_period")
        or 1
    )
    sparse = max(0, layers - dense) // step
    return layers - sparse, sparse


def _attention(reader: Reader, kind: Attention, hidden: int, heads: int, head_dim: int) -> list[Part]:
    if kind.kind == "state":
        return _state(reader, kind, hidden)
    latent = reader.whole("kv_lora_rank")
    if kind.kind == "mla" and latent:
        rope, nope = reader.whole("qk_rope_head_dim") or 64, reader.whole("qk_nope_head_dim") or 128
        value = reader.whole("v_head_dim") or 128
        rank = reader.whole("q_lora_rank")
        query = rank * heads * (rope + nope) if rank else hidden * heads * (rope + nope)
        down = hidden * (latent + rope) + (hidden * rank if rank else 0)
        split = query + latent * heads * (nope + value) + heads * value * hidden
        return [Part(role="attention", count=split), Part(role="attention", count=down, split=False)]
    head_dim = kind.head_dim_k or head_dim
    rank = reader.whole("q_lora_rank")
    gate = 2 if reader.flag("attn_output_gate") else 1
    query = hidden * rank + rank * heads * head_dim if rank else gate * hidden * heads * head_dim
    out = heads * head_dim * hidden
    groups = reader.whole("o_lora_rank")
    if rank and groups:  # DeepSeek V4: low-rank output in groups
        out = heads * head_dim * groups + groups * (reader.whole("o_groups") or 8) * hidden
    doubled = 1 if reader.flag("attention_k_eq_v") and kind.kind == "full" and reader.whole("global_head_dim") else 2
    key_value = doubled * hidden * kind.kv_heads * head_dim
    bias = (heads + 2 * kind.kv_heads) * head_dim if reader.flag("attention_bias") else 0
    return [
        Part(role="attention", count=query + out + bias),
        Part(role="attention", count=key_value, heads_split=kind.kv_heads),
    ]


def _state(reader: Reader, kind: Attention, hidden: int) -> list[Part]:
    """Projections around a fixed state."""
    key_heads, value_heads = reader.whole("linear_num_key_heads"), reader.whole("linear_num_value_heads")
    if key_heads and value_heads:
        key = key_heads * (reader.whole("linear_key_head_dim") or 128)
        value = value_heads * (reader.whole("linear_value_head_dim") or 128)
        return [Part(role="state", count=hidden * (2 * key + 2 * value + 2 * value_heads) + value * hidden)]
    size = reader.whole("mamba_d_state") or reader.whole("ssm_state_size") or reader.whole("state_size") or 0
    elements = kind.state_model + kind.state_float32
    inner = elements // (size + 3) if size else hidden
    rank = reader.whole("time_step_rank") or reader.whole("mamba_dt_rank") or 0
    selection = inner * 2 * (rank + size) if rank else 0  # Mamba 1 projects to step size, input and output matrices
    return [Part(role="state", count=3 * hidden * inner + selection)]
