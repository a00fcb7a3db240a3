"""Does an engine make progress? Pure: text of ``/metrics`` in, counters out.

``/health`` of vLLM answers 200 while its engine is frozen, and the request that waits on a frozen engine is not even
counted as running (vLLM 0.32, measured). What cannot lie is a counter that moves with every step of the engine:
``iteration_tokens_total_count`` moves also while a long prompt is being read in pieces, when no stream shows a byte.
"""

from __future__ import annotations

import math
import re

import msgspec

MOVING = (
    b"vllm:iteration_tokens_total_count", b"vllm:generation_tokens_total", b"vllm:prompt_tokens_total",
    b"sglang:generation_tokens_total", b"sglang:prompt_tokens_total",
)  # fmt: skip
RUNNING = (b"vllm:num_requests_running", b"sglang:num_running_reqs")
WAITING = (b"vllm:num_requests_waiting", b"sglang:num_queue_reqs")
KV = (b"vllm:kv_cache_usage_perc", b"vllm:gpu_cache_usage_perc", b"sglang:token_usage")
"""Names of vLLM 0.4 to 0.32 and SGLang 0.4; both KV figures are shares from 0 to 1 whatever the name says."""
MOST_TEXT = 8_388_608
_LINE = re.compile(
    rb"^(" + b"|".join(re.escape(name) for name in (*MOVING, *RUNNING, *WAITING, *KV)) + rb")(?:\{[^\n]*\})? +(\S+)",
    re.MULTILINE,
)


class Sample(msgspec.Struct, frozen=True):
    """What one look at ``/metrics`` said. None: the engine does not export it. ``moved``: sum of the counters."""

    moved: float | None
    running: float | None
    waiting: float | None
    kv_usage: float | None


def parse_metrics(text: bytes) -> Sample:
    """Read the exposition of an engine.

    Sample: ``vllm:num_requests_running{engine="0",model_name="m"} 3.0``. Engines of one worker (data parallel) are
    added up; of their KV usages the largest counts.
    """
    sums: dict[bytes, float] = {}
    kv: float | None = None
    for found in _LINE.finditer(text, 0, MOST_TEXT):
        name = found.group(1)
        try:
            value = float(found.group(2))
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        if name in KV:
            kv = value if kv is None else max(kv, value)
        else:
            sums[name] = sums.get(name, 0.0) + value
    return Sample(_sum(sums, MOVING), _sum(sums, RUNNING), _sum(sums, WAITING), kv)


def _sum(sums: dict[bytes, float], names: tuple[bytes, ...]) -> float | None:
    found = [sums[name] for name in names if name in sums]
    return sum(found) if found else None


def moved(before: Sample | None, after: Sample | None) -> bool | None:
    """Whether tokens moved between two looks. None: cannot be said. A restart (smaller counters) is movement."""
    if before is None or after is None or before.moved is None or after.moved is None:
        return None
    return before.moved != after.moved
