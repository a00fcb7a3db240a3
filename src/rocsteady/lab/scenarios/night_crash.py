"""The night crash: logs of an engine whose memory grows until an allocation fails, and of the quiet system beside it."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator

from rocsteady.lab.host import HOST_NAME
from rocsteady.lab.node import Node
from rocsteady.lab.scenarios.load import Night, Scenario

ENGINE_LOG, MEMORY_LOG, SYSTEM_LOG = "var/log/vllm/vllm.log", "var/log/gpu-memory.log", "var/log/syslog"
VERSION = "0.9.2"
START_SECONDS = 74
REPORT = datetime.timedelta(minutes=30)
SAMPLE = datetime.timedelta(minutes=10)
HOUR = datetime.timedelta(hours=1)
GIB = 1 << 30
KV_TOKENS = 934_416
CONTEXT = 32_768


def play_night_crash(node: Node, scenario: Scenario) -> None:
    """Write the three logs and the memory in use at the end."""
    rng = random.Random(f"{scenario.name}/{node.seed}")
    pid = 61_000
    engine: list[str] = []
    for number, night in enumerate(scenario.nights):
        engine += _start(scenario, night.started, pid + 97 * number)
        engine += _serve(night.started, night.died, rng)
        engine += _death(scenario, night.died, pid + 97 * number)
    engine += _start(scenario, scenario.serving, pid + 900)
    engine += _serve(scenario.serving, scenario.last, rng)
    node.tree.text(ENGINE_LOG, "\n".join(engine))
    node.tree.text(MEMORY_LOG, "\n".join(_memory(scenario, rng)))
    node.tree.text(SYSTEM_LOG, "\n".join(_system(scenario)))


def _stamp(at: datetime.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def _vllm(at: datetime.datetime, level: str, place: str, text: str) -> str:
    """A line as ``docker logs --timestamps`` shows it."""
    return f"{_stamp(at)} {level} {at:%m-%d %H:%M:%S} [{place}] {text}"


def _start(scenario: Scenario, at: datetime.datetime, pid: int) -> list[str]:
    def line(seconds: int, place: str, text: str) -> str:
        return _vllm(at + datetime.timedelta(seconds=seconds), "INFO", place, text)

    ready = _stamp(at + datetime.timedelta(seconds=START_SECONDS))
    memory = scenario.memory
    return [
        line(0, "api_server.py:1419", f"vLLM API server version {VERSION}"),
        line(1, "cli_args.py:325", f"non-default args: {{'model': '{scenario.model}', 'quantization': 'awq', 'gpu_memory_utilization': 0.9}}"),
        line(9, "core.py:69", f"Initializing a V1 LLM engine (v{VERSION}) with config: model='{scenario.model}', dtype=torch.float16, max_seq_len={CONTEXT}, tensor_parallel_size=1, quantization=awq, kv_cache_dtype=auto"),
        line(31, "gpu_model_runner.py:1801", "Model loading took 5.2035 GiB and 11.804513 seconds"),
        line(49, "gpu_worker.py:232", f"Available KV cache memory: {memory.start_gib - 8.5:.2f} GiB"),
        line(50, "kv_cache_utils.py:716", f"GPU KV cache size: {KV_TOKENS:,} tokens"),
        line(50, "kv_cache_utils.py:720", f"Maximum concurrency for {CONTEXT:,} tokens per request: {KV_TOKENS / CONTEXT:.2f}x"),
        line(71, "gpu_model_runner.py:2325", "Graph capturing finished in 21 secs, took 0.58 GiB"),
        f"{ready} INFO:     Started server process [{pid}]", f"{ready} INFO:     Waiting for application startup.",
        f"{ready} INFO:     Application startup complete.",
    ]  # fmt: skip


def _serve(started: datetime.datetime, until: datetime.datetime, rng: random.Random) -> Iterator[str]:
    """Throughput reports: the KV cache stays far from full, so it is not what runs out."""
    at = started + REPORT
    while at < until:
        running = rng.randint(4, 19)
        yield _vllm(
            at, "INFO", "loggers.py:118",
            f"Engine 000: Avg prompt throughput: {rng.uniform(180, 520):.1f} tokens/s, Avg generation throughput: "
            f"{running * 38.5:.1f} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: "
            f"{running * 0.9:.1f}%, Prefix cache hit rate: {rng.uniform(15, 30):.1f}%",
        )  # fmt: skip
        at += REPORT


def _death(scenario: Scenario, at: datetime.datetime, pid: int) -> list[str]:
    memory = scenario.memory
    free = memory.total_gib - memory.end_gib
    message = (
        f"torch.OutOfMemoryError: HIP out of memory. Tried to allocate {memory.tried_gib:.2f} GiB. GPU {scenario.gpu} has a "
        f"total capacity of {memory.total_gib:.2f} GiB of which {free * 1024:.2f} MiB is free. Of the allocated memory "
        f"{memory.end_gib - 1.2:.2f} GiB is allocated by PyTorch, and 402.11 MiB is reserved by PyTorch but unallocated. "
        "If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to "
        "avoid fragmentation."
    )
    core = (
        "EngineCore encountered a fatal error.",
        "Traceback (most recent call last):",
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 579, in run_engine_core',
        "    engine_core.run_busy_loop()",
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 1370, in execute_model',
        "    model_output = self.model(",
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/layers/quantization/awq.py", line 163, in apply',
        "    out = torch.matmul(reshaped_x, out)",
        message,
    )
    lines = [_vllm(at, "ERROR", "core.py:588", text) for text in core]
    later = at + datetime.timedelta(milliseconds=412)
    lines.append(_vllm(later, "ERROR", "async_llm.py:420", "AsyncLLM output_handler failed."))
    lines.append(
        f"{_stamp(later)} vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace "
        "(above) for the root cause."
    )
    lines.append(f"{_stamp(later)} INFO:     Shutting down")
    lines.append(f"{_stamp(later)} INFO:     Finished server process [{pid}]")
    return lines


def _memory(scenario: Scenario, rng: random.Random) -> Iterator[str]:
    """What a monitor wrote down every ten minutes: bytes of VRAM in use on the engine's GPU."""
    course = scenario.memory
    lives = [*scenario.nights, Night(scenario.serving, scenario.last)]
    at = scenario.first
    total = int(course.total_gib * GIB)
    while at < scenario.last:
        used = 0.6
        for life in lives:
            if life.started <= at < life.died:
                share = (at - life.started) / (life.died - life.started)
                if life.started == scenario.serving:
                    share *= 0.06
                used = course.start_gib + (course.end_gib - course.start_gib) * share + rng.uniform(-0.02, 0.02)
        yield f"{at:%Y-%m-%dT%H:%M:%S}+00:00 gpu-memory: GPU[{scenario.gpu}] vram used {int(used * GIB)} of {total} bytes"
        at += SAMPLE


