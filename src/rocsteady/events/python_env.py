"""Python environments: imports and shared libraries that do not load, and what pip, uv and conda print.

Loader messages come from ld.so: the names of library and symbol tell the vendor and the version that was meant.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_CUDA_LIBS = r"lib(?:cuda|cudart|cublas(?:Lt)?|cudnn\w*|nccl|nvrtc|cusparse(?:Lt)?|cufft|curand|cusolver|nvJitLink|cupti|nvidia-ml)"
_ROCM_LIBS = (
    r"lib(?:amdhip64|hsa-runtime64|rocblas|hipblas(?:lt)?|MIOpen|rccl|hiprtc|rocsolver|rocsparse|hipsparse(?:lt)?|hipfft"
    r"|rocfft|hipsolver|hiprand|rocrand|rocm_smi64|amd_smi|amd_comgr|roctx64|roctracer64|rocprofiler-\w+)"
)

KINDS = (
    Kind(
        name="cuda-library-missing",
        needles=("cannot open shared object file", "libcuda.so cannot found", "NVML Shared Library Not Found"),
        pattern=r"(?P<library>" + _CUDA_LIBS + r")\.so(?:\.(?P<soname>[\d.]+))?:? cannot (?:open shared object file|found)",
        sample=(
            "WARNING 03-20 22:03:03 _custom_ops.py:21] Failed to import from vllm._C with ImportError('libcuda.so.1: cannot open "
            "shared object file: No such file or directory')",
            "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        ),
        source="https://github.com/sgl-project/sglang/issues/4778",
        about="service",
    ),
    Kind(
        name="rocm-library-missing",
        needles=("cannot open shared object file",),
        pattern=r"(?P<library>" + _ROCM_LIBS + r")\.so(?:\.(?P<soname>[\d.]+))?: cannot open shared object file",
        sample="ImportError: libamdhip64.so.7: cannot open shared object file: No such file or directory",
        source="https://github.com/ROCm/pytorch/issues/2411",
        about="service",
    ),
    Kind(
        name="mpi-library-missing",
        needles=("cannot open shared object file",),
        pattern=r"(?P<library>libmpi\w*|libopen-\w+|libnuma|libibverbs|libelf|libdrm(?:_amdgpu)?|libgomp)\.so[\d.]*: cannot open shared object file",
        sample="OSError: libnuma.so.1: cannot open shared object file: No such file or directory",
        source="https://github.com/vllm-project/vllm/issues/49468",
        about="service",
    ),
    Kind(
        name="torch-symbol-undefined",
        needles=("undefined symbol:",),
        pattern=r"(?P<library>[\w.+-]+\.so[\w.]*): undefined symbol: (?P<symbol>_ZNK?(?:3c10(?!4cuda)|2at|5torch)\w+)",
        sample="WARNING 05-22 08:41:53 [rocm.py:44] Failed to import from vllm._C with ImportError('/site-packages/vllm/_C.abi3.so: "
        "undefined symbol: _ZN3c103hip19getCurrentHIPStreamEa')",
        source="https://github.com/lemonade-sdk/vllm-rocm/issues/11",
        about="service",
    ),
    Kind(
        name="engine-symbol-undefined",
        needles=("undefined symbol:",),
        pattern=r"(?P<library>[\w.+-]+\.so): undefined symbol: (?P<symbol>_Z\d+(?P<function>[a-z][a-z_0-9]+)\w*)",
        sample="ImportError('/dist-packages/vllm/_C.abi3.so: undefined symbol: _Z18cutlass_mla_decodeRKN2at6TensorES2_S2_S2_S2_S2_d')",
        source="https://github.com/vllm-project/vllm/issues/17388",
        about="service",
    ),
    Kind(
        name="ck-symbol-undefined",
        needles=("undefined symbol: _ZN7ck_tile", "undefined symbol: _ZN2ck"),
        pattern=r"(?P<library>[\w.+-]+\.so): undefined symbol: (?P<symbol>_ZN(?:7ck_tile|2ck)\w+)",
        sample="ImportError: aiter/jit/module_rmsnorm.so: undefined symbol: _ZN7ck_tile6kentryILi1E",
        source="https://github.com/ROCm/aiter/issues/1367",
        about="service",
    ),
    Kind(
        name="rocm-symbol-undefined",
        needles=("undefined symbol:", "undefined reference"),
        pattern=r"(?P<library>[\w.+/-]+\.so[\w.]*): undefined (?:symbol|reference to):? ?`?(?P<symbol>(?:hsa_|hip[A-Z]|rsmi_|amdsmi_|nccl|rocblas_|hipblas|miopen|amd_comgr)\w+)"
        r"(?:[,@] ?(?:version )?(?P<version>[\w.]+))?",
        sample=(
            "AttributeError: /opt/rocm-7.0.1/lib/libamd_smi.so: undefined symbol: amdsmi_get_gpu_partition_metrics_info",
            "ImportError: /opt/rocm/lib/libamdhip64.so.6: undefined symbol: hsa_amd_vmem_map, version ROCR_1",
        ),
        source="https://github.com/ROCm/amdsmi/issues/186",
        about="service",
    ),
    Kind(
        name="cuda-symbol-undefined",
        needles=("undefined symbol:",),
        pattern=r"(?P<library>[\w.+-]+\.so[\w.]*): undefined symbol: (?P<symbol>(?:cu[A-Z]|cuda[A-Z]|cublas|_ZN3c104cuda)\w+)",
        sample="ImportError: common_ops.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa",
        source="https://github.com/agentica-project/rllm/issues/8",
        about="service",
    ),
    Kind(
        name="libstdcxx-too-old",
        needles=("version `GLIBCXX_", "version `CXXABI_"),
        pattern=r"(?P<library>\S*libstdc\+\+\.so\.6): version `(?P<version>(?:GLIBCXX|CXXABI)_[\d.]+)' not found",
        sample="ImportError: /opt/conda/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by libhsa-runtime64.so)",
        source="https://github.com/ROCm/legacy-rocm-build/issues/3914",
        about="service",
    ),
    Kind(
        name="glibc-too-old",
        needles=("version `GLIBC_",),
        pattern=r"version `(?P<version>GLIBC_[\d.]+)' not found",
        sample="ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found",
        source="https://github.com/vllm-project/vllm/issues/41103",
        about="service",
    ),
    Kind(
        name="python-module-missing",
        needles=("No module named",),
        pattern=r"No module named '?(?P<module>(?!libtpu|intel_extension|module_)(?P<package>\w+)[\w.]*)'?",
        sample="ModuleNotFoundError: No module named 'aiter'",
        source="https://github.com/sgl-project/sglang/issues/9603",
        level="notice",
        about="service",
    ),
    Kind(
        name="python-import-name-missing",
        needles=("cannot import name",),
        pattern=r"cannot import name '(?P<what>\w+)' from (?:partially initialized module )?'(?P<module>(?P<package>\w+)[\w.]*)'",
        sample="ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/usr/lib/python3/huggingface_hub/__init__.py)",
        source="https://github.com/vllm-project/vllm/issues/28857",
        about="service",
    ),
    Kind(
        name="vllm-no-platform",
        needles=("running on UnspecifiedPlatform", "Failed to infer device type"),
        pattern=r"(?P<what>running on UnspecifiedPlatform|Failed to infer device type)",
        sample=(
            "INFO 03-20 22:03:02 __init__.py:194] No platform detected, vLLM is running on UnspecifiedPlatform",
            "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging",
        ),
        source="https://github.com/vllm-project/vllm/issues/24576",
        about="service",
    ),
    Kind(
        name="vllm-extension-import-failed",
        needles=("Failed to import from vllm._",),
        pattern=r"Failed to import from vllm\.(?P<extension>_\w+) with",
        sample="WARNING 05-22 08:41:53 [rocm.py:44] Failed to import from vllm._C with ImportError('x')",
        source="https://github.com/vllm-project/vllm/pull/38750",
        level="notice",
        about="service",
    ),
    Kind(
        name="vllm-op-missing",
        needles=("'_OpNamespace'",),
        pattern=r"'_OpNamespace' '(?P<namespace>_\w+)' object has no attribute '(?P<op>\w+)'",
        sample="AttributeError: '_OpNamespace' '_C' object has no attribute 'fused_qk_norm_rope'",
        source="https://github.com/vllm-project/vllm/issues/28501",
        about="service",
    ),
    Kind(
        name="nvidia-driver-asked-for",
        needles=("Found no NVIDIA driver", "No CUDA runtime is found", "CUDA driver initialization failed", "no NVIDIA GPU"),
        pattern=r"(?P<what>Found no NVIDIA driver on your system|CUDA driver initialization failed)",
        sample="RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver",
        source="https://github.com/hartmark/sd-rocm/issues/3",
        about="service",
    ),
    Kind(
        name="torch-without-gpu-build",
        needles=("Torch not compiled with CUDA enabled", "not linked with support for cuda devices"),
        pattern=r"Torch not compiled with CUDA enabled|not linked with support for cuda devices",
        sample="AssertionError: Torch not compiled with CUDA enabled",
        source="https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/17025",
        about="service",
    ),
    Kind(
        name="pip-wheel-file",
        needles=("vllm-0.", "vllm-1.", "torch-2.", "sgl_kernel-0."),
        pattern=r"\b(?P<package>vllm|torch|sgl_kernel)-(?P<version>\d[\w.]*?)(?P<local>(?:\+|%2B)[\w.]+)?-(?P<python>cp\d+|py3)-(?P<abi>\w+)-(?P<tag>\w+)\.whl",
        sample="vllm-0.22.1+rocm722-cp312-cp312-manylinux_2_34_x86_64.whl",
        source="https://github.com/vllm-project/vllm/issues/44660",
        level="notice",
        about="node",
    ),
    Kind(
        name="pip-installed",
        needles=("Successfully installed ", "Would install "),
        pattern=r"Successfully installed (?=.*?\btorch-(?P<torch>\d[\w.+]*)|.*?\bvllm-(?P<vllm>\d[\w.+]*)|.*?\bnvidia-)(?:(?=.*?\b(?P<nvidia>nvidia-[a-z-]+))|)",
        sample="Successfully installed nvidia-cublas-cu12-12.4.5.8 torch-2.6.0 triton-3.2.0",
        source="https://github.com/hartmark/sd-rocm/issues/3",
        level="notice",
        about="node",
    ),
    Kind(
        name="pip-uninstalled-rocm-torch",
        needles=("Successfully uninstalled torch-",),
        pattern=r"Successfully uninstalled (?P<package>torch-\d[\w.]*\+(?:rocm|git)[\w.]*)",
        sample="Successfully uninstalled torch-2.6.0+rocm6.2.4",
        source="https://github.com/vladmandic/sdnext/issues/4946",
        level="notice",
        about="node",
    ),
    Kind(
        name="pip-no-matching-wheel",
        needles=("Could not find a version that satisfies the requirement", "No matching distribution found", "no wheels with a matching",
                 "has no wheels with", "is not a supported wheel on this platform"),
        pattern=r"Could not find a version that satisfies the requirement (?P<requirement>\S+)|No matching distribution found for (?P<wanted>\S+)"
        r"|no wheels with a matching (?P<mismatch>[\w ]+ tag)(?: \(e\.g\., `?(?P<tag>\w+))?|(?P<wheel>\S+\.whl) is not a supported wheel on this platform",
        sample=(
            "ERROR: Could not find a version that satisfies the requirement vllm==0.22.1+rocm722 (from versions: 0.20.0)",
            "hint: You require CPython 3.11 (`cp311`), but we only found wheels for `vllm` (v0.22.1+rocm722) with no wheels with a matching "
            "Python ABI tag (e.g., `cp311`)",
        ),
        source="https://github.com/ROCm/rocm-cli/issues/237",
        about="node",
    ),
    Kind(
        name="numpy-2-against-1",
        needles=("compiled using NumPy 1.x cannot be run in", "numpy.core.multiarray failed to import", "numpy.dtype size changed"),
        pattern=r"compiled using NumPy 1\.x cannot be run in|numpy\.core\.multiarray failed to import|numpy\.dtype size changed",
        more=r"NumPy (?P<version>2[\d.]+) as it may crash",
        sample="A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.2.6 as it may crash. To support both 1.x and 2.x",
        source="https://github.com/vllm-project/vllm/issues/34041",
        about="service",
    ),
    Kind(
        name="torchvision-mismatch",
        needles=("operator torchvision::nms does not exist", "operator torchaudio::"),
        pattern=r"operator (?P<package>torchvision|torchaudio)::(?P<op>\w+) does not exist",
        sample="RuntimeError: operator torchvision::nms does not exist",
        source="https://github.com/ROCm/legacy-rocm-build/issues/5899",
        about="service",
    ),
    Kind(
        name="triton-no-driver",
        needles=("active drivers ([", "active driver(s) found (expected 1)"),
        pattern=r"(?P<count>\d+) active driver(?:s|\(s\))? (?:\(\[|found)",
        sample="RuntimeError: 0 active drivers ([]). There should only be one.",
        source="https://github.com/vllm-project/vllm/pull/53530",
        about="service",
    ),
    Kind(
        name="ray-version-mismatch",
        needles=("The cluster was started with:",),
        pattern=r"Version mismatch: The cluster was started with:",
        more=r"^\s*(?:Ray: |Python: |This process)",
        sample="RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.40.0\n    Python: 3.10.12",
        source="https://github.com/ray-project/ray/issues/52701",
        about="service",
    ),
    Kind(
        name="protobuf-descriptors",
        needles=("Descriptors cannot be created directly",),
        pattern=r"Descriptors cannot be created directly",
        sample="TypeError: Descriptors cannot be created directly.",
        source="https://github.com/vllm-project/vllm/issues/5594",
        about="service",
    ),
    Kind(
        name="bitsandbytes-no-library",
        needles=("Could not find the bitsandbytes", "libbitsandbytes_", "bitsandbytes was compiled without GPU support"),
        pattern=r"Could not find the bitsandbytes (?P<what>ROCm|CUDA) binary at|(?P<library>libbitsandbytes_\w+\.so): cannot open shared object file"
        r"|bitsandbytes was compiled without GPU support",
        sample="Could not find the bitsandbytes ROCm binary at PosixPath('/home/u/bitsandbytes/libbitsandbytes_rocm63.so')",
        source="https://github.com/ROCm/bitsandbytes/issues/82",
        about="service",
    ),
    Kind(
        name="sgl-kernel-not-loaded",
        needles=("Could not load any common_ops library",),
        pattern=r"\[sgl_kernel\] CRITICAL: Could not load any common_ops library",
        sample="ImportError: [sgl_kernel] CRITICAL: Could not load any common_ops library!",
        source="https://github.com/sgl-project/sglang/pull/13948",
        about="service",
    ),
    Kind(
        name="llamacpp-without-gpu",
        needles=("no usable GPU found, --gpu-layers", "compiled without GPU support", "not compiled with GPU offload support"),
        pattern=r"no usable GPU found, --gpu-layers|llama\.cpp was compiled without GPU support|not compiled with GPU offload support",
        sample="warning: no usable GPU found, --gpu-layers option will be ignored",
        source="https://github.com/ollama/ollama/issues/12071",
        about="service",
    ),
    Kind(
        name="torch-no-gpu",
        needles=("No HIP GPUs are available", "No CUDA GPUs are available"),
        pattern=r"No (?P<runtime>HIP|CUDA) GPUs are available",
        sample="RuntimeError: No HIP GPUs are available",
        source="https://github.com/vllm-project/vllm/issues/3818",
        about="service",
    ),
    Kind(
        name="transformers-unknown-model-type",
        needles=("but Transformers does not recognize this architecture", "Unrecognized configuration class", "Tokenizer class "),
        pattern=r"has model type `(?P<model_type>[\w.-]+)` but Transformers does not recognize|Tokenizer class (?P<tokenizer>\w+) does not exist or is not",
        sample="ValueError: The checkpoint you are trying to load has model type `qwen3_next` but Transformers does not recognize this architecture.",
        source="https://github.com/vllm-project/vllm/issues/9713",
        about="service",
    ),
    Kind(
        name="transformers-api-changed",
        needles=("object has no attribute 'all_special_tokens_extended'", "has no attribute 'rope_scaling'", "module 'transformers' has no attribute",
                 "got an unexpected keyword argument 'use_fast'"),
        pattern=r"'?(?P<class>\w+)'? object has no attribute '(?P<attribute>all_special_tokens_extended|rope_scaling)'"
        r"|module 'transformers' has no attribute '(?P<missing>\w+)'",
        sample="AttributeError: Qwen2Tokenizer object has no attribute 'all_special_tokens_extended'",
        source="https://github.com/vllm-project/vllm/issues/28857",
        about="service",
    ),
    Kind(
        name="engine-model-not-supported",
        needles=("are not supported for now",),
        pattern=r"Model architectures \[(?P<architectures>[^\]]+)\] are not supported for now",
        sample="ValueError: Model architectures ['Qwen3NextForCausalLM'] are not supported for now. Supported architectures: dict_keys([",
        source="https://github.com/vllm-project/vllm/issues/9713",
        about="service",
    ),
)  # fmt: skip
