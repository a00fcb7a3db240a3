"""Engines on the node: what they say of themselves, and how their processes are."""

from __future__ import annotations

from rocsteady.metrics.declare import Metric

PROC = "/proc/<pid>/"
ENGINES = "vLLM, SGLang"
ENGINE_UP = Metric(
    name="engine_up", kind="gauge", labels=("engine",), source="/metrics of an engine on loopback", read="exporter",
    since=ENGINES, help="1 where the engine answered its /metrics.",
)  # fmt: skip
ENGINE_REQUESTS = Metric(
    name="engine_requests", kind="gauge", labels=("engine", "class"),
    source="vllm:num_requests_*, sglang:num_running_reqs, sglang:num_queue_reqs", read="exporter", since=ENGINES,
    help="Requests in the engine: running, waiting.",
)  # fmt: skip
ENGINE_KV = Metric(
    name="engine_kv_cache_used_ratio", kind="gauge", unit="ratio", labels=("engine",),
    source="vllm:kv_cache_usage_perc, vllm:gpu_cache_usage_perc, sglang:token_usage", read="exporter", since=ENGINES,
    help="Share of the KV cache in use, 0 to 1.",
)  # fmt: skip
ENGINE_TOKENS = Metric(
    name="engine_tokens_total", kind="counter", labels=("engine", "kind"),
    source="vllm:*_tokens_total, sglang:*_tokens_total", read="exporter", since=ENGINES,
    help="Tokens of the engine: prompt, generated.",
)  # fmt: skip
ENGINE_STALLED = Metric(
    name="engine_stalled_seconds", kind="gauge", unit="seconds", labels=("engine",),
    source="token counters and running requests of the engine", read="exporter", since=ENGINES,
    help="Time for which requests run and no token was counted; 0 while tokens move or nothing runs.",
)  # fmt: skip
ENGINE_AGE = Metric(
    name="engine_metrics_age_seconds", kind="gauge", unit="seconds", labels=("engine",), source="the exporter",
    read="exporter", since=ENGINES, help="Age of the engine's values in this scrape.",
)  # fmt: skip
PROCESSES = Metric(
    name="engine_processes", kind="gauge", source=f"{PROC}cmdline", read="engine_processes", since=ENGINES,
    help="Processes of engines found on the node; 0 where all processes were looked at and none is one.",
)  # fmt: skip
PROCESS_INFO = Metric(
    name="engine_process_info", kind="info", labels=("pid", "engine_name", "role", "port"), source=f"{PROC}cmdline",
    read="engine_processes", since=ENGINES,
    help="A process of an engine: which engine, its role (server, engine-core, worker, ...), port of a server.",
)  # fmt: skip
PROCESS_STATE = Metric(
    name="engine_process_state", kind="gauge", labels=("pid", "kind"), source=f"{PROC}stat",
    read="engine_processes: state", since=ENGINES,
    help="1 for the state the process is in: running, sleeping, uninterruptible, stopped, zombie, idle, other.",
)  # fmt: skip
PROCESS_CPU = Metric(
    name="engine_process_cpu_seconds_total", kind="counter", unit="seconds", labels=("pid",), source=f"{PROC}stat",
    read="engine_processes: cpu_seconds", since=ENGINES, help="CPU time that the process has used.",
)  # fmt: skip
PROCESS_MEMORY = Metric(
    name="engine_process_resident_memory_bytes", kind="gauge", unit="bytes", labels=("pid",), source=f"{PROC}stat",
    read="engine_processes: resident_pages", since=ENGINES, help="Host memory that the process holds.",
)  # fmt: skip
PROCESS_THREADS = Metric(
    name="engine_process_threads", kind="gauge", labels=("pid",), source=f"{PROC}stat",
    read="engine_processes: threads", since=ENGINES, help="Threads of the process.",
)  # fmt: skip

METRICS = (
    ENGINE_UP, ENGINE_REQUESTS, ENGINE_KV, ENGINE_TOKENS, ENGINE_STALLED, ENGINE_AGE, PROCESSES, PROCESS_INFO,
    PROCESS_STATE, PROCESS_CPU, PROCESS_MEMORY, PROCESS_THREADS,
)  # fmt: skip
