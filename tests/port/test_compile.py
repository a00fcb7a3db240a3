"""Converted snippets of our own compile for AMD GPUs with the compiler that is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.port.snippets import output

SNIPPETS = {
    "reduce": "__device__ float sum(float v) { for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o); return v; }\n__global__ void k(float* x) { x[0] = sum(x[threadIdx.x]); }\n",
    "votes": "__global__ void k(int* p) { unsigned b = __ballot_sync(0xffffffff, p[threadIdx.x] > 0); p[0] = __popc(b) + __any_sync(0xffffffff, p[1]) + __all_sync(0xffffffff, p[2]) + (int)__activemask(); }\n",
    "syncwarp": "__global__ void k(int* p) { if (p[0]) __syncwarp(); else p[1] = 2; __syncwarp(0xffffffff); }\n",
    "ptx": '__device__ unsigned lane() { unsigned r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }\n__device__ unsigned bits(unsigned a, unsigned b) { unsigned d; asm("bfe.u32 %0, %1, %2, 4;" : "=r"(d) : "r"(a), "r"(b)); asm volatile("membar.gl;"); return d; }\n__global__ void k(unsigned* p) { p[0] = lane() + bits(p[1], p[2]); }\n',
    "loads": '__global__ void k(const float4* p, float4* q) { float4 v; asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p)); q[0] = v; }\n',
    "memory": "#include <cuda_runtime.h>\nvoid f(cudaStream_t s) { float* p; cudaMallocManaged(&p, 4); cudaMemPrefetchAsync(p, 4, 0, s); cudaHostAlloc((void**)&p, 4, cudaHostAllocMapped); cudaFreeHost(p); }\n",
    "launch": "#include <cuda.h>\n__global__ void __launch_bounds__(256, 2) k(float* x) { extern __shared__ float s[]; x[0] = s[0]; }\nvoid f(float* x) { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); k<<<1, 256, 65536>>>(x); cudaDeviceSynchronize(); }\n",
    "graph": "#include <cuda_runtime.h>\nvoid CUDART_CB g(void*) {}\nvoid f(cudaStream_t s, cudaGraph_t g1) { cudaGraphExec_t e; cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); cudaLaunchHostFunc(s, g, nullptr); cudaStreamEndCapture(s, &g1); cudaGraphInstantiate(&e, g1, 0); cudaGraphLaunch(e, s); }\n",
    "groups": "#include <cooperative_groups.h>\n#include <cuda_runtime.h>\nnamespace cg = cooperative_groups;\n__global__ void k(int* p) { cg::thread_block b = cg::this_thread_block(); b.sync(); p[b.thread_rank()] = 1; }\n",
    "half": "#include <cuda_fp16.h>\n__global__ void k(half* x, half2* y) { half2 a; a = {}; x[0] = __hadd(x[1], x[2]); y[0] = __hadd2(a, y[1]); }\n",
    "complex": "#include <cuComplex.h>\n#include <cuda_runtime.h>\n__global__ void k(cuFloatComplex* z) { z[0] = cuCmulf(z[1], make_cuFloatComplex(1.f, 2.f)); }\n",
    "operators": "inline __host__ __device__ float4 operator+(float4 a, float4 b)\n{\n  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);\n}\n__global__ void k(float4* x) { x[0] = x[1] + x[2]; }\n",
    "guards": "#ifdef __CUDACC__\n#define F __device__\n#endif\nF int f() {\n#ifdef __CUDA_ARCH__\n  return 1;\n#else\n  return 0;\n#endif\n}\n__global__ void k(int* p) { p[0] = f(); }\n",
}


def compiler() -> str:
    found = shutil.which("hipcc")
    if found is None:
        pytest.skip("package hipcc is not installed")
    if not Path("/usr/include/hip/hip_runtime.h").exists() and not Path("/opt/rocm/include/hip/hip_runtime.h").exists():
        pytest.skip("package libamdhip64-dev is not installed")
    return found


def invoke(command: list[str], folder: Path, target: str, options: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, f"--offload-arch={target}", "-x", "hip", "-std=c++17", "-w", "-D__HIP_PLATFORM_AMD__", *options, "a.cu"],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "HIP_PLATFORM": "amd"},
    )  # fmt: skip


def compile_hip(text: str, folder: Path, target: str) -> None:
    """Code generation where the compiler has the target's device library; else both sides are type-checked.

    The compiler of Debian 12 is too old for gfx942: a later clang then checks the code against the same headers.
    """
    (folder / "a.cu").write_text(text)
    command = [compiler()]
    done = invoke(command, folder, target, ("-O1", "-c", "-o", os.devnull))
    if re.search(r"invalid target ID|unknown target|Unsupported", done.stderr, re.I):
        later = next((found for version in range(24, 16, -1) if (found := shutil.which(f"clang++-{version}"))), None)
        if later is None:
            pytest.skip(f"the compiler is too old for {target}, and no package clang-17 or later is installed")
        command = [later]
        done = invoke(command, folder, target, ("-nogpulib", "-fsyntax-only"))
    elif "ROCm device library" in done.stderr:
        done = invoke(command, folder, target, ("-nogpulib", "-fsyntax-only"))
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_compile(name: str, target: str, tmp_path: Path) -> None:
    compile_hip(output(SNIPPETS[name], targets=(target,)), tmp_path, target)


def test_check_ties_errors_to_rules(tmp_path: Path) -> None:
    from rocsteady.port.check import check
    from rocsteady.port.context import Options
    from rocsteady.port.project import convert_tree, find

    compiler()
    (tmp_path / "a.cu").write_text(
        '#include <cuda_runtime.h>\n\n__global__ void k(unsigned* p) {\n  float f;\n  asm volatile("add.cc.f32 %0, %0, %0;" : "+f"(f));\n}\n'
    )
    tree, options = find(tmp_path / "a.cu"), Options()
    errors = check(tree, convert_tree(tree, options), options)
    assert [(error.line, error.rule) for error in errors] == [(5, "inline-ptx")]
