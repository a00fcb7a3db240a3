"""Metrics of others that alert rules and dashboards read beside ours, declared once like ours.

They come from Prometheus itself and from the engines' own ``/metrics``, where Prometheus scrapes those too.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rocsteady.metrics.registry import METRICS


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """One metric that somebody else exports, under its full name."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...] = ()
    source: str
    help: str


PROMETHEUS = "https://prometheus.io/docs/concepts/jobs_instances/"
VLLM = "https://docs.vllm.ai/en/latest/design/metrics/"
UP = Foreign(name="up", kind="gauge", source=PROMETHEUS, help="1 where the last scrape of a target succeeded.")
TTFT = Foreign(
    name="vllm:time_to_first_token_seconds", kind="histogram", labels=("model_name", "engine"), source=VLLM,
    help="Time from the arrival of a request to its first token.",
)  # fmt: skip
ITL = Foreign(
    name="vllm:inter_token_latency_seconds", kind="histogram", labels=("model_name", "engine"), source=VLLM,
    help="Time between two tokens of a request.",
)  # fmt: skip
E2E = Foreign(
    name="vllm:e2e_request_latency_seconds", kind="histogram", labels=("model_name", "engine"), source=VLLM,
    help="Time from the arrival of a request to its end.",
)  # fmt: skip
FINISHED = Foreign(
    name="vllm:request_success_total", kind="counter", labels=("model_name", "engine", "finished_reason"), source=VLLM,
    help="Requests that ended, by reason: stop, length, abort.",
)  # fmt: skip
PREEMPTIONS = Foreign(
    name="vllm:num_preemptions_total", kind="counter", labels=("model_name", "engine"), source=VLLM,
    help="Requests that were taken out of the batch because the KV cache was full.",
)  # fmt: skip
FOREIGN: tuple[Foreign, ...] = (UP, TTFT, ITL, E2E, FINISHED, PREEMPTIONS)


def series_labels() -> dict[str, tuple[str, ...]]:
    """Labels by full name of every series that a rule or a panel may name."""
    known = {metric.full_name: metric.labels for metric in METRICS}
    for metric in FOREIGN:
        if metric.kind == "histogram":
            known |= {f"{metric.name}_{part}": metric.labels for part in ("count", "sum")}
            known[f"{metric.name}_bucket"] = (*metric.labels, "le")
        else:
            known[metric.name] = metric.labels
    return known
