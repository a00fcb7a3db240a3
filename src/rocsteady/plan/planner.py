"""From a budget to the plan that is printed: phases, advice, thresholds, warnings, the command."""

from __future__ import annotations

import shlex

from rocsteady.model import Advice, Guard, MemoryPlan, Phase
from rocsteady.plan.activation import INSTINCT
from rocsteady.plan.budget import GIB, Budget, Request, budget_of
from rocsteady.plan.tuning import rules_of_thumb, tune

CUSTOM_ATTENTION_LIMIT = 131_072
"""ROCm's custom paged attention on gfx9 stops here; decode falls back to a slower kernel for every request."""
HEADROOM_GIB = 0.15
"""What vLLM itself leaves when it prints the KV bytes to pass (150 MiB), used as the least free memory."""


def make_plan(request: Request, layout: dict[str, object] | None = None) -> MemoryPlan:
    """Plan a request.

    Raises:
        InputError: contradictory or impossible input.
    """
    return describe(budget_of(request), layout)


def describe(b: Budget, layout: dict[str, object] | None = None) -> MemoryPlan:
    """The document of a budget."""
    return MemoryPlan(
        fits=b.fits, fits_by_gib=b.fits_by_gib, per_gpu=b.per_gpu, interval=b.interval, kv_tokens=b.kv_tokens,
        max_concurrency=round(b.max_concurrency, 2), assumptions=b.notes, warnings=tuple(warnings_of(b, layout)),
        command=command(b), environment=environment(b), inputs=inputs_of(b), kv=kv_of(b), phases=phases(b),
        advice=advice(b), guard=guard(b), layout=layout, tuning=tune(b), rules_of_thumb=rules_of_thumb(b),
    )  # fmt: skip


def inputs_of(b: Budget) -> dict[str, object]:
    """What was planned with, defaults filled."""
    r = b.request
    return {
        "model": r.model, "architecture": b.shape.architecture, "parameters": b.shape.parameters, "gpu": b.device.name,
        "gfx": b.device.gfx or None, "tp": r.tp, "pp": r.pp, "dp": r.dp, "ep": r.ep, "dtype": b.dtype,
        "quantization": b.scheme.name if b.scheme else None, "kv_cache_dtype": r.kv_cache_dtype or "auto",
        "max_model_len": b.limits.length, "max_num_seqs": b.limits.sequences,
        "max_num_batched_tokens": b.limits.batched_tokens, "gpu_memory_utilization": b.utilization,
        "enforce_eager": r.enforce_eager, "block_size": b.cache.block_size,
        "engine_version": ".".join(map(str, b.engine.version)),
    }  # fmt: skip


def kv_of(b: Budget) -> dict[str, object]:
    """The exact part: groups, block bytes, blocks."""
    return {
        "block_bytes": int(b.cache.block_bytes),
        "block_size": b.cache.block_size,
        "blocks": b.cache.blocks(b.per_gpu.kv_cache_gib * GIB),
        "blocks_per_request": b.per_request,
        "padding_layers": b.cache.padding_layers,
        "groups": [{"kind": g.kind.kind, "layers": g.layers, "block_size": g.block_size} for g in b.cache.groups],
    }


def phases(b: Budget) -> tuple[Phase, ...]:
    """The three phases of a start and what is resident in each at most."""
    g = b.per_gpu
    loaded = g.weights_gib
    profile = loaded + g.activation_gib + g.non_torch_gib
    serving = profile + g.kv_cache_gib + g.graph_gib
    rows = (
        ("weights", loaded, "weights and buffers of this GPU's shard"),
        ("activation profile", profile, "dummy forward, sampler and encoder batch beside the weights"),
        (
            "KV cache and graphs",
            serving,
            "KV cache allocated, graphs captured; the profile's peak comes back in service",
        ),
    )
    return tuple(Phase(name=n, peak_gib=p, free_gib=g.total_gib - p, what=w) for n, p, w in rows)


