"""Scheduler settings from the plan and an SLO, and the rules of thumb that circulate beside them."""

from __future__ import annotations

import math
from typing import Any

from rocsteady.model import Advice
from rocsteady.plan.budget import GIB, Budget
from rocsteady.plan.kv import blocks_per_request


def tune(
    b: Budget, users: int | None = None, context: int | None = None, ttft_s: float | None = None
) -> tuple[Advice, ...]:
    """max_num_seqs, batched tokens, utilization, block size, offload, speculation: each with its reason.

    ``context`` is the usual length of a request (default: a quarter of max_model_len), ``ttft_s`` the wanted time to
    first token for that context.
    """
    length = context or max(1, b.limits.length // 4)
    each = blocks_per_request(b.cache, b.engine, length, b.limits.batched_tokens, b.request.speculative_tokens)
    blocks = b.cache.blocks(b.interval.kv_cache_gib[0] * GIB)
    room = max(1, blocks // each)
    wanted = min(room, users) if users else room
    seqs = max(1, min(1024, wanted))
    out = [
        Advice(
            setting="--max-num-seqs",
            value=str(seqs),
            reason=f"{room} requests of {length} tokens have room at the low end of the interval; more only wait in the cache or are preempted",
        )
    ]
    chunk = _chunk(b, seqs, length, ttft_s)
    why = (
        f"time to first token of {ttft_s:g} s for {length} tokens"
        if ttft_s
        else "decode steps of all sequences share the batch with prefill chunks"
    )
    out.append(
        Advice(
            setting="--max-num-batched-tokens",
            value=str(chunk),
            reason=f"{why}; the profile run reserves {b.activation.point:.2f} GiB for {b.limits.batched_tokens} now",
        )
    )
    safe = (b.device.total_gib - b.graph.high - 0.15) / b.device.total_gib if not b.engine.graphs_in_budget else 0.95
    value = max(0.5, min(0.98, math.floor(safe * 100) / 100))
    out.append(
        Advice(
            setting="--gpu-memory-utilization",
            value=f"{value:g}",
            reason="the upper end of the graphs and 150 MiB stay free outside the budget"
            if not b.engine.graphs_in_budget
            else "graphs are inside the budget; 5 % stay for RCCL, BLAS handles and other processes",
        )
    )
    out.append(
        Advice(
            setting="--block-size",
            value=str(b.cache.block_size),
            reason=f"half a block is lost per request: {b.cache.block_size / 2 / length:.2%} of {length} tokens; larger blocks only lose more",
        )
    )
    if not b.fits and b.weights.point > b.per_gpu.requested_gib:
        over = b.weights.point - b.per_gpu.requested_gib + 2
        out.append(
            Advice(
                setting="--cpu-offload-gb",
                value=f"{math.ceil(over)}",
                reason="the weights alone do not fit; every step then reads this over PCIe: add GPUs or quantise first",
                gain_gib=over,
            )
        )
    else:
        out.append(
            Advice(
                setting="--swap-space / KV offload",
                value="0",
                reason="V1 recomputes preempted requests; admission by the guard avoids preemption"
                if not b.engine.v0
                else "preemption recomputes one-sequence requests; swap serves beam search only",
            )
        )
    if b.shape.mtp_layers:
        out.append(
            Advice(
                setting="--speculative-config",
                value='{"method": "mtp", "num_speculative_tokens": 1}',
                reason=f"the checkpoint has {b.shape.mtp_layers} prediction layer(s); each token more costs a state or KV slot per sequence; gains at small batches only",
            )
        )
    else:
        out.append(
            Advice(
                setting="--speculative-config",
                value="off",
                reason=f"no prediction layer in the checkpoint, and {seqs} sequences keep the GPU busy"
                if seqs > 16
                else "no prediction layer in the checkpoint; an n-gram or draft model may pay at so few sequences",
            )
        )
    return tuple(out)


def _chunk(b: Budget, seqs: int, length: int, ttft_s: float | None) -> int:
    """A power of two from 512 to 16,384: as large as the SLO allows, at least twice the sequences."""
    low = max(512, 1 << math.ceil(math.log2(max(2, 2 * seqs))))
    if ttft_s is None:
        return max(low, min(8192, b.limits.batched_tokens))
    part = b.device.part
    peak = 0.0
    if part:
        values = [
            v for k, v in part.peak_tflops.items() if isinstance(v, int | float) and k.startswith(("BF16", "FP16"))
        ]
        peak = max(values, default=0.0)
    if not peak:
        return max(low, 2048)
    active = b.shape.parameters
    if b.shape.moe and b.shape.experts:
        expert = sum(p.count for p in b.shape.parts if p.role == "expert")
        active -= int(expert * (1 - b.shape.experts_per_token / b.shape.experts))
    seconds = 2 * active * length / (peak * 1e12 * 0.4 * b.request.tp)  # 40 % of the vendor's peak: an assumption
    steps = max(1, int(ttft_s / max(seconds, 1e-6)))
    return max(low, min(16_384, 1 << int(math.log2(max(512, length / steps)))))


def rules_of_thumb(b: Budget) -> tuple[dict[str, Any], ...]:
    """Two rules that circulate, computed for this case and compared with the plan."""
    room = max(0, int(b.max_concurrency))
    seqs_rule = int((b.device.total_gib * 1024 - 2048) / 180)
    chunk_rule = int(min(max(b.limits.batched_tokens / 8, 32), 256))
    ratio = seqs_rule / room if room else None
    return (
        {
            "rule": "seqs = (GiB x 1024 - 2048) / 180",
            "value": seqs_rule,
            "ours": room,
            "verdict": "wrong" if ratio is None or not 0.5 <= ratio <= 2 else "near",
            "why": f"it knows neither the model nor its weights: {room} requests of {b.limits.length} tokens have room here",
        },
        {
            "rule": "chunk = clamp(total / 8, 32, 256)",
            "value": chunk_rule,
            "ours": b.limits.batched_tokens,
            "verdict": "wrong" if chunk_rule < b.limits.batched_tokens / 4 else "near",
            "why": f"a chunk of {chunk_rule} tokens reads all weights once per {chunk_rule} prompt tokens; the batch of this plan is {b.limits.batched_tokens}",
        },
    )
