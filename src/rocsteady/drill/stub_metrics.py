"""``/metrics`` of the stub: the series of vLLM 0.32 that gateway, exporter and drills read, with its names and labels."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

REASONS = ("stop", "length", "abort", "error", "repetition")


class Counters(msgspec.Struct, kw_only=True):
    """What the stub counts."""

    running: int = 0
    waiting: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    iterations: int = 0
    iteration_tokens: int = 0
    preemptions: int = 0
    finished: dict[str, int] = {}


def exposition(c: Counters, model: str, kv_used_ratio: float, block_size: int, blocks: int) -> str:
    """The text format of Prometheus."""
    labels = {"engine": "0", "model_name": model}
    lines: list[str] = []

    def add(name: str, kind: str, series: list[tuple[Mapping[str, str], float]], suffix: str = "") -> None:
        lines.append(f"# TYPE {name}{suffix} {kind}")
        for more, value in series:
            inside = ",".join(f'{k}="{_escape(v)}"' for k, v in sorted({**labels, **more}.items()))
            lines.append(f"{name}{suffix}{{{inside}}} {float(value)!r}")

    add("vllm:num_requests_running", "gauge", [({}, c.running)])
    add("vllm:num_requests_waiting", "gauge", [({}, c.waiting)])
    add("vllm:kv_cache_usage_perc", "gauge", [({}, kv_used_ratio)])
    add("vllm:num_preemptions", "counter", [({}, c.preemptions)], "_total")
    add("vllm:prompt_tokens", "counter", [({}, c.prompt_tokens)], "_total")
    add("vllm:generation_tokens", "counter", [({}, c.generation_tokens)], "_total")
    reasons = [({"finished_reason": r}, c.finished.get(r, 0)) for r in REASONS]
    add("vllm:request_success", "counter", list(reasons), "_total")
    lines.append("# TYPE vllm:iteration_tokens_total histogram")
    inside = ",".join(f'{k}="{_escape(v)}"' for k, v in labels.items())
    lines.append(f'vllm:iteration_tokens_total_bucket{{{inside},le="+Inf"}} {float(c.iterations)!r}')
    lines.append(f"vllm:iteration_tokens_total_count{{{inside}}} {float(c.iterations)!r}")
    lines.append(f"vllm:iteration_tokens_total_sum{{{inside}}} {float(c.iteration_tokens)!r}")
    add("vllm:cache_config_info", "gauge", [({"block_size": str(block_size), "num_gpu_blocks": str(blocks)}, 1)])
    return "\n".join(lines) + "\n"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
