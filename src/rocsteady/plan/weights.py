"""Bytes of the weights on one GPU: precision by role, padding, sharding."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rocsteady.plan.constants import ZERO, Term, amount
from rocsteady.plan.shapes import Part, Shape
from rocsteady.plan.versions import Engine

GIB = 1 << 30
DTYPE_BYTES = {"bfloat16": 2.0, "float16": 2.0, "half": 2.0, "float32": 4.0, "float": 4.0, "float8_e4m3fn": 1.0}


class Scheme(msgspec.Struct, frozen=True):
    """A quantisation: bits per weight with scales, which roles it covers, whether it is stated or inferred."""

    name: str
    bits: float
    roles: frozenset[str]
    sure: bool


LINEAR = frozenset({"attention", "mlp", "expert", "state"})


def scheme_of(raw: dict[str, Any], named: str | None) -> Scheme | None:
    """The quantisation, from ``quantization_config`` (which describes the file) or the name that was given."""
    config = raw.get("quantization_config") or raw.get("compression_config")
    text = raw.get("text_config")
    if config is None and isinstance(text, dict):
        config = text.get("quantization_config")
    if isinstance(config, dict) and config:
        return _from_config(config)
    found = scheme_by_name(named) if named else None
    return None if found is None else msgspec.structs.replace(found, sure=False)


def scheme_by_name(name: str) -> Scheme | None:
    """A method by the name that vLLM or people give it; None for 16 bit or an unknown one."""
    text = name.lower()
    if ("mxfp4" in text and "fp8" in text) or text == "mxfp4":
        return Scheme("mxfp4", 4.25, frozenset({"expert"}) if text == "mxfp4" else LINEAR, True)
    if "nvfp4" in text:
        return Scheme("nvfp4", 4.5, LINEAR, True)
    if re.search(r"(?:^|[^a-z])(?:awq|gptq|int4|w4a16|4-?bit|auto_?round|wna16)", text):
        return Scheme(text, 4.15, LINEAR, True)
    if "bitsandbytes" in text or "bnb" in text:
        return Scheme("bitsandbytes", 4.13, LINEAR, True)
    if re.search(r"fp8|int8|w8a8|8-?bit|ptpc", text):
        return Scheme(text, 8.01, LINEAR, True)
    return None


def _from_config(config: dict[str, Any]) -> Scheme | None:
    method = str(config.get("quant_method", config.get("quant_algo", ""))).lower()
    ignored = config.get("ignore") or config.get("modules_to_not_convert") or []
    words = " ".join(str(w) for w in ignored) if isinstance(ignored, list) else ""
    roles = set(LINEAR)
    if "linear_attn" in words:
        roles.discard("state")
    if "self_attn" in words:
        roles.discard("attention")
    if method == "mxfp4":
        return Scheme("mxfp4", 4.25, frozenset({"expert"}), True)
    groups = config.get("config_groups")
    weights: dict[str, Any] = {}
    if isinstance(groups, dict):
        first = next((g for g in groups.values() if isinstance(g, dict)), {})
        weights = first.get("weights") or {}
    bits = weights.get("num_bits") or config.get("bits") or config.get("w_bit") or config.get("weight_bits")
    group = weights.get("group_size") or config.get("group_size") or config.get("q_group_size")
    if method in ("fp8", "fbgemm_fp8", "modelopt") and not bits:
        block = config.get("weight_block_size")
        return Scheme(method, 8 + (32 / 128 / 128 if block else 0.005), frozenset(roles), True)
    if config.get("load_in_4bit") or method == "bitsandbytes":
        return Scheme("bitsandbytes", 4.13 if not config.get("load_in_8bit") else 8.01, frozenset(roles), True)
    if not isinstance(bits, int | float) or not 1 <= bits <= 16:
        return scheme_by_name(method) if method else None
    scale = 16 / group if isinstance(group, int) and group > 0 else 0.01
    zero = (
        bits / group
        if isinstance(group, int) and group > 0 and (method == "awq" or weights.get("symmetric") is False)
        else 0
    )
    return Scheme(method or "quantised", bits + scale + zero, frozenset(roles), True)


class Load(msgspec.Struct, frozen=True):
    """Weights of the fullest GPU."""

    gib: Term
    notes: tuple[str, ...]


def weights_on(
    shape: Shape, engine: Engine, scheme: Scheme | None, dtype: str, tp: int, pp: int, positions: int, gfx: str,
    exact_bytes: int | None = None,
    expert_ranks: int = 1,
) -> Load:  # fmt: skip
    """GiB that the engine reports as loaded, by its own way of measuring.

    ``expert_ranks``: DP ranks over which expert parallelism divides the experts as well.
    """
    width = DTYPE_BYTES.get(dtype, 2.0)
    notes: list[str] = []
    total = sum(
        _bytes(p, scheme, width, tp, pp, shape) / (expert_ranks if p.role == "expert" else 1) for p in shape.parts
    )
    if exact_bytes is not None:
        planned = sum(_bytes(p, scheme, width, 1, 1, shape) for p in shape.parts) or 1.0
        total *= exact_bytes / planned
        notes.append(f"weights from the safetensors headers: {exact_bytes / GIB:.2f} GiB on disk")
    rope = positions * (shape.rotary_dim or 0) * width
    padding = _padding(shape, scheme, engine, tp, pp)
    gib = (total + rope) / GIB
    doubt = 0.0 if exact_bytes is not None and tp == 1 else 0.008
    if not shape.known and exact_bytes is None:
        doubt = 0.25
    elif scheme is not None and not scheme.sure:
        doubt = 0.08  # which layers a method left in 16 bit is in quantization_config only
    elif (shape.vision is not None or any(p.role == "state" for p in shape.parts)) and exact_bytes is None:
        doubt = 0.02
    term = Term(gib, gib * (1 - doubt), gib * (1 + doubt)) + padding
    if engine.whole_device_weights:
        term = term + amount("load_overhead.gfx942" if gfx == "gfx942" else "load_overhead.rocm")
        if shape.vision is not None:
            term = term + amount("load_overhead.rocm.encoder")
        notes.append("this version measures loading on ROCm as the change of the whole device")
    return Load(term, tuple(notes))


def _bytes(part: Part, scheme: Scheme | None, width: float, tp: int, pp: int, shape: Shape) -> float:
    each = width
    if scheme is not None and part.role in scheme.roles:
        each = scheme.bits / 8
    elif scheme is not None and scheme.name.startswith("fp8 + mxfp4"):
        each = 1.0
    size = part.count * each
    if part.split and tp > 1:
        size /= min(tp, part.heads_split) if part.heads_split else tp
    if pp > 1 and part.layered:
        size *= -(-len(shape.layers) // pp) / max(1, len(shape.layers))
    return size


def _padding(shape: Shape, scheme: Scheme | None, engine: Engine, tp: int, pp: int) -> Term:
    """Kernel layouts pad the expert matrices (64 columns on CUDA, 256 bytes a row on ROCm)."""
    if scheme is None or not shape.moe or scheme.name != "mxfp4":
        if scheme is not None and shape.moe and engine.rocm and scheme.bits < 8:
            rows = sum(p.count for p in shape.parts if p.role == "expert") / max(1, shape.expert_intermediate)
            gib = rows * 16 * scheme.bits / 8 / GIB / pp
            return Term(gib, 0.0, 2 * gib)
        return ZERO
    inner = shape.expert_intermediate // tp or shape.expert_intermediate
    step = 256 if engine.rocm else 128
    padded = (-(-inner // step) * step / inner) * (-(-shape.hidden // 256) * 256 / shape.hidden)
    gib = sum(p.count for p in shape.parts if p.role == "expert") * scheme.bits / 8 / GIB / tp / pp * (padded - 1)
    return Term(gib, 0.0, gib * 1.5)
