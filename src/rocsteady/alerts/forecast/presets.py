"""Signals that have a name: the PromQL behind ``--signal ttft_p95``.

Names of the engines' metrics: vLLM https://docs.vllm.ai/en/latest/usage/metrics.html (``time_per_output_token`` and
``gpu_cache_usage_perc`` are what older versions call them), SGLang
https://docs.sglang.ai/references/production_metrics.html; looked at on 2026-12-01. The others are our exporter's.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.alerts.forecast.signals import Unit, Worse
from rocsteady.metrics import gpu_sensors, node
from rocsteady.model import InputError

SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
HISTOGRAMS: dict[str, dict[str, tuple[str, ...]]] = {
    "vllm": {
        "ttft": ("vllm:time_to_first_token_seconds",),
        "tpot": ("vllm:request_time_per_output_token_seconds", "vllm:time_per_output_token_seconds"),
        "itl": ("vllm:inter_token_latency_seconds",),
        "e2e": ("vllm:e2e_request_latency_seconds",),
        "queue": ("vllm:request_queue_time_seconds",),
    },
    "sglang": {
        "ttft": ("sglang:time_to_first_token_seconds",),
        "tpot": ("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"),
        "itl": ("sglang:inter_token_latency_seconds",),
        "e2e": ("sglang:e2e_request_latency_seconds",),
        "queue": ("sglang:queue_time_seconds",),
    },
}
"""Histogram by engine and latency; of several names the first that exists counts."""
MEANING = {
    "ttft": "time to first token", "tpot": "time per output token after the first, mean of a request",
    "itl": "time between two tokens", "e2e": "time from arrival to the last token", "queue": "time in the queue",
}  # fmt: skip
CACHE = {"vllm": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"), "sglang": ("sglang:token_usage",)}
VRAM, AVAILABLE = 'kind="vram"', 'kind="MemAvailable"'
MATCHERS = re.compile(
    r'\s*[A-Za-z_]\w*\s*(=|!=|=~|!~)\s*"(?:[^"\\]|\\.)*"\s*(,\s*[A-Za-z_]\w*\s*(=|!=|=~|!~)\s*"(?:[^"\\]|\\.)*"\s*)*'
)


class Preset(msgspec.Struct, frozen=True):
    """A query with what its result means."""

    name: str
    query: str
    unit: Unit
    worse: Worse
    help: str


def names() -> list[str]:
    """Every name that ``preset`` knows."""
    return [f"{latency}_{share}" for latency in MEANING for share in SHARES] + ["kv_cache", "gpu_memory", "host_memory"]


def preset(name: str, engine: str, match: str, window: str) -> Preset:
    """The query of a name.

    ``match``: label matchers as in PromQL without braces, or empty; ``window``: PromQL duration of the rates.

    Raises:
        InputError: no such name or engine, or matchers that are none.
    """
    if engine not in HISTOGRAMS:
        raise InputError(f"--engine {engine!r}: one of {', '.join(HISTOGRAMS)}")
    if match and not MATCHERS.fullmatch(match):
        raise InputError(f'--match {match!r}: label matchers were wanted, such as model_name="llama",job="vllm"')
    latency, _, share = name.rpartition("_")
    if latency in MEANING and share in SHARES:
        parts = [
            f"histogram_quantile({SHARES[share]}, sum by (le) (rate({metric}_bucket{_braces(match)}[{window}])))"
            for metric in HISTOGRAMS[engine][latency]
        ]
        return Preset(name, " or ".join(parts), "seconds", "above", f"{share.upper()} of the {MEANING[latency]}")
    if name == "kv_cache":
        parts = [f"max({metric}{_braces(match)})" for metric in CACHE[engine]]
        return Preset(name, " or ".join(parts), "ratio", "above", "share of the KV cache in use, fullest engine")
    if name == "gpu_memory":
        query = f"max({gpu_sensors.MEMORY_USED.full_name}{_braces(match, VRAM)})"
        return Preset(name, query, "bytes", "above", "memory in use on the fullest GPU")
    if name == "host_memory":
        query = f"min({node.MEMORY.full_name}{_braces(match, AVAILABLE)})"
        return Preset(name, query, "bytes", "below", "memory that the host still has")
    raise InputError(f"--signal {name!r}: one of {', '.join(names())}; or give --query")


def _braces(*parts: str) -> str:
    """Label matchers between braces; nothing where there are none."""
    given = ",".join(part for part in parts if part)
    return f"{{{given}}}" if given else ""
