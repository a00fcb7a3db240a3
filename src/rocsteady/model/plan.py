"""What the planner answers. Sizes are GiB (2^30 bytes) per GPU; the JSON form is described in docs/plan.md."""

from __future__ import annotations

from typing import Any

import msgspec


class PerGpu(msgspec.Struct, frozen=True, kw_only=True):
    """GiB on the fullest GPU. Which parts come out of ``requested_gib`` depends on the version: see assumptions."""

    total_gib: float
    requested_gib: float
    weights_gib: float
    activation_gib: float
    non_torch_gib: float
    graph_gib: float
    kv_cache_gib: float


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """Low and high of what the engine will print."""

    kv_cache_gib: tuple[float, float]
    kv_tokens: tuple[int, int]


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a start: what is resident in it at most, and how much of the GPU stays free."""

    name: str
    peak_gib: float
    free_gib: float
    what: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """One setting with its value and the reason. ``gain_gib`` is what it frees or gives, None where not estimated."""

    setting: str
    value: str
    reason: str
    gain_gib: float | None = None


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """Thresholds for alerts, gateway and heal. Ratios are 0 to 1.

    memory_watermark_ratio: share of the GPU's memory above which something other than the planned engine is there.
    kv_usage_ratio: warn when vLLM's KV cache usage stays above.
    admission_tokens: tokens (prompt and answer) that may be in flight at once.
    admission_requests: requests of the planned length that may be in flight at once.
    """

    memory_watermark_ratio: float
    kv_usage_ratio: float
    admission_tokens: int
    admission_requests: int
    reasons: tuple[str, ...]


class MemoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A memory plan for one model on given GPUs. ``kv_tokens`` and ``max_concurrency`` as that engine prints them."""

    schema: str = "rocsteady.plan/1"
    fits: bool
    fits_by_gib: float
    per_gpu: PerGpu
    interval: Interval
    kv_tokens: int
    max_concurrency: float
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    command: str
    environment: dict[str, str]
    inputs: dict[str, Any]
    kv: dict[str, Any]
    phases: tuple[Phase, ...]
    advice: tuple[Advice, ...]
    guard: Guard
    layout: dict[str, Any] | None = None
    tuning: tuple[Advice, ...] = ()
    rules_of_thumb: tuple[dict[str, Any], ...] = ()
