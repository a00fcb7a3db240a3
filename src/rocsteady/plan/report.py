"""The plan as text: bar, phases, figures with interval, what to change, the command."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.model import MemoryPlan

WIDTH = 60
KINDS = (
    ("weights_gib", "W", "weights"),
    ("activation_gib", "A", "activation"),
    ("non_torch_gib", "N", "non-torch"),
    ("kv_cache_gib", "K", "KV cache"),
    ("graph_gib", "G", "graphs"),
)


def bar(plan: MemoryPlan) -> list[str]:
    """Memory of one GPU by kind, one letter per share; ``.`` is free, ``!`` is beyond the GPU."""
    total = plan.per_gpu.total_gib
    letters = ""
    legend: list[str] = []
    for key, letter, name in KINDS:
        size = getattr(plan.per_gpu, key)
        letters += letter * round(WIDTH * max(0.0, size) / total)
        legend.append(f"{letter} {name} {size:.2f}")
    over = len(letters) > WIDTH + 2
    letters = letters[:WIDTH] + ("!" if over else "") if len(letters) > WIDTH else letters.ljust(WIDTH, ".")
    return [f"[{letters}] {total:.2f} GiB", "  " + "   ".join(legend) + "   (GiB per GPU)"]


def render(plan: MemoryPlan, users: object = None) -> str:
    """The whole report."""
    return "\n".join(_lines(plan, users)) + "\n"


def _lines(plan: MemoryPlan, users: object) -> Iterator[str]:
    i = plan.inputs
    yield f"{i['model']} on {i['gpu']}, TP {i['tp']}, PP {i['pp']}, {i['dtype']}{', ' + str(i['quantization']) if i['quantization'] else ''}"
    yield ""
    yield from bar(plan)
    yield ""
    verdict = "fits" if plan.fits else "DOES NOT FIT"
    word = "to spare after" if plan.fits else "missing for"
    yield f"{verdict}: {abs(plan.fits_by_gib):.2f} GiB {word} one request of {i['max_model_len']} tokens"
    low, high = plan.interval.kv_cache_gib
    yield f"KV cache {plan.per_gpu.kv_cache_gib:.2f} GiB per GPU (between {low:.2f} and {high:.2f})"
    tokens = plan.interval.kv_tokens
    yield f"GPU KV cache size {plan.kv_tokens:,} tokens (between {tokens[0]:,} and {tokens[1]:,}), concurrency {plan.max_concurrency:.2f}x"
    if isinstance(users, dict):
        yield f"{users['users']} users of {users['context']} tokens: {users['answer']}"
    yield ""
    yield "Loading phases"
    for phase in plan.phases:
        yield f"  {phase.name:20} peak {phase.peak_gib:8.2f} GiB, free {phase.free_gib:8.2f}   {phase.what}"
    if plan.advice:
        yield ""
        yield "Change first"
        for a in plan.advice:
            gain = f" (about {a.gain_gib:.1f} GiB)" if a.gain_gib is not None else ""
            yield f"  {a.setting} {a.value}: {a.reason}{gain}"
    if plan.warnings:
        yield ""
        yield "Warnings"
        yield from (f"  {w}" for w in plan.warnings)
    yield ""
    yield "Tuning"
    yield from (f"  {a.setting} {a.value}: {a.reason}" for a in plan.tuning)
    for rule in plan.rules_of_thumb:
        yield f"  rule of thumb {rule['rule']} says {rule['value']}, this plan {rule['ours']}: {rule['verdict']}; {rule['why']}"
    if plan.layout:
        yield ""
        yield "Layout"
        yield from (f"  {line}" for line in plan.layout.get("text", ()))
    yield ""
    yield "Guard"
    g = plan.guard
    yield f"  memory watermark {g.memory_watermark_ratio:.3f}, KV usage {g.kv_usage_ratio:.2f}, admit {g.admission_tokens:,} tokens or {g.admission_requests} full requests"
    yield ""
    yield "Assumptions"
    yield from (f"  {a}" for a in plan.assumptions)
    yield ""
    yield " ".join(f"{k}={v}" for k, v in plan.environment.items()) + (" \\" if plan.environment else "")
    yield plan.command
