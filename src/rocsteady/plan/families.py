"""From a configuration to a ``Shape``: what the architectures mean by their keys."""

from __future__ import annotations

from rocsteady.model import InputError
from rocsteady.plan.config import Reader
from rocsteady.plan.parameters import parts_of
from rocsteady.plan.shapes import Attention, Kind, Shape
from rocsteady.plan.vision import vision_of

KNOWN = (
    "llama", "mistral", "ministral", "mixtral", "qwen", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "qwen3_next", "qwen3_5",
    "gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "phi", "phi3", "phi4", "phimoe", "gpt_oss", "deepseek", "kimi", "glm",
    "chatglm", "whisper", "falcon", "gpt2", "gpt_neox", "gptj", "opt", "bloom", "mpt", "starcoder2", "stablelm", "internlm",
    "baichuan", "yi", "olmo", "granite", "cohere", "command", "exaone", "minicpm", "jamba", "mamba", "bamba", "nemotron",
    "falcon_h1", "falcon_mamba", "zamba", "lfm2", "hunyuan", "minimax", "ernie4_5", "llama4", "mllama", "llava", "pixtral",
    "internvl", "dots1", "seed_oss", "smollm", "arcee", "solar", "grok", "dbrx", "plamo", "apertus", "step", "bailing",
    "longcat", "mimo", "idefics", "paligemma", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "molmo", "aria", "ovis",
)  # fmt: skip
"""Beginnings of ``model_type`` whose keys the reader below knows. Others are planned by the common keys, with doubt."""
UNGATED = ("gpt2", "gpt_neox", "gptj", "opt", "bloom", "mpt", "starcoder2", "whisper", "phi", "falcon", "nemotron")
"""MLPs of two matrices instead of three. ``phi`` is phi-1 to phi-2 only; Phi-3 and later are gated."""
STATE_WORDS = (
    "linear_attention",
    "mamba",
    "mamba2",
    "recurrent",
    "gated_deltanet",
    "conv",
    "lightning",
    "kda",
    "linear",
)


