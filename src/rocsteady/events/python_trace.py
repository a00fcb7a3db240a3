"""Python tracebacks, and the lines in which an engine says that it did not start or has died.

A traceback is one event: exception type, message, last frame, and the outermost frame that tells the stage
(loading weights, profiling memory, capturing graphs, serving). A chained traceback is an event of its own; the
first in time is usually nearer to the root.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_EXCEPTION = (
    r"^(?P<exception>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Failure|Failed|Unsupported|OutOfResources"
    r"|Warning|NotFound|Timeout|Fault))(?::\s*(?P<message>.*))?$"
)
_STAGE = (
    r"(?P<stage>load_model|load_weights|initialize_model|create_weights|make_layers|determine_available_memory"
    r"|determine_num_available_blocks|profile_run|profile_num_available_blocks|initialize_kv_caches?|init_memory_pool"
    r"|capture_model|capture_graph|init_cuda_graphs?|init_device_graphs|compile_or_warm_up_model|execute_model"
    r"|forward_extend|forward_decode|run_batch|init_device|init_distributed_environment|create_engine_config"
    r"|create_model_config)"
)

KINDS = (
    Kind(
        name="python-traceback",
        needles=("Traceback (most recent call last)",),
        pattern=r"Traceback \(most recent call last\)",
        more=r"^\s*File \"(?:(?P<last_file>(?![^\"]*(?:/torch/|/lib/python[\d.]+/[a-z_]+(?:/|\.py)|<frozen))[^\"]+)|[^\"]+)\", line \d+, in (?:"
        + _STAGE
        + r"\b|\S+)|^\s{2,}\S|^\s*$|"
        + _EXCEPTION,
        more_limit=160,
        shared=True,
        ends="exception",
        sample=(
            "Traceback (most recent call last):\n"
            '  File "/usr/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 10, in load_model\n'
            "    raise ValueError(x)\n"
            "ValueError: no such thing",
            "(EngineCore pid=1) ERROR 06-09 14:01:52 [core.py:1136] Traceback (most recent call last):\n"
            '(EngineCore pid=1) ERROR 06-09 14:01:52 [core.py:1136]   File "/a/b.py", line 1, in run\n'
            "(EngineCore pid=1) ERROR 06-09 14:01:52 [core.py:1136] RuntimeError: x",
        ),
        source="https://github.com/ROCm/legacy-rocm-build/issues/4447",
        about="service",
    ),
    Kind(
        name="engine-start-failed",
        needles=(
            "EngineCore failed to start", "Engine core initialization failed", "Engine process failed to start",
            "WorkerProc initialization failed", "WorkerProc failed to start", "Scheduler hit an exception",
            "scheduler is dead", "Initialization failed. Please see the error", "failed to be inspected",
            "error loading llama server", "exiting due to model loading error", "Shard 0 failed", "Failed core proc",
            "failed to load model", "Error in inspecting model architecture",
        ),
        pattern=r"EngineCore failed to start|Engine core initialization failed|Engine process failed to start"
        r"|WorkerProc (?:initialization failed|failed to start)|Scheduler hit an exception|Rank \d+ scheduler is dead"
        r"|Initialization failed\. Please see the error|architectures \[[^\]]*\] failed to be inspected"
        r"|error loading llama server|exiting due to model loading error|Shard \d+ failed|Failed core proc\(s\): ?\{?'?(?P<failed>\w*)"
        r"|(?:llama\w*|srv)[\w :]*: failed to load model|Error in inspecting model architecture",
        sample=(
            "(EngineCore_DP0 pid=1405) ERROR 12-26 04:34:07 [core.py:879] EngineCore failed to start.",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
            "[2025-07-02 07:41:59] Scheduler hit an exception: Traceback (most recent call last):",
        ),
        source="https://github.com/vllm-project/vllm/issues/31372",
        about="service",
    ),
    Kind(
        name="engine-died",
        needles=(
            "EngineDeadError", "EngineCore encountered", "Engine loop is not running", "background loop has errored",
            "died unexpectedly, shutting down", "Received sigquit from a child process", "llama runner process has terminated",
            "llama runner process no longer running", "Fatal Python error:", "Engine background task failed", "MQLLMEngine is already dead",
            "failed with exitcode", "died with exit code",
        ),
        pattern=r"(?:MQ|Async)?EngineDeadError|EngineCore encountered (?:an issue|a fatal error)|Engine loop is not running"
        r"|background loop has errored|died unexpectedly, shutting down|Received sigquit from a child process"
        r"|llama runner process (?:has terminated|no longer running)(?:: (?P<reason>[^\"]{1,80}))?"
        r"|Fatal Python error: (?P<fatal>.{1,60})|Engine background task failed|MQLLMEngine is already dead"
        r"|process \S* ?(?:failed|died) with exit ?code:? (?P<exit>-?\d+)|(?:failed|died) with exit ?code:? ?(?P<code>-?\d+)",
        sample=(
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace for the root cause.",
            'level=ERROR source=server.go:425 msg="llama runner terminated" error="llama runner process has terminated: exit status 2"',
            "Fatal Python error: Aborted",
        ),
        source="https://github.com/ROCm/TheRock/issues/6642",
        about="service",
        mark="crash",
    ),
    Kind(
        name="engine-broadcast-stuck",
        needles=("No available shared memory broadcast block", "No available block found in"),
        pattern=r"No available (?:shared memory broadcast )?block found in (?P<seconds>\d+) ?second",
        sample="(EngineCore_DP0 pid=77352) INFO 10-22 09:43:49 [shm_broadcast.py:466] No available shared memory broadcast "
        "block found in 60 seconds. This typically happens when some processes are hanging or doing some "
        "time-consuming work (e.g. compilation).",
        source="https://github.com/vllm-project/vllm/issues/27313",
        level="notice",
        about="service",
    ),
    Kind(
        name="engine-watchdog-timeout",
        needles=("watchdog_timeout=", "execute_model timed out", "RPC call to execute_model", "RPC call to sample_tokens", "Engine iteration timed out"),
        pattern=r"Watchdog timeout \(self\.watchdog_timeout=(?P<seconds>[\d.]+)|execute_model timed out"
        r"|RPC call to (?P<call>\w+) timed out|Engine iteration timed out",
        sample=(
            "[2025-09-09 02:30:28 TP0] Watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
            "TimeoutError: RPC call to execute_model timed out.",
        ),
        source="https://github.com/sgl-project/sglang/issues/7691",
        about="service",
        mark="crash",
    ),
    Kind(
        name="engine-no-throughput",
        needles=("generation throughput: 0.0 tokens/s",),
        pattern=r"generation throughput: 0\.0 tokens/s, Running: (?P<running>[1-9]\d*) reqs",
        sample="INFO 06-09 14:01:52 [loggers.py:111] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation "
        "throughput: 0.0 tokens/s, Running: 3 reqs, Waiting: 9 reqs, GPU KV cache usage: 41.0%",
        source="https://github.com/vllm-project/vllm/issues/27313",
        level="notice",
        about="service",
    ),
    Kind(
        name="engine-requests-never-run",
        needles=("generation throughput: 0.0 tokens/s",),
        pattern=r"generation throughput: 0\.0 tokens/s, Running: 0 reqs, Waiting: (?P<waiting>[1-9]\d*) reqs",
        sample="INFO 06-09 14:01:52 [loggers.py:111] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation "
        "throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 1 reqs, GPU KV cache usage: 0.0%",
        source="https://github.com/vllm-project/vllm/issues/27313",
        level="notice",
        about="service",
    ),
    Kind(
        name="engine-output-garbage",
        needles=("!!!!!!!!!!!!!!!!",),
        pattern=r"(?:\"(?:content|text)\": ?\"|output: ?).*?!{16,}",
        sample='{"id":"cmpl-1","choices":[{"index":0,"text":"!!!!!!!!!!!!!!!!!!!!!!!!"}]}',
        source="https://github.com/vllm-project/vllm/issues/28268",
        about="service",
    ),
)  # fmt: skip
