"""Build files: CMake, make, setup.py."""

from __future__ import annotations

import pytest

from rocsteady.port.options import compile_option, runtime_option
from tests.port.snippets import output, rule_ids


def test_cmake_properties_and_flags() -> None:
    text = output(
        'project(a LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --use_fast_math -Xptxas=-v -O3")\n'
        "add_executable(a a.cu b.cpp)\nset_target_properties(a PROPERTIES CUDA_ARCHITECTURES 80 CUDA_STANDARD 17)\n"
        "target_link_libraries(a CUDA::cublas CUDA::cufft)\n",
        "CMakeLists.txt",
    )
    assert "project(a LANGUAGES CXX HIP)" in text
    assert 'set(CMAKE_HIP_FLAGS "${CMAKE_HIP_FLAGS} -ffast-math -O3")' in text
    assert "set_source_files_properties(a.cu PROPERTIES LANGUAGE HIP)" in text
    assert 'HIP_ARCHITECTURES "gfx90a;gfx942" HIP_STANDARD 17' in text
    assert "target_link_libraries(a roc::hipblas hip::hipfft)" in text


def test_cmake_comments_and_other_commands_stay() -> None:
    source = '# project(a CUDA)\nmessage(STATUS "CUDA")\nset(X 1)\n'
    assert output(source, "CMakeLists.txt") == source


def test_cmake_is_idempotent() -> None:
    source = "project(a CUDA)\nfind_package(CUDAToolkit 12.0 REQUIRED)\nadd_library(k k.cu)\nset_target_properties(k PROPERTIES CUDA_SEPARABLE_COMPILATION ON)\ntarget_link_libraries(k CUDA::curand)\n"
    once = output(source, "CMakeLists.txt")
    assert "find_package(hip REQUIRED)\nfind_package(hiprand REQUIRED)" in once
    assert "target_compile_options(k PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)" in once
    assert output(once, "CMakeLists.txt") == once


def test_makefile() -> None:
    text = output(
        "NVCC := nvcc\nFLAGS = -O3 -arch=sm_80 -Xcompiler -fPIC --maxrregcount 64 -gencode arch=compute_80,code=sm_80\nLDLIBS=-lcublas -lcudart\n"
        "a: a.cu\n\t$(NVCC) $(FLAGS) -x cu -o $@ $< # nvcc\n",
        "Makefile",
    )
    assert "NVCC := hipcc\n" in text
    assert "FLAGS = -O3 --offload-arch=gfx90a --offload-arch=gfx942 -fPIC\n" in text
    assert "LDLIBS=-lhipblas -lamdhip64\n" in text
    assert "-x hip -o $@ $< # nvcc" in text
    assert {"option-arch", "option-registers"} <= rule_ids("NVCC=nvcc -arch=sm_80 --maxrregcount 64\n", "Makefile")


def test_a_makefile_without_cuda_stays() -> None:
    source = "all:\n\tcmake -G Ninja .\n\tgcc -t -o a a.c\n"
    assert output(source, "Makefile") == source


def test_setup_script() -> None:
    text = output(
        "CUDAExtension('k', ['k.cu'], extra_compile_args={'nvcc': ['-O3', '--use_fast_math', '--expt-relaxed-constexpr', '-gencode', 'arch=compute_80,code=sm_80']})\n",
        "setup.py",
    )
    assert "['-O3', '-ffast-math', '--offload-arch=gfx90a', '--offload-arch=gfx942']" in text


@pytest.mark.parametrize(
    ("option", "wanted"),
    [("-O3", None), ("-std=c++17", None), ("--std=c++17", "-std=c++17"), ("-rdc=true", "-fgpu-rdc"), ("-fPIC", None)],
)
def test_options(option: str, wanted: str | None) -> None:
    change = compile_option(option, ("gfx90a",))
    assert (change.text if change else None) == wanted


def test_runtime_options() -> None:
    assert runtime_option("--gpu-architecture=compute_80", ("gfx942",)) == "--offload-arch=gfx942"
    assert runtime_option("--verbose", ("gfx942",)) is None


def test_renamed_sources_are_followed() -> None:
    from rocsteady.port.context import Options, ProjectFacts
    from rocsteady.port.convert import convert_bytes

    project = ProjectFacts(renamed={"sub/a.cu": "sub/a.hip", "a.cu": "a.hip"})
    text = b"a.o: sub/a.cu b.cu\n%.o: %.cu\n\tnvcc -c $<\n"
    assert (
        convert_bytes(text, "Makefile", Options(rename=True), project).data
        == b"a.o: sub/a.hip b.cu\n%.o: %.hip\n\thipcc -c $<\n"
    )