def _system(scenario: Scenario) -> list[str]:
    """The system log of all days: daily jobs, an hourly one, and the engine's unit."""
    rows: list[tuple[datetime.datetime, str]] = []
    at = scenario.first.replace(minute=17, second=1)
    while at < scenario.last:
        rows.append((at, "CRON[18233]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)"))
        at += HOUR
    day = scenario.first.date()
    while day <= scenario.last.date():
        for job in scenario.jobs:
            when = datetime.datetime.combine(day, datetime.time.fromisoformat(job.at))
            if scenario.first <= when <= scenario.last:
                rows.append((when, job.text))
        day += datetime.timedelta(days=1)
    for life in scenario.nights:
        rows.append((life.started, "systemd[1]: Started vllm.service - vLLM OpenAI server."))
        rows.append(
            (
                life.died + datetime.timedelta(seconds=2),
                "systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE",
            )
        )
        rows.append(
            (life.died + datetime.timedelta(seconds=2), "systemd[1]: vllm.service: Failed with result 'exit-code'.")
        )
    rows.append((scenario.serving, "systemd[1]: Started vllm.service - vLLM OpenAI server."))
    rows.sort(key=lambda row: row[0])
    return [f"{when:%Y-%m-%dT%H:%M:%S}.000000+00:00 {HOST_NAME} {text}" for when, text in rows]