def warnings_of(b: Budget, layout: dict[str, object] | None) -> list[str]:
    """What a person should know before the start."""
    out: list[str] = []
    gfx9 = b.device.gfx.startswith("gfx9") and b.device.gfx in INSTINCT
    if gfx9 and b.limits.length > CUSTOM_ATTENTION_LIMIT:
        out.append(
            f"max_model_len {b.limits.length} is above {CUSTOM_ATTENTION_LIMIT:,}: ROCm's custom paged attention stops there and "
            "every request decodes with a slower kernel; one report measures 10x. Keep --max-model-len at 131072 or below"
        )
    serving = (
        b.per_gpu.weights_gib
        + b.per_gpu.activation_gib
        + b.per_gpu.non_torch_gib
        + b.per_gpu.kv_cache_gib
        + b.per_gpu.graph_gib
    )
    if not b.engine.graphs_in_budget and serving > b.per_gpu.total_gib - HEADROOM_GIB:
        out.append(
            f"graphs ({b.graph.low:.1f} to {b.graph.high:.1f} GiB) are captured outside the budget of this version and leave "
            f"{b.per_gpu.total_gib - serving:.1f} GiB: capture can run out of memory; lower --gpu-memory-utilization"
        )
    if b.fits and b.interval.kv_tokens[0] < b.limits.length and b.cache and len(b.cache.groups) == 1:
        out.append(
            "fits by the point estimate only: at the low end of the interval one request of full length has no room"
        )
    if len(b.cache.groups) > 1 and b.limits.length > b.kv_tokens:
        out.append(
            f"one request of {b.limits.length} tokens is longer than the {b.kv_tokens} tokens that this version prints; by the "
            "group arithmetic it fits, but one report of a hybrid model saw such requests never scheduled"
        )
    heads = b.shape.kv_heads
    if b.request.tp > heads and not any(k.kind == "mla" for k in b.shape.layers):
        out.append(
            f"TP {b.request.tp} is above the {heads} KV heads: they are replicated, so the cache does not shrink further"
        )
    if b.request.tp > 1 and any(k.kind == "mla" for k in b.shape.layers):
        out.append(
            "MLA keeps one latent per token on every TP rank: more TP gives no smaller cache per token; DP attention would"
        )
    if (
        b.engine.rocm
        and b.scheme
        and b.scheme.name.startswith("fp8")
        and b.device.gfx in ("gfx906", "gfx908", "gfx90a", "gfx1030", "gfx1100", "gfx1101")
    ):
        out.append(
            f"{b.device.gfx} has no FP8 in hardware: weights are kept in 8 bit and computed in 16 bit, if the engine takes them at all"
        )
    if b.shape.vision is not None and b.shape.vision.any_size:
        out.append(
            "images and videos of any size: the profile run encodes the largest that the processor allows, which config.json does "
            "not state, so the start can need GiB more than planned; starts failed by it (vLLM issues 18124, 27706). Bound it with "
            "--limit-mm-per-prompt and max_pixels"
        )
    if layout and layout.get("warning"):
        out.append(str(layout["warning"]))
    return out


def command(b: Budget) -> str:
    """The whole ``vllm serve`` line."""
    r = b.request
    words = ["vllm", "serve", r.model, "--tensor-parallel-size", str(r.tp)]
    if r.pp > 1:
        words += ["--pipeline-parallel-size", str(r.pp)]
    if r.dp > 1:
        words += ["--data-parallel-size", str(r.dp)]
    if r.ep:
        words += ["--enable-expert-parallel"]
    words += ["--dtype", b.dtype if r.dtype else "auto", "--max-model-len", str(b.limits.length)]
    words += ["--max-num-seqs", str(b.limits.sequences), "--max-num-batched-tokens", str(b.limits.batched_tokens)]
    words += ["--gpu-memory-utilization", f"{b.utilization:g}"]
    if r.quantization:
        words += ["--quantization", r.quantization.split()[0]]
    if r.kv_cache_dtype and r.kv_cache_dtype.split()[0] != "auto":
        words += ["--kv-cache-dtype", r.kv_cache_dtype.split()[0]]
    if r.block_size:
        words += ["--block-size", str(r.block_size)]
    if r.kv_cache_memory_bytes:
        words += ["--kv-cache-memory-bytes", str(r.kv_cache_memory_bytes)]
    if r.enforce_eager:
        words += ["--enforce-eager"]
    return shlex.join(words)


