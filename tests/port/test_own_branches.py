"""What a program does because of the toolkit: version comparisons, atomic builtins, atomics of its own."""

from __future__ import annotations

import pytest

from tests.port.snippets import convert, output, rule_ids

UP = "#define up(v, d) __shfl_up_sync(0xffffffff, v, d)\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#if CUDART_VERSION >= 9000\n", "#if HIP_VERSION >= 50200000\n"),
        ("#if (CUDA_VERSION > 9000)\n", "#if (HIP_VERSION >= 50200000)\n"),
        ("#if 9000 <= CUDA_VERSION\n", "#if HIP_VERSION >= 50200000\n"),
        ("#if defined(CUDA_VERSION) && CUDA_VERSION >= 9000\n", "#if HIP_VERSION >= 50200000\n"),
    ],
)
def test_a_newer_branch_that_hip_can_build_is_taken(line: str, expected: str) -> None:
    assert expected in output(f"{line}{UP}#endif\n")
    assert "guard-version-hip" in rule_ids(f"{line}{UP}#endif\n")


def test_the_older_branch_is_left_behind_for_hip_too() -> None:
    text = "#if CUDART_VERSION < 9000\n#define up(v, d) __shfl_up(v, d)\n#else\n" + UP + "#endif\n"
    assert "#if HIP_VERSION < 50200000\n" in output(text)


@pytest.mark.parametrize(
    "text",
    [
        "#if CUDA_VERSION >= 12080\nCUtensorMap m;\n#endif\n",  # no HIP form
        "#if CUDA_VERSION >= 14000\nauto v = cudaNeverHeardOf();\n#endif\n",  # not in the tables
        '#if CUDA_VERSION >= 11000\n__device__ void f() { asm volatile("cp.async.wait_all;"); }\n#endif\n',
        "#if CUDA_VERSION >= 12080\nint a;\n#elif defined(__HIPCC__)\nint b;\n#endif\n",  # HIP has a branch
        "#if CUDA_VERSION >= 12080 && OWN\nint a;\n#endif\n",
        "#if CUDA_VERSION >= 9000\nint a;\n#elif OWN\nint b;\n#endif\n",
        "#if CUDA_VERSION / 1000 == 12\nint a;\n#endif\n",
    ],
)
def test_other_comparisons_stay_and_are_named(text: str) -> None:
    assert text.splitlines()[0] in output(text)
    assert "guard-version" in rule_ids(text)


def test_a_release_that_lacks_the_names_keeps_the_old_branch() -> None:
    text = "#if CUDA_VERSION >= 11080\n#include <cuda_fp8.h>\n__NV_SATFINITE a;\nauto x = CUDART_2_OVER_PI;\n#endif\n"
    assert "HIP_VERSION >= 60300000" in output(text, rocm="6.3")
    assert "CUDA_VERSION >= 11080" in output(text, rocm="6.0")


def test_warp_code_that_is_not_edited_keeps_its_guard() -> None:
    assert "CUDART_VERSION" in output(f"#if CUDART_VERSION >= 9000\n{UP}#endif\n", warp="native")


def test_the_version_header_is_there_when_the_runtime_is_not() -> None:
    assert output("#if CUDA_VERSION >= 9000\nint a;\n#endif\n", "a.cpp").startswith("#include <hip/hip_version.h>\n")


def test_atomic_builtins() -> None:
    text = (
        "__device__ void f(int *p, int e) {\n"
        "  int v = __nv_atomic_load_n(p, __NV_ATOMIC_RELAXED);\n"
        "  __nv_atomic_store_n(p, v, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);\n"
        "  __nv_atomic_compare_exchange_n(p, &e, v, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED);\n"
        "  __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);\n}\n"
    )
    result = convert(text)
    new = result.data.decode()
    assert "__hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)" in new
    assert "__hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT)" in new
    assert (
        "__hip_atomic_compare_exchange_strong(p, &e, v, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)"
        in new
    )
    assert [(left.line, left.name) for left in result.report.unconverted] == [(5, "__nv_atomic_thread_fence")]
    assert {note.line for note in result.report.reviews if note.rule == "atomics-builtin"} == {2, 3, 4, 5}


def test_a_vote_of_some_lanes_keeps_its_mask() -> None:
    text = "__global__ void k(int *p, unsigned m) { p[0] = __popc(__ballot_sync(m, p[1])) + __all_sync(m, p[2]); }\n"
    new = output(text)
    assert "(((unsigned)(__ballot(p[1]) >> (__lane_id() & 32u)) & (unsigned)(m)))" in new
    assert "(((unsigned)(__ballot(!(p[2])) >> (__lane_id() & 32u)) & (unsigned)(m)) == 0u)" in new


def test_an_atomic_that_hip_declares_is_switched_off() -> None:
    text = "__device__ __forceinline__\ndouble atomicMax(double *p, double v)\n{\n  return *p > v ? *p : v;\n}\n"
    assert "#if !defined(__HIPCC__)\n" + text + "#endif\n" in output(text)
    assert output(output(text)) == output(text)
    own = text.replace("double v", "int v")
    assert "__HIPCC__" not in output(own)
    assert "__HIPCC__" not in output(f"namespace mine {{\n{text}}}\n")
