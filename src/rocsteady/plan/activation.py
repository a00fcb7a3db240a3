"""What a start needs beside weights and KV cache: the profile run, memory outside torch, graphs."""

from __future__ import annotations

import math

import msgspec

from rocsteady.plan.constants import ZERO, Term, amount
from rocsteady.plan.shapes import Shape
from rocsteady.plan.versions import Engine

GIB = 1 << 30
INSTINCT = ("gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950")


class Limits(msgspec.Struct, frozen=True):
    """Scheduler limits that the profile run is made with."""

    sequences: int
    batched_tokens: int
    length: int


def default_limits(
    engine: Engine, total_gib: float, length: int, sequences: int | None, tokens: int | None, gpu: str
) -> Limits:
    """The limits of that version's server where they are not given."""
    if engine.v0:
        seqs = sequences or 256
        chunked = length > 32_768 and not engine.rocm
        batched = tokens or (2048 if chunked else max(length, 2048))
        return Limits(seqs, batched, length)
    large = total_gib >= 70 and "A100" not in gpu.upper() and "GB10" not in gpu.upper()
    seqs = sequences or (1024 if large and engine.at_least(0, 9) else 256)
    default = 8192 if large else 2048
    if total_gib >= 160 and engine.at_least(0, 27):
        default = 16_384
    return Limits(seqs, tokens or default, length)


def forward_gib(shape: Shape, tokens: int, tp: int, width: float) -> Term:
    """One forward pass: the MLP's intermediate results of all tokens beside some copies of the hidden state."""
    hidden = amount("forward.hidden")
    copies = 3.0 if shape.gated else 2.0
    inner = max(copies * shape.intermediate / tp, (shape.heads + 2 * shape.kv_heads) * shape.head_dim / tp)
    if shape.moe:
        per_token = max(1, shape.experts_per_token)
        expert = shape.expert_intermediate / tp
        inner = max(min(inner, copies * shape.intermediate / tp), per_token * (shape.hidden + copies * expert))
    values = [tokens * width * (inner + c * shape.hidden) / GIB for c in (hidden.point, hidden.low, hidden.high)]
    return Term(*values)


def sampler_gib(shape: Shape, engine: Engine, sequences: int) -> Term:
    """The dummy sampling run: ``sequences`` rows over the vocabulary."""
    name = ("sampler.sort.rocm" if engine.rocm else "sampler.sort") if engine.sorts_in_sampler else "sampler.kernel"
    return amount(name, sequences * shape.vocab * 4 / GIB)


def encoder_gib(shape: Shape, limits: Limits, tp: int, width: float) -> Term:
    """A dummy batch of encoder items (vision), or the encoder of an encoder-decoder model."""
    if shape.encoder_tokens:
        rows = limits.sequences * shape.encoder_tokens
        gib = rows * width * (2 * shape.intermediate / tp + 3.5 * shape.hidden) / GIB
        return Term(gib, 0.5 * gib, 1.2 * gib)
    vision = shape.vision
    if vision is None:
        return ZERO
    items = max(1, min(limits.batched_tokens // max(1, vision.item_tokens), limits.sequences))
    gib = items * vision.tokens * width * (2 * vision.intermediate / tp + 4 * vision.hidden) / GIB
    return Term(gib, 0.3 * gib, 1.5 * gib)


def activation_gib(shape: Shape, engine: Engine, limits: Limits, tp: int, width: float, gfx: str) -> Term:
    """The larger of forward pass, sampler and encoder; what the encoder leaves behind and BLAS workspace beside it."""
    candidates = [
        forward_gib(shape, limits.batched_tokens, tp, width),
        sampler_gib(shape, engine, limits.sequences),
        encoder_gib(shape, limits, tp, width),
    ]
    best = max(candidates, key=lambda t: t.point)
    low = max(best.low, *(c.low for c in candidates))
    # A smaller candidate only matters where its upper bound passes the winner's.
    high = max(best.high, *(c.high for c in candidates if c.point > 0.5 * best.point))
    total = Term(best.point, min(low, best.point), high)
    if shape.vision is not None and not engine.v0:
        total = total + amount("encoder.left")
    if gfx in ("gfx942", "gfx950"):
        total = total + amount("blas_workspace.instinct")
    return total


def non_torch_gib(shape: Shape, engine: Engine, tp: int, gfx: str) -> Term:
    """Memory outside torch's allocator as that version counts it."""
    if not engine.at_least(0, 4, 3):
        return amount("non_torch.whole_device")
    if not engine.rocm:
        if not engine.v0:
            return amount("non_torch.cuda.v1.tp" if tp > 1 else "non_torch.cuda.v1")
        nccl = engine.at_least(0, 6, 4) and not engine.at_least(0, 6, 6)
        return amount("non_torch.cuda.nccl_inside", min(tp, 2)) if nccl else amount("non_torch.cuda.v0", tp)
    if engine.v0:
        return amount("non_torch.rocm.v0")
    instinct = gfx in INSTINCT
    name = "non_torch.rocm.v1" + (".tp" if tp > 1 else "") + (".instinct" if instinct else "")
    term = amount(name)
    if instinct and any(k.kind == "state" for k in shape.layers):
        term = term + amount("linear_kernels.instinct")
    if not instinct and not engine.at_least(0, 12):
        term = term + amount("first_start.rocm.rdna")
    return term


def captured_graphs(engine: Engine, sequences: int, gpt_oss: bool) -> int:
    """Graphs of a start: capture sizes 1, 2, 4, 8 and on, once piecewise and once whole up to ``sequences``."""
    top = min(2 * sequences, 1024 if gpt_oss else 512) if not engine.v0 else min(sequences, 256)
    sizes = [s for s in (1, 2, 4) if s <= top] + list(range(8, min(top, 256) + 1, 8)) + list(range(272, top + 1, 16))
    whole = [s for s in sizes if s <= sequences]
    return len(sizes) if engine.v0 or not engine.at_least(0, 11) else len(sizes) + len(whole)


def graph_gib(shape: Shape, engine: Engine, limits: Limits, eager: bool, gfx: str) -> Term:
    """Memory of captured graphs."""
    if eager:
        return ZERO
    name = (
        "graph.cuda"
        if not engine.rocm
        else ("graph.rocm.gfx90a" if gfx == "gfx90a" and not engine.v0 else "graph.rocm")
    )
    count = captured_graphs(engine, limits.sequences, shape.model_type == "gpt_oss")
    return amount(name, count * max(1, len(shape.layers)) / 1024)


def spread(terms: list[Term]) -> tuple[float, float]:
    """How much less and more than the sum of points the terms may need together, as independent errors."""
    less = math.sqrt(sum((t.point - t.low) ** 2 for t in terms))
    more = math.sqrt(sum((t.high - t.point) ** 2 for t in terms))
    return less, more