def shape_of(raw: dict[str, object], where: str) -> tuple[Shape, list[str]]:
    """The shape and the assumptions that were needed.

    Raises:
        InputError: what cannot be planned without is missing or absurd; the message names the key.
    """
    reader = Reader(raw, where)
    notes: list[str] = []
    architectures = reader.names_of("architectures") or _strings(raw.get("architectures"))
    architecture = architectures[0] if architectures else ""
    model_type = (
        reader.text_of("text_model_type") or reader.text_of("model_type") or _string(raw.get("model_type")) or ""
    ).removesuffix("_text")
    known = any(model_type.replace("-", "_").startswith(k) for k in KNOWN)
    hidden, layers, heads = _needed(reader)
    head_dim = reader.named("head_dim") or max(1, hidden // heads)
    if reader.named("head_dim") is None and hidden % heads and not reader.whole("kv_lora_rank"):
        notes.append(f"hidden size {hidden} is no multiple of {heads} heads: head_dim {head_dim} assumed")
    kv_heads = reader.named("kv_heads") or (
        1 if reader.flag("multi_query") and not reader.flag("new_decoder_architecture") else heads
    )
    if kv_heads > heads:
        raise InputError(f"{where}: {kv_heads} key-value heads for {heads} attention heads")
    vocab = reader.named("vocab") or 0
    if not vocab:
        vocab = 32_000
        notes.append(
            "vocab_size is not in the configuration: 32,000 assumed; embeddings and sampler memory are guesses"
        )
    intermediate = reader.named("intermediate") or 0
    moe_intermediate = reader.named("expert_intermediate") or 0
    if not intermediate:
        intermediate = moe_intermediate or 4 * hidden
        if not moe_intermediate and "mamba" not in model_type:
            notes.append(f"intermediate size is not in the configuration: {intermediate} assumed")
    positions = reader.named("positions") or 0
    if not positions:
        positions = 4096
        notes.append("the configuration states no context length: 4,096 assumed")
    scaling = reader.section("rope_scaling", "rope_parameters")
    if (
        scaling
        and scaling.get("rope_type", scaling.get("type")) in ("yarn",)
        and isinstance(scaling.get("factor"), int | float)
    ):
        original = scaling.get("original_max_position_embeddings")
        if isinstance(original, int) and original * scaling["factor"] > positions:
            positions = int(original * scaling["factor"])
    searched = reader.text.get("block_configs")
    if isinstance(searched, list) and searched:
        known = False
        notes.append(
            f"block_configs: {len(searched)} layers of different width (a network from architecture search); planned as if all "
            "were alike, so weights and KV cache are guesses with a wide interval"
        )
    elif not known:
        named = model_type or architecture or "no model_type and no architectures"
        notes.append(
            f"unknown architecture ({named}): planned as a plain decoder from the common keys; layer kinds, shared or "
            "extra parameters are not known, so the interval is wide"
        )
    gated = not any(model_type == u or (u not in ("phi", "falcon") and model_type.startswith(u)) for u in UNGATED)
    dtype = (
        reader.text_of("torch_dtype")
        or reader.text_of("dtype")
        or _string(raw.get("torch_dtype"))
        or _string(raw.get("dtype"))
    )
    if dtype is None:
        notes.append("the configuration states no dtype: bfloat16 assumed")
    attention = layer_kinds(reader, layers, kv_heads, head_dim, notes)
    vision = vision_of(raw, hidden)
    tied = _tied(reader, raw, model_type)
    experts = reader.named("experts", 0) or 0
    per_token = reader.named("experts_per_token", 0) or 0
    parts = parts_of(reader, attention, model_type, hidden, heads, head_dim, intermediate, vocab, gated, tied, vision)
    shape = Shape(
        architecture=architecture, model_type=model_type, hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim,
        intermediate=intermediate, vocab=vocab, positions=positions, dtype=(dtype or "bfloat16").removeprefix("torch."),
        layers=attention, parts=parts, gated=gated, experts=experts, experts_per_token=per_token,
        expert_intermediate=moe_intermediate or (intermediate if experts else 0),
        rotary_dim=int(head_dim * reader.number("partial_rotary_factor", 1.0)) if model_type != "whisper" else 0,
        vision=vision, encoder_tokens=reader.whole("max_source_positions") or 0, tied=tied, known=known, moe=experts > 1,
        mtp_layers=reader.whole("num_nextn_predict_layers", 0) or reader.whole("mtp_num_hidden_layers", 0) or 0,
    )  # fmt: skip
    return shape, notes


def _needed(reader: Reader) -> tuple[int, int, int]:
    """Hidden size, layers, heads: nothing can be planned without them."""
    hidden, layers, heads = reader.named("hidden"), reader.named("layers"), reader.named("heads")
    if heads is None and (reader.whole("state_size") or reader.whole("ssm_state_size")):
        heads = 1  # a pure Mamba has no attention heads
    missing = [
        k
        for k, v in (("hidden_size", hidden), ("num_hidden_layers", layers), ("num_attention_heads", heads))
        if v is None
    ]
    if hidden is None or layers is None or heads is None:
        raise InputError(f"{reader.where}: no {' and no '.join(missing)}: not the config.json of a language model")
    return hidden, layers, heads


def _tied(reader: Reader, raw: dict[str, object], model_type: str) -> bool:
    for source in (reader.text, raw):
        value = source.get("tie_word_embeddings")
        if isinstance(value, bool):
            return value
    return model_type.startswith(("gemma", "whisper", "cohere", "gpt2"))


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _strings(value: object) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def layer_kinds(reader: Reader, layers: int, kv_heads: int, head_dim: int, notes: list[str]) -> tuple[Attention, ...]:
    """The attention of each layer, from ``layer_types`` or the rule of the family."""
    full = Attention(
        kind="full", kv_heads=kv_heads, head_dim_k=head_dim, head_dim_v=reader.whole("v_head_dim") or head_dim
    )
    latent = reader.whole("kv_lora_rank")
    if latent:
        index = 132 if reader.whole("index_head_dim") and reader.whole("index_topk") else 0
        full = Attention(
            kind="mla", kv_heads=1, head_dim_k=latent + (reader.whole("qk_rope_head_dim") or 0), extra_per_token=index
        )
    window = reader.whole("sliding_window", 0) or 0
    ratios = reader.text.get("compress_ratios")
    if isinstance(ratios, list) and len(ratios) >= layers and all(isinstance(r, int) for r in ratios):
        return _compressed(ratios[:layers], head_dim, window)
    sliding = Attention(
        kind="sliding", kv_heads=kv_heads, head_dim_k=head_dim, head_dim_v=full.head_dim_v, window=window
    )
    if reader.whole("global_head_dim"):
        wide = reader.whole("global_head_dim") or head_dim
        full = Attention(
            kind="full",
            kv_heads=reader.whole("num_global_key_value_heads") or kv_heads,
            head_dim_k=wide,
            head_dim_v=wide,
        )
    state = state_layer(reader)
    kinds = _kind_words(reader, layers, window)
    if len(kinds) != layers:
        notes.append(f"layer_types names {len(kinds)} layers of {layers}: the rest is taken as full attention")
        kinds = (kinds + ["full_attention"] * layers)[:layers]
    chunk = reader.whole("attention_chunk_size", 0) or 0
    known: dict[str, Attention] = {
        "sliding_attention": sliding,
        "full_attention": full,
        "attention": full,
        "global": full,
        "deepseek_sparse_attention": full,
    }
    out: list[Attention] = []
    for word in kinds:
        if word == "chunked_attention" and chunk:
            out.append(
                Attention(kind="chunked", kv_heads=kv_heads, head_dim_k=head_dim, head_dim_v=head_dim, window=chunk)
            )
        elif word in ("none", "moe", "mlp"):
            continue
        elif word == "sliding_attention" and not window:
            out.append(full)
        elif any(w in word for w in STATE_WORDS):
            if state is None:
                raise InputError(f"{reader.where}: layer_types names {word} but the size of its state is not given")
            out.append(state)
        else:
            out.append(known.get(word, full))
            note = f"layer type {word!r} is not known: planned as full attention"
            if word not in known and note not in notes:
                notes.append(note)
    return tuple(out)


def _compressed(ratios: list[int], head_dim: int, window: int) -> tuple[Attention, ...]:
    """DeepSeek V4: latents over 4 or 128 tokens, pages padded to those of ratio 4, which keeps an index as well."""
    local = Attention(kind="sliding", kv_heads=1, head_dim_k=head_dim, window=window or 128)
    four = Attention(kind="mla", kv_heads=1, head_dim_k=head_dim, compress=4, doubled=True)
    many = Attention(kind="mla", kv_heads=1, head_dim_k=head_dim, compress=4)
    return tuple(local if r <= 1 else four if r <= 4 else many for r in ratios)


def _kind_words(reader: Reader, layers: int, window: int) -> list[str]:
    words = reader.names_of("layer_types") or reader.names_of("layers_block_type")
    if words:
        return words
    pattern = reader.text.get("hybrid_override_pattern")
    if isinstance(pattern, str):  # Nemotron-H: M = Mamba, * = attention, - = MLP
        return [{"M": "mamba", "*": "full_attention"}.get(c, "none") for c in pattern]
    interval = reader.whole("full_attention_interval") or 0
    if interval:
        return ["full_attention" if (i + 1) % interval == 0 else "linear_attention" for i in range(layers)]
    nested = reader.section("linear_attn_config")
    if nested and isinstance(nested.get("full_attn_layers"), list):
        full = {n for n in nested["full_attn_layers"] if isinstance(n, int)}
        return ["full_attention" if i + 1 in full else "linear_attention" for i in range(layers)]
    period, offset = reader.whole("attn_layer_period"), reader.whole("attn_layer_offset", 0)
    if period:
        return ["full_attention" if i % period == (offset or 0) else "mamba" for i in range(layers)]
    model_type = reader.text_of("model_type") or ""
    if "mamba" in model_type and reader.named("kv_heads") is None and not reader.whole("attention_head_dim"):
        return ["mamba"] * layers
    step = reader.whole("sliding_window_pattern") or (
        {"gemma2": 2, "gemma3": 6, "cohere2": 4}.get(model_type.removesuffix("_text")) or 0
    )
    if window and step > 1:
        return ["full_attention" if (i + 1) % step == 0 else "sliding_attention" for i in range(layers)]
    if window and model_type.startswith("qwen2") and not reader.flag("use_sliding_window"):
        return ["full_attention"] * layers
    if (
        window
        and reader.text.get("use_sliding_window") is not False
        and model_type.startswith(("mistral", "mixtral", "phi3", "starcoder2"))
    ):
        return ["sliding_attention"] * layers
    if reader.whole("attention_chunk_size") and model_type.startswith("llama4"):
        return ["full_attention" if (i + 1) % 4 == 0 else "chunked_attention" for i in range(layers)]
    return ["full_attention"] * layers


def state_layer(reader: Reader) -> Attention | None:
    """The fixed state of a linear-attention or Mamba layer, in elements over all heads."""
    wide = (reader.text_of("mamba_ssm_dtype") or reader.text_of("mamba_ssm_cache_dtype") or "") == "float32"
    key_heads, value_heads = reader.whole("linear_num_key_heads"), reader.whole("linear_num_value_heads")
    nested = reader.section("linear_attn_config")
    if nested and isinstance(nested.get("num_heads"), int) and isinstance(nested.get("head_dim"), int):
        heads, dim, kernel = nested["num_heads"], nested["head_dim"], nested.get("short_conv_kernel_size", 4)
        return Attention(kind="state", state_model=(int(kernel) - 1) * 3 * heads * dim, state_float32=heads * dim * dim)
    if key_heads and value_heads:
        key_dim, value_dim = reader.whole("linear_key_head_dim") or 128, reader.whole("linear_value_head_dim") or 128
        kernel = reader.whole("linear_conv_kernel_dim") or 4
        conv = (kernel - 1) * (2 * key_heads * key_dim + value_heads * value_dim)
        matrix = value_heads * key_dim * value_dim
        return _state(conv, matrix, wide)
    size = reader.whole("mamba_d_state") or reader.whole("ssm_state_size") or reader.whole("state_size")
    if size:
        hidden = reader.named("hidden") or 0
        expand = int(reader.number("mamba_expand", reader.number("expand", 2)))
        heads2, dim2 = (
            reader.whole("mamba_n_heads") or reader.whole("mamba_num_heads"),
            reader.whole("mamba_d_head") or reader.whole("mamba_head_dim"),
        )
        inner = heads2 * dim2 if heads2 and dim2 else reader.whole("mamba_d_ssm") or expand * hidden
        groups = reader.whole("mamba_n_groups") or reader.whole("n_groups") or (1 if heads2 else 0)
        kernel = reader.whole("mamba_d_conv") or reader.whole("conv_kernel") or reader.whole("d_conv") or 4
        return _state((kernel - 1) * (inner + 2 * groups * size), inner * size, wide)
    kernel = reader.whole("conv_L_cache")  # LFM2: short convolutions only
    if kernel:
        return _state(kernel * (reader.named("hidden") or 0), 0, False)
    return None


def _state(conv: int, matrix: int, wide: bool) -> Attention:
    if wide:
        return Attention(kind="state", state_model=conv, state_float32=matrix)
    return Attention(kind="state", state_model=conv + matrix)


__all__ = ["KNOWN", "Kind", "layer_kinds", "shape_of", "state_layer"]
