"""``--users N --context L``: how many GPUs hold that many requests at once."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.model import InputError
from rocsteady.plan.budget import GIB, Request, budget_of
from rocsteady.plan.kv import blocks_per_request


def gpus_for(request: Request, users: int, context: int) -> dict[str, Any]:
    """Users that one engine holds at the low end of the interval, and the smallest TP and replicas for ``users``."""
    rows: list[dict[str, Any]] = []
    for tp in sorted({request.tp, 1, 2, 4, 8}):
        trial = msgspec.structs.replace(
            request,
            tp=tp,
            max_model_len=max(request.max_model_len or 0, context),
            max_num_seqs=request.max_num_seqs or min(1024, users),
        )
        try:
            b = budget_of(trial)
        except InputError:
            continue
        each = blocks_per_request(b.cache, b.engine, context, b.limits.batched_tokens)
        held = b.cache.blocks(b.interval.kv_cache_gib[0] * GIB) // each
        if held:
            replicas = -(-users // held)
            rows.append({"tp": tp, "users_per_engine": held, "engines": replicas, "gpus": tp * request.pp * replicas})
    best = min(rows, key=lambda r: (r["gpus"], r["engines"])) if rows else None
    if best is None:
        answer = "no TP up to 8 holds one such request"
    else:
        answer = f"{best['gpus']} GPU(s): {best['engines']} engine(s) of TP {best['tp']}, {best['users_per_engine']} users each"
    return {"users": users, "context": context, "answer": answer, "best": best, "options": rows}
