"""Inference engines: GPU memory that does not suffice, at start and at run time."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_KV = "https://github.com/lemonade-sdk/vllm-rocm/issues/5"
_SIZE = r"\d[\d.]* (?:[KMG]i)?B(?:ytes)?"

KINDS = (
    Kind(
        name="torch-out-of-memory",
        needles=("out of memory. Tried to allocate",),
        pattern=r"(?:HIP|CUDA) out of memory\. Tried to allocate (?P<tried>" + _SIZE + r")"
        r"(?:(?=.*?GPU (?P<device>\d+))|)(?:(?=.*?(?:capac\w+ of |GPU \d+; )(?P<total>" + _SIZE + r"))|)"
        r"(?:(?=.*?(?P<free>" + _SIZE + r")(?: is)? free)|)(?:(?=.*?process \d* ?has (?P<own>" + _SIZE + r") memory in use)|)"
        r"(?:(?=.*?(?P<allocated>" + _SIZE + r")(?: is)?(?: already)? allocated)|)"
        r"(?:(?=.*?(?P<reserved>" + _SIZE + r") is reserved by PyTorch but unallocated)|)",
        more=r"of which (?P<free>" + _SIZE + r") is free|^PyTorch but unallocated|^(?:of which|fragmentation\.)",
        sample=(
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 12.95 GiB. GPU 0 has a total capacity of 127.00 GiB "
            "of which 18.55 GiB is free. Of the allocated memory 99.37 GiB is allocated by PyTorch, and 121.80 MiB is "
            "reserved by PyTorch but unallocated.",
            "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB (GPU 0; 63.98 GiB total capacity; "
            "51.96 GiB already allocated; 3.06 GiB free; 52.00 GiB reserved in total by PyTorch)",
        ),
        source=_KV,
        about="service",
        mark="crash",
    ),
    Kind(
        name="vllm-kv-cache-below-one-request",
        needles=("KV cache is needed, which is larger than", "number of tokens that can be stored in KV cache"),
        pattern=r"max(?:imum)? seq(?:uence)? len(?:gth)? \(?(?P<length>\d+)\)?(?:.{0,60}?\(?(?P<needed>[\d.]+) ?GiB KV cache is"
        r" needed, which is larger than the available KV cache memory \((?P<available>[\d.]+) ?GiB\)"
        r"(?:.*?maximum model length is (?P<fits>\d+))?"
        r"| is larger than the maximum number of tokens that can be stored in KV cache \((?P<tokens>\d+)\))",
        sample=(
            "ValueError: To serve at least one request with the models's max seq len (131072), (4.11 GiB KV cache is needed, "
            "which is larger than the available KV cache memory (4.0 GiB). Based on the available memory, the estimated "
            "maximum model length is 127776.",
            "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in "
            "KV cache (43120). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`",
        ),
        source=_KV,
        about="service",
    ),
    Kind(
        name="vllm-no-memory-for-kv-cache",
        needles=("No available memory for the cache blocks", "Available KV cache memory: -", "# GPU blocks: 0", "# cuda blocks: 0"),
        pattern=r"No available memory for the cache blocks|Available KV cache memory: (?P<gib>-[\d.]+) GiB|# (?:GPU|CUDA) blocks: 0\b",
        sample=(
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
            "INFO 12-26 04:34:06 [gpu_worker.py:363] Available KV cache memory: -7.09 GiB",
        ),
        source="https://github.com/vllm-project/vllm/issues/31372",
        about="service",
    ),
    Kind(
        name="vllm-free-below-request",
        needles=("is less than desired GPU memory utilization",),
        pattern=r"Free memory on device \S* ?\(?(?P<free>[\d.]+)/(?P<total>[\d.]+) ?GiB\)? on startup is less than desired GPU memory"
        r" utilization \((?P<share>[\d.]+), (?P<wanted>[\d.]+) ?GiB\)",
        sample="Free memory on device cuda:0 (27.07/32.0 GiB) on startup is less than desired GPU memory utilization (0.92, 29.44 GiB)",
        source="https://github.com/lemonade-sdk/lemonade/pull/3344",
        about="service",
    ),
    Kind(
        name="vllm-memory-changed-in-profiling",
        needles=("Error in memory profiling",),
        pattern=r"Error in memory profiling\. Initial (?:used|free) memory (?P<before>\S+)",
        sample="AssertionError: Error in memory profiling. Initial free memory 191.2 GiB, current free memory 191.9 GiB. "
        "This happens when other processes sharing the same container release GPU memory",
        source="https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/platforms/rocm.py",
        about="service",
    ),
    Kind(
        name="vllm-sampler-warmup-oom",
        needles=("occurred when warming up sampler",),
        pattern=r"out of memory occurred when warming up sampler with (?P<requests>\d+)",
        sample="RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering "
        "`max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
        source="https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/platforms/rocm.py",
        about="service",
    ),
    Kind(
        name="vllm-preempted-for-kv",
        needles=("is preempted by PreemptionMode",),
        pattern=r"is preempted by PreemptionMode\.(?P<how>\w+) mode because there is not enough KV cache space",
        sample="WARNING 05-01 10:00:00 scheduler.py:1235] Sequence group 12 is preempted by PreemptionMode.RECOMPUTE mode because "
        "there is not enough KV cache space.",
        source="https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/platforms/rocm.py",
        level="notice",
        about="service",
    ),
    Kind(
        name="vllm-encoder-attention-fallback",
        needles=("still experimental. Enable it with TORCH_ROCM_AOTRITON",),
        pattern=r"(?P<what>Mem Efficient|Flash) (?:Efficient )?attention on Current AMD GPU is still experimental",
        sample="UserWarning: Mem Efficient attention on Current AMD GPU is still experimental. Enable it with "
        "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1. (Triggered internally at sdp_utils.cpp:360.)",
        source="https://github.com/vllm-project/vllm/issues/31372",
        level="notice",
        about="service",
    ),
    Kind(
        name="sglang-no-memory-for-kv",
        needles=("Please try to increase --mem-fraction-static", "larger than the profiled value -"),
        pattern=r"Not enough memory\. Please try to increase --mem-fraction-static|is larger than the profiled value (?P<tokens>-\d+)",
        sample=(
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "[2025-07-02 07:41:59 DP0 TP0] max_total_tokens=131072 is larger than the profiled value -561981. Use the profiled value instead.",
        ),
        source="https://github.com/sgl-project/sglang/issues/7691",
        about="service",
    ),
    Kind(
        name="sglang-batch-out-of-memory",
        needles=("out of memory. Try to lower your batch size", "KV cache pool is full. Retract"),
        pattern=r"(?P<phase>Prefill|Decode) out of memory\. Try to lower your batch size|KV cache pool is full\. Retract requests",
        sample="RuntimeError: Prefill out of memory. Try to lower your batch size.",
        source="https://github.com/sgl-project/sglang/issues/4330",
        about="service",
    ),
    Kind(
        name="tgi-warmup-memory",
        needles=("Not enough memory to handle",),
        pattern=r"Not enough memory to handle (?:(?P<total>\d+) total tokens with )?(?P<tokens>\d+) prefill tokens",
        sample='Error: Warmup(Generation("Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`"))',
        source="https://github.com/huggingface/text-generation-inference/issues/755",
        about="service",
    ),
    Kind(
        name="ggml-out-of-memory",
        needles=("ROCm error: out of memory", "CUDA error: out of memory", "cudaMalloc failed: out of memory", "hipMalloc failed: out of memory",
                 "unable to allocate ROCm", "ggml_cuda_device_malloc"),
        pattern=r"(?:ROCm|CUDA) error: out of memory|allocating (?P<size>[\d.]+ MiB) on device (?P<device>\d+): (?:cuda|hip)Malloc failed: out of memory"
        r"|(?:cuda|hip)Malloc failed: out of memory|unable to allocate ROCm(?P<buffer>\d+) (?:buffer|\w+ buffer)|ggml_cuda_device_malloc\(",
        sample=(
            "ollama[30103]: ROCm error: out of memory",
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5120.00 MiB on device 0: cudaMalloc failed: out of memory",
            "llama_model_load: error loading model: unable to allocate ROCm0 buffer",
        ),
        source="https://github.com/ollama/ollama/issues/11713",
        about="service",
    ),
    Kind(
        name="ggml-error-place",
        needles=("current device:",),
        pattern=r"current device: (?P<hip_index>\d+), in function (?P<function>\w+)",
        more=r"^\s*(?P<call>\w+)\(",
        sample="  current device: 1, in function stream at ggml/src/ggml-cuda/common.cuh:814",
        source="https://github.com/ggml-org/llama.cpp/issues/8618",
        about="service",
    ),
    Kind(
        name="display-pin-failed",
        needles=("Failed to pin framebuffer with error -12",),
        pattern=r"Failed to pin framebuffer with error (?P<errno>-12)",
        sample="[drm:amdgpu_dm_plane_helper_prepare_fb [amdgpu]] *ERROR* Failed to pin framebuffer with error -12",
        source="https://github.com/ollama/ollama/issues/11713",
        level="notice",
    ),
    Kind(
        name="hip-out-of-memory",
        needles=("HIP error: out of memory", "hipErrorOutOfMemory", "HIPBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED"),
        pattern=r"HIP error: out of memory|hipErrorOutOfMemory|(?P<blas>(?:HIP|CU)BLAS_STATUS_ALLOC_FAILED)",
        sample="RuntimeError: HIP error: out of memory",
        source="https://github.com/pytorch/pytorch/issues/175431",
        about="service",
    ),
)  # fmt: skip