def environment(b: Budget) -> dict[str, str]:
    """Variables that belong to the command."""
    if not b.engine.rocm:
        return {}
    devices = ",".join(str(i) for i in range(b.request.tp * b.request.pp * b.request.dp))
    return {"HIP_VISIBLE_DEVICES": devices}


def guard(b: Budget) -> Guard:
    """Thresholds that alerts, gateway and heal take over."""
    g = b.per_gpu
    upper = g.weights_gib + b.activation.high + b.non_torch.high + g.kv_cache_gib + max(0.0, b.graph.high)
    watermark = min(0.995, upper / g.total_gib) if g.total_gib else 0.0
    low_tokens = b.interval.kv_tokens[0]
    blocks = b.cache.blocks(b.interval.kv_cache_gib[0] * GIB)
    requests = max(0, min(b.limits.sequences, blocks // b.per_request))
    return Guard(
        memory_watermark_ratio=round(watermark, 4),
        kv_usage_ratio=0.9,
        admission_tokens=low_tokens,
        admission_requests=requests,
        reasons=(
            "memory_watermark_ratio: upper end of every planned term over the driver's total; above it something else is on the GPU",
            "kv_usage_ratio: vLLM preempts when no block is free; a tenth is left for requests that grow while they decode",
            "admission: low end of the interval, so that the limit holds on a card that turned out less lucky",
        ),
    )


def advice(b: Budget) -> tuple[Advice, ...]:
    """What to change first, largest effect first. Empty where it fits with room for two requests."""
    if b.fits and b.max_concurrency >= 2:
        return ()
    out: list[Advice] = []
    per_request = b.per_request * b.cache.block_bytes / GIB
    if b.fits_by_gib < 0 and b.kv_gib > 0 and per_request:
        share = b.kv_gib / per_request
        fitting = int(b.limits.length * share) // 16 * 16
        if fitting > 256:
            out.append(
                Advice(
                    setting="--max-model-len",
                    value=str(fitting),
                    reason="longest request that fits as it is",
                    gain_gib=per_request - b.kv_gib,
                )
            )
    head = b.device.total_gib * 0.95 - b.per_gpu.requested_gib
    if head > 0.1 and b.request.kv_cache_memory_bytes is None:
        out.append(
            Advice(
                setting="--gpu-memory-utilization",
                value="0.95",
                reason="unused share of the GPU; graphs outside the budget need the rest",
                gain_gib=head,
            )
        )
    if (b.request.kv_cache_dtype or "auto").startswith("auto") and b.cache.block_bytes:
        out.append(
            Advice(
                setting="--kv-cache-dtype",
                value="fp8",
                reason="halves the KV cache per token",
                gain_gib=per_request / 2,
            )
        )
    if b.limits.sequences > 64 and b.activation.point > 0.5:
        out.append(
            Advice(
                setting="--max-num-seqs",
                value="64",
                reason="the sampler's dummy run falls in proportion",
                gain_gib=b.activation.point * (1 - 64 / b.limits.sequences) / 2,
            )
        )
    if b.scheme is None:
        out.append(
            Advice(
                setting="--quantization",
                value="fp8 or a 4-bit checkpoint",
                reason="halves or quarters the weights",
                gain_gib=b.weights.point * 0.45,
            )
        )
    tp = b.request.tp * 2
    if b.shape.heads % tp == 0:
        out.append(
            Advice(
                setting="--tensor-parallel-size",
                value=str(tp),
                reason="halves weights and KV cache per GPU",
                gain_gib=b.weights.point / 2,
            )
        )
    return tuple(sorted(out, key=lambda a: -(a.gain_gib or 0)))
