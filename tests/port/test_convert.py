"""What is edited, and what is left alone."""

from __future__ import annotations

import pytest

from rocsteady.port.context import Options
from rocsteady.port.convert import convert_bytes
from tests.port.snippets import notes, output, rule_ids


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("cudaStream_t s;", "hipStream_t s;"),
        ("void f() { cudaFree(p); }", "void f() { (void)hipFree(p); }"),
        ("void f() { (void)cudaFree(p); }", "void f() { (void)hipFree(p); }"),
        ("void f() { if (p) cudaFree(p); }", "void f() { if (p) (void)hipFree(p); }"),
        ("void f() { e = cudaFree(p); }", "void f() { e = hipFree(p); }"),
        ("void f() { CHECK(cudaFree(p)); }", "void f() { CHECK(hipFree(p)); }"),
        ("#define FREE(p) cudaFree(p)\n", "#define FREE(p) hipFree(p)\n"),
        ("#if 0\ncudaEvent_t e;\n#endif\n", "#if 0\nhipEvent_t e;\n#endif\n"),
        ("cublasHandle_t cublasHandle;", "hipblasHandle_t cublasHandle;"),
        ("int a = s.cudaMalloc;", "int a = s.cudaMalloc;"),
        (
            "void f() { other::cudaMalloc(p); ::cudaMalloc(&p, 4); }",
            "void f() { other::cudaMalloc(p); ::hipMalloc(&p, 4); }",
        ),
        ('const char* s = "cudaMalloc"; // cudaMalloc\n', 'const char* s = "cudaMalloc"; // cudaMalloc\n'),
        ('const char* s = R"(cudaMalloc)";', 'const char* s = R"(cudaMalloc)";'),
        ("cub::DeviceScan a; x.cub::y; my::cub::z b;", "hipcub::DeviceScan a; x.cub::y; my::cub::z b;"),
        ("k<<<grid, block, 0, s>>>(a<b>(c), d);", "k<<<grid, block, 0, s>>>(a<b>(c), d);"),
        ("cuComplex z = make_cuComplex(1, 2);", "hipComplex z = make_hipComplex(1, 2);"),
        ("float x = CUDART_INF_F;", "#include <hip/hip_math_constants.h>\nfloat x = HIP_INF_F;"),
    ],
)
def test_names(source: str, expected: str) -> None:
    assert output(source, "a.cpp") == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("__shfl_down_sync(0xffffffff, v, 1)", "__shfl_down(v, 1, 32)"),
        ("__shfl_xor_sync(~0u, v, f(a, b), 16)", "__shfl_xor(v, f(a, b), 16)"),
        ("__shfl_sync(0xffffffff, __shfl_up_sync(0xffffffffu, v, 1), 0)", "__shfl(__shfl_up(v, 1, 32), 0, 32)"),
        ("__shfl_sync(__activemask(), g<int, 2>(v), 0)", "__shfl(g<int, 2>(v), 0, 32)"),
        ("__any_sync(0xffffffff, p)", "((unsigned)(__ballot(p) >> (__lane_id() & 32u)) != 0u)"),
        ("__all_sync(0xffffffff, p)", "((unsigned)(__ballot(!(p)) >> (__lane_id() & 32u)) == 0u)"),
        ("__ballot_sync(0xffffffff, p > 0)", "((unsigned)(__ballot(p > 0) >> (__lane_id() & 32u)))"),
    ],
)
def test_warp_operations(call: str, expected: str) -> None:
    text = output(f"__device__ int f(int v, int p) {{ return {call}; }}\n")
    assert f"return {expected};" in text
    assert output(text) == text


def test_native_mode_edits_no_warp_code() -> None:
    source = "__device__ int f(int v) { __syncwarp(); return __shfl_down_sync(0xffffffff, v, 1); }\n"
    assert "__syncwarp(); return __shfl_down_sync(0xffffffff, v, 1);" in output(source, warp="native")
    assert {"syncwarp", "warp-mask"} <= rule_ids(source, warp="native")


def test_a_partial_mask_is_named_as_such() -> None:
    assert "warp-mask-partial" in rule_ids("__device__ int f(int v, unsigned m) { return __shfl_sync(m, v, 0); }")
    assert "warp-mask-partial" not in rule_ids(
        "#define ALL 0xffffffffu\n__device__ int f(int v) { return __shfl_sync(ALL, v, 0); }"
    )


def test_code_that_follows_warp_size_gets_no_width_of_32() -> None:
    text = output(
        "__device__ int f(int v) { for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o); return v; }"
    )
    assert "__shfl_down(v, o);" in text


def test_syncwarp_keeps_a_branch_whole() -> None:
    text = output("__device__ void f(bool a) { if (a) __syncwarp(); else g(); }")
    assert 'if (a) { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");' in text
    assert '"wavefront"); } else g();' in text


