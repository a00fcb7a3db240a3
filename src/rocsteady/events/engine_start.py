"""Inference engines: good signs of a start-up, and the facts that only these lines state.

vLLM (V0 and V1), SGLang, llama.cpp and llama-server, ollama, TGI, lmdeploy.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

VLLM = "https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/platforms/rocm.py"
_VLLM_V0 = "https://github.com/ROCm/vllm/issues/390"
_VLLM_V1 = "https://github.com/nlzy/vllm-gfx906/issues/32"
_SGLANG = "https://github.com/sgl-project/sglang/issues/6001"
_LLAMA = "https://github.com/ggml-org/llama.cpp/issues/19949"
_OLLAMA = "https://github.com/ollama/ollama/issues/2870"

KINDS = (
    Kind(
        name="engine-ready",
        needles=(
            "Application startup complete", "server is listening on", "Available routes are", "llama runner started in",
            "fired up and ready to roll", "llama-server is ready", "Starting vLLM API server", "HTTP server listening",
        ),
        pattern=r"Application startup complete|(?:HTTP )?server (?:is )?listening(?: on|,) ?(?P<address>\S+)?|Available routes are"
        r"|llama runner started in|fired up and ready to roll|llama-server is ready|Starting vLLM API server",
        sample=(
            "INFO:     Application startup complete.",
            "main: server is listening on http://127.0.0.1:8002",
            "INFO 12-26 04:33:47 [launcher.py:28] Available routes are:",
            'time=2025-10-16T09:53:45.309Z level=INFO source=server.go:1289 msg="llama runner started in 7.68 seconds"',
            "[2025-03-20 22:03:03] The server is fired up and ready to roll!",
        ),
        source="https://github.com/vllm-project/vllm/issues/52312",
        level="info",
        alive=True,
        about="service",
    ),
    Kind(
        name="engine-kv-cache-size",
        needles=("GPU KV cache size:", "# GPU blocks:", "# cuda blocks:"),
        pattern=r"GPU KV cache size: (?P<tokens>[\d,]+) tokens|# (?:GPU|cuda) blocks: (?P<blocks>[1-9]\d*)",
        sample=(
            "INFO 07-01 10:00:01 [kv_cache_utils.py:1087] GPU KV cache size: 167,296 tokens",
            "INFO 02-01 10:00:01 executor_base.py:110] # CUDA blocks: 9251, # CPU blocks: 2048",
        ),
        source=VLLM,
        level="info",
        alive=True,
        about="service",
    ),
    Kind(
        name="engine-kv-cache-memory",
        needles=("Available KV cache memory:",),
        pattern=r"Available KV cache memory: (?P<gib>\d[\d.]*) GiB",
        sample="INFO 12-26 04:34:06 [gpu_worker.py:363] Available KV cache memory: 37.09 GiB",
        source="https://github.com/vllm-project/vllm/issues/31372",
        level="info",
        about="service",
    ),
    Kind(
        name="engine-model-loaded",
        needles=("Model loading took", "Loading weights took", "Load weight end", "load_tensors: offloaded"),
        pattern=r"Model loading took (?P<gib>[\d.]+) GiB|Loading weights took|Load weight end\.|load_tensors: offloaded (?P<layers>\d+)/",
        sample="INFO 12-26 04:33:40 [gpu_model_runner.py:3659] Model loading took 14.9891 GiB memory and 3.2 seconds",
        source="https://github.com/sgl-project/sglang/issues/7691",
        level="info",
        about="service",
    ),
    Kind(
        name="engine-graphs-captured",
        needles=("Graph capturing finished", "Capture cuda graph end"),
        pattern=r"Graph capturing finished in|Capture cuda graph end",
        sample="INFO 12-26 04:36:00 [gpu_model_runner.py:4466] Graph capturing finished in 21 secs, took 0.58 GiB",
        source="https://github.com/sgl-project/sglang/pull/5893",
        level="info",
        about="service",
    ),
    Kind(
        name="engine-vllm-config",
        needles=("LLM engine (v",),
        pattern=r"Initializing an? (?:V\d )?LLM engine \(v(?P<version>[\w.+]+)\)"
        r"(?:(?=.*?model='(?P<model>[^']+)')|)(?:(?=.*?tensor_parallel_size=(?P<tp>\d+))|)"
        r"(?:(?=.*?pipeline_parallel_size=(?P<pp>\d+))|)(?:(?=.*?max_seq_len=(?P<length>\d+))|)"
        r"(?:(?=.*?dtype=torch\.(?P<dtype>\w+))|)(?:(?=.*?quantization=(?P<quantization>[\w-]+))|)"
        r"(?:(?=.*?kv_cache_dtype=(?P<kv_dtype>\w+))|)",
        sample="INFO 04-28 12:31:09 [llm_engine.py:243] Initializing a V0 LLM engine (v0.8.5) with config: model='m', "
        "dtype=torch.float16, max_seq_len=32000, tensor_parallel_size=2, quantization=gguf, kv_cache_dtype=auto",
        source=_VLLM_V0,
        level="info",
        about="service",
        facts={
            "engine.name": "vllm", "engine.version": "{version}", "engine.model": "{model}",
            "engine.flags[tensor_parallel_size]": "{tp}", "engine.flags[pipeline_parallel_size]": "{pp}",
            "engine.flags[max_model_len]": "{length}", "engine.flags[dtype]": "{dtype}",
            "engine.flags[quantization]": "{quantization}", "engine.flags[kv_cache_dtype]": "{kv_dtype}",
        },
    ),
    Kind(
        name="engine-vllm-version",
        needles=("vLLM API server version",),
        pattern=r"vLLM API server version (?P<version>\d[\w.+]*)",
        sample="(APIServer pid=88062) INFO 10-07 13:51:42 [api_server.py:1818] vLLM API server version 0.9.3.dev2469",
        source=_VLLM_V1,
        level="info",
        about="service",
        facts={"engine.name": "vllm", "engine.version": "{version}"},
    ),
    Kind(
        name="engine-vllm-arguments",
        needles=("non-default args:",),
        pattern=r"non-default args: \{(?:(?=.*?'model': '(?P<model>[^']+)')|)"
        r"(?:(?=.*?'tensor_parallel_size': (?P<tp>\d+))|)(?:(?=.*?'max_model_len': (?P<length>\d+))|)"
        r"(?:(?=.*?'gpu_memory_utilization': (?P<share>[\d.]+))|)(?:(?=.*?'quantization': '(?P<quantization>[^']+)')|)"
        r"(?:(?=.*?'kv_cache_dtype': '(?P<kv_dtype>[^']+)')|)",
        sample="INFO 10-07 13:51:42 [utils.py:233] non-default args: {'model': '/models/a', 'max_model_len': 16384, "
        "'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.95}",
        source=_VLLM_V1,
        level="info",
        about="service",
        facts={
            "engine.model": "{model}", "engine.flags[tensor_parallel_size]": "{tp}",
            "engine.flags[max_model_len]": "{length}", "engine.flags[gpu_memory_utilization]": "{share}",
            "engine.flags[quantization]": "{quantization}", "engine.flags[kv_cache_dtype]": "{kv_dtype}",
        },
    ),
    Kind(
        name="engine-sglang-config",
        needles=("server_args=ServerArgs(",),
        pattern=r"server_args=ServerArgs\((?:(?=.*?model_path='(?P<model>[^']+)')|)(?:(?=.*?\btp_size=(?P<tp>\d+))|)"
        r"(?:(?=.*?mem_fraction_static=(?P<share>[\d.]+))|)(?:(?=.*?kv_cache_dtype='(?P<kv_dtype>[^']+)')|)"
        r"(?:(?=.*?quantization='(?P<quantization>[^']+)')|)(?:(?=.*?context_length=(?P<length>\d+))|)",
        sample="[2025-05-04 01:04:10] server_args=ServerArgs(model_path='/model/deepseek-r1', tp_size=8, kv_cache_dtype='auto')",
        source=_SGLANG,
        level="info",
        about="service",
        facts={
            "engine.name": "sglang", "engine.model": "{model}", "engine.flags[tensor_parallel_size]": "{tp}",
            "engine.flags[mem_fraction_static]": "{share}", "engine.flags[kv_cache_dtype]": "{kv_dtype}",
            "engine.flags[quantization]": "{quantization}", "engine.flags[max_model_len]": "{length}",
        },
    ),
    Kind(
        name="engine-llamacpp-device",
        needles=("Device 0: AMD", "Device 1: AMD", "Device 2: AMD", "Device 3: AMD"),
        pattern=r"Device (?P<hip_index>\d+): (?P<name>AMD [^,]+?), (?:compute capability (?P<capability>[\d.]+)"
        r"|(?P<gfx>gfx\w+)(?::\S+)? \(0x[0-9a-f]+\))",
        sample=(
            "  Device 0: AMD Radeon Graphics, gfx1201 (0x1201), VMM: no, Wave Size: 32",
            "Device 1: AMD Radeon 780M, compute capability 11.0, VMM: no",
        ),
        source=_LLAMA,
        level="info",
        about="service",
        facts={
            "engine.name": "llama.cpp", "gpus[smi:{hip_index}].name": "{name}", "gpus[smi:{hip_index}].gfx": "{gfx}",
        },
    ),
    Kind(
        name="engine-ollama-gpu",
        needles=("library=rocm",),
        pattern=r"inference compute\W.*library=rocm\b.*?compute=(?P<gfx>gfx\w+)(?:.*?total=\"(?P<total>[^\"]+)\")?",
        sample='time=2025-08-13T16:54:35.163+02:00 level=INFO source=types.go:130 msg="inference compute" id=0 '
        'library=rocm variant="" compute=gfx1030 driver=6.3 name=1002:73bf total="16.0 GiB" available="15.9 GiB"',
        source=_OLLAMA,
        level="info",
        about="service",
        facts={"engine.name": "ollama"},
    ),
    Kind(
        name="engine-platform-rocm",
        needles=("detected platform rocm",),
        pattern=r"Automatically detected platform rocm",
        sample="INFO 04-29 12:58:14 [__init__.py:239] Automatically detected platform rocm.",
        source="https://github.com/vllm-project/vllm/issues/17388",
        level="info",
        about="service",
    ),
    Kind(
        name="engine-known-harmless",
        needles=(
            "destroy_process_group() was not called", "`fork` method is not supported by ROCm", "Using uncalibrated q_scale",
            "No module named 'libtpu'", "No module named 'intel_extension_for_pytorch'", "ptrace: Operation not permitted",
            "During handling of the above exception", "was the direct cause of the following exception",
            "Using scaling factor 1.0 for fp8 KV", "generation_config.json", "gptq_gemm is buggy",
            "might be asynchronously reported at some other API call", "communicator is not available", "Using default MoE config",
            "[aiter] type hints mismatch", "disable _ENABLE_JIT_DEEPGEMM", "amdgpu version file missing", "Error in preprocessing prompt inputs",
            "This might cause deadlock in distributed execution", "TORCH_NCCL_AVOID_RECORD_STREAMS", "[IsEnoughWorkspace]", "is not supported in AMD GPUs", "Custom allreduce is disabled because",
            "NVML Shared Library Not Found", "Exception in worker VllmWorkerProcess",
        ),
        pattern=r"destroy_process_group\(\) was not called|`fork` method is not supported by ROCm|uncalibrated q_scale"
        r"|No module named '(?:libtpu|intel_extension_for_pytorch)'|ptrace: Operation not permitted"
        r"|During handling of the above exception|was the direct cause of the following exception"
        r"|Using scaling factor 1\.0 for fp8 KV|generation_config\.json|gptq_gemm is buggy"
        r"|might be asynchronously reported at some other API call|communicator is not available|Using default MoE config|\[aiter\] type hints mismatch"
        r"|disable _ENABLE_JIT_DEEPGEMM|amdgpu version file missing|Error in preprocessing prompt inputs|This might cause deadlock in distributed execution"
        r"|TORCH_NCCL_AVOID_RECORD_STREAMS|\[IsEnoughWorkspace\]|is not supported in AMD GPUs|Custom allreduce is disabled because|NVML Shared Library Not Found"
        r"|Exception in worker VllmWorkerProcess",
        sample="[rank0]:[W609 14:01:53.847994808 ProcessGroupNCCL.cpp:1554] Warning: WARNING: "
        "destroy_process_group() was not called before program exit, which can leak resources.",
        source="https://github.com/vllm-project/vllm/issues/45562",
        level="noise",
        about="service",
    ),
)  # fmt: skip
