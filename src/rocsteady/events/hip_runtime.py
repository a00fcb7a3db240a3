"""HIP and HSA runtime errors as PyTorch, rocBLAS, hipBLASLt, ollama and the runtime itself print them.

HIP errors surface at a later call than the one that failed, so the frame beside them is often innocent.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

KINDS = (
    Kind(
        name="rocblas-no-arch",
        needles=("TensileLibrary.dat",),
        pattern=r"rocBLAS error: Cannot read (?P<path>\S*TensileLibrary\.dat): (?P<why>Illegal seek|No such file or directory)"
        r"(?: for GPU arch ?: ?(?P<gfx>gfx\w+))?",
        more=r"List of available TensileLibrary|TensileLibrary_lazy_(?P<last_shipped>gfx\w+)\.dat",
        sample="rocBLAS error: Cannot read /opt/rocm-5.7.0/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1103",
        source="https://github.com/ROCm/rocBLAS/issues/1339",
        about="service",
    ),
    Kind(
        name="hipblaslt-no-arch",
        needles=("rocblaslt error: Cannot read", "rocblaslt error: Could not load"),
        pattern=r"rocblaslt error: (?:Cannot read|Could not load) \"?\S*?TensileLibrary_lazy_(?P<gfx>gfx\w+)\.dat",
        sample='rocblaslt error: Cannot read "TensileLibrary_lazy_gfx906.dat" (or .zlib variant): No such file or directory',
        source="https://github.com/ROCm/TheRock/issues/6175",
        about="service",
    ),
    Kind(
        name="hip-no-code-for-arch",
        needles=("invalid device function", "no kernel image is available", "hipErrorNoBinaryForGpu", "No compatible code objects found",
                 "hipErrorInvalidDeviceFunction", "Unable to find code object for all current devices"),
        pattern=r"(?P<error>invalid device function|no kernel image is available|hipErrorNoBinaryForGpu|hipErrorInvalidDeviceFunction"
        r"|Unable to find code object for all current devices|No compatible code objects found for:? ?(?P<gfx>gfx\w+)?)",
        sample=(
            "RuntimeError: HIP error: invalid device function",
            ":1:hip_fatbin.cpp           :687 : 114369963532 us:  No compatible code objects found for: gfx1152, value of HIP_FORCE_SPIRV_CODEOBJECT: 0",
            '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"',
        ),
        source="https://github.com/ggml-org/llama.cpp/issues/19949",
        about="service",
    ),
    Kind(
        name="hsa-invalid-isa",
        needles=("HSA_STATUS_ERROR_INVALID_ISA",),
        pattern=r"HSA_STATUS_ERROR_INVALID_ISA",
        sample=":0:rocdevice.cpp :3018: us: Callback: Queue 0x7f aborting with error : HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid. code: 0x100f",
        source="https://github.com/likelovewant/ROCmLibs-for-gfx1103-AMD780M-APU/issues/37",
        about="service",
    ),
    Kind(
        name="ollama-gpu-not-supported",
        needles=("amdgpu is not supported", "amdgpu too old"),
        pattern=r"amdgpu is not supported \(supported types:\[(?P<supported>[^\]]*)\]\)\"?(?:.*?gpu_type=(?P<gfx>gfx\w+))?|amdgpu too old (?P<old>gfx\w+)",
        sample='level=WARN source=amd_linux.go:376 msg="amdgpu is not supported (supported types:[gfx1030 gfx1100 gfx908 gfx90a gfx942])" gpu_type=gfx906 gpu=GPU-1',
        source="https://github.com/ollama/ollama/issues/11569",
        about="service",
    ),
    Kind(
        name="aiter-arch-not-supported",
        needles=("Unknown GPU architecture:", "One of GPU archs of", "Get GPU arch from rocminfo failed"),
        pattern=r"Unknown GPU architecture: (?P<gfx>gfx\w+)|One of GPU archs of \['?(?P<arch>gfx\w+)[^\]]*\] is invalid or not supported",
        sample=(
            "RuntimeError: Get GPU arch from rocminfo failed \"Unknown GPU architecture: gfx1201. Supported architectures: ['native', 'gfx90a', 'gfx942']\"",
            "AssertionError: One of GPU archs of ['gfx1151'] is invalid or not supported",
        ),
        source="https://github.com/gpustack/gpustack/issues/3880",
        about="service",
    ),
    Kind(
        name="hip-invalid-device-ordinal",
        needles=("invalid device ordinal", "hipErrorInvalidDevice "),
        pattern=r"invalid device ordinal|hipErrorInvalidDevice\b",
        sample="RuntimeError: HIP error: invalid device ordinal",
        source="https://github.com/vllm-project/vllm/issues/12572",
        about="service",
    ),
    Kind(
        name="visible-devices-inconsistent",
        needles=("Inconsistant values found", "Inconsistent values found", "Please use either HIP_VISIBLE_DEVICES"),
        pattern=r"Inconsist[ae]nt values found|Please use either HIP_VISIBLE_DEVICES",
        sample="AssertionError: Inconsistant values found. Please use either HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES.",
        source="https://github.com/ray-project/ray/issues/52701",
        about="service",
    ),
    Kind(
        name="visible-devices-uuid",
        needles=("invalid literal for int() with base 10: 'GPU-",),
        pattern=r"invalid literal for int\(\) with base 10: '(?P<uuid>GPU-[\w-]+)'",
        sample="ValueError: invalid literal for int() with base 10: 'GPU-a1b2c3d4e5f60718'",
        source="https://github.com/vllm-project/vllm/pull/33308",
        about="service",
    ),
    Kind(
        name="ray-started",
        needles=("Started a local Ray instance", "Connected to Ray cluster", "Connecting to existing Ray cluster", "RayWorkerWrapper", "RayWorkerProc"),
        pattern=r"Started a local Ray instance|Connect(?:ed|ing) to (?:existing )?Ray cluster|RayWorker(?:Wrapper|Proc)",
        sample="INFO worker.py:1749 -- Started a local Ray instance.",
        source="https://github.com/vllm-project/vllm/issues/4131",
        level="info",
        about="service",
    ),
    Kind(
        name="ray-not-enough-gpus",
        needles=("total number of available GPUs in the placement group", "cannot provide a placement group"),
        pattern=r"required (?:\w+ )?GPUs exceeds the total number of available (?:\w+ )?GPUs|cannot provide a placement group of",
        sample="ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group.",
        source="https://github.com/vllm-project/vllm/issues/14807",
        about="service",
    ),
    Kind(
        name="ray-cluster-without-gpu",
        needles=("No available node types can fulfill resource request", "Current node has no GPU available", "Ray does not allocate any GPUs"),
        pattern=r"No available node types can fulfill resource request.*'GPU': (?P<wanted>[\d.]+)|Current node has no GPU available|Ray does not allocate any GPUs on the driver node",
        sample="(autoscaler +41s) Error: No available node types can fulfill resource request {'node:172.16.10.33': 0.001, 'GPU': 1.0}. Add suitable node types to this cluster to resolve this issue.",
        source="https://github.com/vllm-project/vllm/issues/14111",
        about="service",
    ),
    Kind(
        name="hip-code-object-not-loadable",
        needles=("shared object initialization failed", "hipErrorSharedObjectInitFailed"),
        pattern=r"shared object initialization failed|hipErrorSharedObjectInitFailed",
        sample="RuntimeError: HIP error: shared object initialization failed",
        source="https://github.com/pytorch/pytorch/issues/111601",
        about="service",
    ),
    Kind(
        name="hip-device-assert",
        needles=("device-side assert triggered", "Assertion `"),
        pattern=r"device-side assert triggered|Device-side assertion `(?P<assertion>[^`']+)[`'] failed|thread: \[\d+,\d+,\d+\] Assertion `(?P<check>[^`]+)` failed",
        sample="RuntimeError: HIP error: device-side assert triggered",
        source="https://github.com/ROCm/legacy-rocm-build/issues/4447",
        about="service",
    ),
    Kind(
        name="hip-illegal-access",
        needles=("an illegal memory access was encountered", "hipErrorIllegalAddress", "unspecified launch failure"),
        pattern=r"(?:HIP error: )?(?P<error>an illegal memory access was encountered|unspecified launch failure)|hipErrorIllegalAddress",
        sample="RuntimeError: HIP error: an illegal memory access was encountered",
        source="https://github.com/ROCm/vllm/issues/539",
        about="service",
    ),
    Kind(
        name="hip-ipc-handle-failed",
        needles=("hipIpcGetMemHandle", "IPC memory creation failed", "Failed to create memory for IPC", "hipIpcOpenMemHandle"),
        pattern=r"hipIpc(?P<call>GetMemHandle|OpenMemHandle)\W.{0,40}?(?P<error>invalid argument|invalid device pointer|not supported|out of memory|fail\w*)"
        r"|IPC memory creation failed|Failed to create memory for IPC",
        sample=(
            "custom_all_reduce.cu:397 hipIpcGetMemHandle [HIP error](invalid argument)",
            "hipIpcGetMemHandle -> 1 (invalid argument)",
            ":1:hip_memory.cpp:3354: IPC memory creation failed for memory: 0xbae00000",
        ),
        source="https://github.com/ROCm/aiter/issues/4174",
        about="service",
    ),
    Kind(
        name="hipblas-not-supported",
        needles=("BLAS_STATUS_NOT_SUPPORTED", "BLAS_STATUS_INTERNAL_ERROR", "BLAS_STATUS_INVALID_VALUE", "BLAS_STATUS_ARCH_MISMATCH"),
        pattern=r"(?:HIP|CU)BLAS_STATUS_(?P<status>NOT_SUPPORTED|INTERNAL_ERROR|INVALID_VALUE|ARCH_MISMATCH) when calling [`']?(?P<call>\w+)",
        sample="RuntimeError: CUDA error: HIPBLAS_STATUS_NOT_SUPPORTED when calling `HIPBLAS_STATUS_NOT_SUPPORTED`",
        source="https://github.com/ROCm/rocm-libraries/issues/3550",
        about="service",
    ),
    Kind(
        name="hipblaslt-overridden",
        needles=("Attempting to use hipBLASLt on a", "hipBLASLt on an unsupported architecture"),
        pattern=r"Attempting to use hipBLASLt on an? unsupported architecture",
        sample="[W1016 17:27:46.690175963 Context.cpp:301] Warning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas",
        source="https://github.com/pytorch/pytorch/issues/138067",
        level="noise",
        about="service",
    ),
    Kind(
        name="mla-gluon-wrong-arch",
        needles=("mla_gluon requires", " requires gfx9", "requires gfx950"),
        pattern=r"(?P<kernel>\w+) requires (?P<wanted>gfx\w+)(?: \(\w+\))?, (?:but )?got (?P<gfx>gfx\w+)",
        sample="AssertionError: mla_gluon requires gfx950 (CDNA4), got gfx942",
        source="https://github.com/vllm-project/vllm/issues/51964",
        about="service",
    ),
    Kind(
        name="graph-capture-not-permitted",
        needles=("not permitted when stream is capturing", "hipErrorStreamCapture", "dependency created on uncaptured work", "capture was invalidated"),
        pattern=r"(?P<error>operation not permitted when stream is capturing|hipErrorStreamCapture\w+|dependency created on uncaptured work"
        r"|operation failed due to a previous error during capture)",
        sample="RuntimeError: HIP error: operation not permitted when stream is capturing",
        source="https://github.com/ROCm/hip/issues/3876",
        about="service",
    ),
    Kind(
        name="watchdog-during-capture",
        needles=("watchdog thread terminated with exception: HIP error: operation not permitted",),
        pattern=r"watchdog thread terminated with exception: HIP error: operation not permitted when stream is capturing",
        sample="[rank0]:[E1030 15:32:32.970893361 ProcessGroupNCCL.cpp:2055] [PG ID 5 PG GUID 51 Rank 0] Process group watchdog thread terminated "
        "with exception: HIP error: operation not permitted when stream is capturing",
        source="https://github.com/ROCm/hip/issues/3876",
        about="service",
    ),
    Kind(
        name="graph-capture-failed",
        needles=("Capture cuda graph failed", "Capture CUDA graph failed", "Capture HIP graph failed", "CUDAGraph capture failed"),
        pattern=r"Capture (?:cuda|hip) graph failed:? ?(?P<reason>.{0,120})",
        sample="Exception: Capture cuda graph failed: HIP error: out of memory",
        source="https://github.com/sgl-project/sglang/pull/5893",
        about="service",
    ),
)  # fmt: skip