def test_includes_get_folder_order_and_runtime() -> None:
    assert output(
        "#include <cooperative_groups.h>\n#include <cublas_v2.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\nint a;\n"
    ) == (
        "#include <hip/hip_runtime.h>\n#include <hip/hip_cooperative_groups.h>\n#include <hipblas/hipblas.h>\nint a;\n"
    )
    assert (
        output("#pragma once\n__device__ int a;\n", "a.cuh")
        == "#pragma once\n#include <hip/hip_runtime.h>\n__device__ int a;\n"
    )
    assert output('#include "x.h"\n__global__ void k() {}\n').startswith(
        '#include <hip/hip_runtime.h>\n#include "x.h"\n'
    )


def test_bytes_outside_edits_stay() -> None:
    source = b"\xef\xbb\xbf// \xe9\xff caf\xe9\r\n#include <cuda_runtime.h>\r\ncudaStream_t s; /* \x81 */\r\n"
    assert convert_bytes(source, "a.cu", Options()).data == source.replace(
        b"cuda_runtime.h", b"hip/hip_runtime.h"
    ).replace(b"cudaStream_t", b"hipStream_t")


def test_the_programs_own_macro_is_left() -> None:
    source = "#define cudaMalloc(p, n) my_alloc(p, n)\nvoid f() { cudaMalloc(&p, 4); cudaFree(p); }\n"
    assert "cudaMalloc(&p, 4); (void)hipFree(p);" in output(source)
    assert [note.line for note in notes(source) if note.rule == "own-name"] == [1]


def test_function_pointers_are_cast() -> None:
    text = output(
        "__global__ void k();\nvoid f() { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); }"
    )
    assert (
        "(void)hipFuncSetAttribute(reinterpret_cast<const void*>(k), hipFuncAttributeMaxDynamicSharedMemorySize, 65536);"
        in text
    )


def test_a_guard_with_a_hip_branch_is_left() -> None:
    source = "#if defined(__CUDACC__)\nint a;\n#elif defined(__HIPCC__)\n#include <hip/hip_runtime.h>\n#endif\n"
    assert output(source) == source


def test_guards() -> None:
    assert output("#ifdef __CUDA_ARCH__\nint a;\n#endif\n", "a.h") == "#ifdef __HIP_DEVICE_COMPILE__\nint a;\n#endif\n"
    kept = "#if __CUDA_ARCH__ >= 700\nint a;\n#endif\n"
    assert output(kept, "a.h") == kept


def test_ptx() -> None:
    text = output(
        '__device__ unsigned f(unsigned a, unsigned b) { unsigned d; asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(a), "r"(b), "r"(a)); return d; }'
    )
    assert "return (a) ^ (b) ^ (a);" in text
    kept = output('__device__ void f() { asm volatile("cp.async.wait_all;"); }')
    assert 'asm volatile("cp.async.wait_all;");' in kept


def test_fp8_goes_by_target() -> None:
    source = "#include <cuda_fp8.h>\n__nv_fp8_e4m3 a; float m = 448.f;\n"
    assert "__hip_fp8_e4m3_fnuz a; float m = 240.f;" in output(source, targets=("gfx942",))
    assert "__hip_fp8_e4m3 a; float m = 448.f;" in output(source, targets=("gfx950",))
    assert "fp8-mixed" in rule_ids(source, targets=("gfx942", "gfx950"))


def test_launch_bounds_are_converted_once() -> None:
    text = output("__global__ void __launch_bounds__(256, 4) k() {}\n")
    assert "__launch_bounds__(256, 4)" in text  # 4 blocks x 256 threads / 64 lanes / 4 SIMDs
    text = output("__global__ void __launch_bounds__(512, 4) k() {}\n")
    assert "__launch_bounds__(512, 8)" in text
    assert output(text) == text


def test_reviewed_markers_silence_for_good() -> None:
    source = "__global__ void k(int* p) {\n  // rocsteady: reviewed lane-number\n  p[0] = threadIdx.x & 31;\n  p[1] = threadIdx.x >> 5;  // rocsteady: reviewed\n  p[2] = threadIdx.x % 32;\n}\n"
    assert [note.line for note in notes(source)] == [5]
    assert len(notes(source, reviewed=False)) == 3


def test_device_code_is_told_from_host_code() -> None:
    assert "device-printf" not in rule_ids('void f() { cudaFree(0); printf("x"); assert(1); clock(); }')
    assert "dynamic-parallelism" not in rule_ids("__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }")


def test_operators_of_the_program_step_aside() -> None:
    text = output("inline __device__ float2 operator+(float2 a, float2 b) {\n  return a;\n}\nint x;\n")
    assert (
        "#if !defined(__HIPCC__)\ninline __device__ float2 operator+(float2 a, float2 b) {\n  return a;\n}\n#endif\nint x;\n"
        in text
    )
    assert output(text) == text
