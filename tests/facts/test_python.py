"""Python environments: collect_env, package lists, wheels, prints."""

from __future__ import annotations

import pytest

from rocsteady.facts.os_names import identify
from tests.facts.reading import facts_of, paths_of

COLLECT = """\
Collecting environment information...
PyTorch version: 2.5.1+rocm6.2
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.2.41133-dd7f95766

OS: Ubuntu 22.04.4 LTS (x86_64)
Libc version: glibc-2.35

Python version: 3.10.16 (main, Dec 11 2024, 16:24:50) [GCC 11.2.0] (64-bit runtime)
Python platform: Linux-6.5.0-28-generic-x86_64-with-glibc2.35
Is CUDA available: True
GPU models and configuration:
GPU 0: AMD Instinct MI300X (gfx942:sramecc+:xnack-)
GPU 1: AMD Instinct MI300X (gfx942:sramecc+:xnack-)

Nvidia driver version: Could not collect
HIP runtime version: 6.2.41133

CPU:
Model name:                      AMD EPYC 9654 96-Core Processor

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] pytorch-triton-rocm==3.1.0
[conda] ray                       2.9.3                    pypi_0    pypi
ROCM Version: 6.2.41133-dd7f95766
vLLM Version: 0.7.1.dev12+gabc
VLLM_USE_V1=1
"""


def test_collect_env() -> None:
    """Every part."""
    facts = facts_of(COLLECT)
    assert (facts.python.torch_build, facts.python.torch_hip) == ("rocm", "6.2.41133-dd7f95766")
    assert (facts.python.version, facts.python.torch_sees_gpu, facts.python.torch_cuda) == ("3.10.16", True, None)
    assert (facts.host.os_id, facts.host.os_version, facts.host.cpu) == (
        "ubuntu",
        "22.04",
        "AMD EPYC 9654 96-Core Processor",
    )
    assert (facts.kernel.release, facts.host.arch) == ("6.5.0-28-generic", "x86_64")
    assert [g.gfx for g in facts.gpus] == ["gfx942", "gfx942"] and facts.gpus_by_tool == {"torch": 2}
    assert facts.python_packages == {
        "torch": "2.5.1+rocm6.2",
        "numpy": "1.26.4",
        "pytorch-triton-rocm": "3.1.0",
        "ray": "2.9.3",
    }
    assert (facts.engine.name, facts.engine.version, facts.env) == ("vllm", "0.7.1.dev12+gabc", {"VLLM_USE_V1": "1"})
    assert facts.rocm.components["hip"] == "6.2.41133-dd7f95766" and not facts.notes


def test_collect_env_of_a_cuda_wheel_and_of_newer_vllm() -> None:
    """Spaces in front of the colon; both stacks absent is a CPU build, not collected is unknown."""
    cuda = facts_of(
        "PyTorch version              : 2.7.0+cu126\nCUDA used to build PyTorch   : 12.6\nROCM used to build PyTorch   : N/A\n"
    )
    assert (cuda.python.torch_build, cuda.python.torch_cuda, cuda.python.torch_hip) == ("cuda", "12.6", None)
    neither = "PyTorch version: 2.7.0\nCUDA used to build PyTorch: {}\nROCM used to build PyTorch: {}\n"
    assert facts_of(neither.format("None", "N/A")).python.torch_build == "cpu"
    assert facts_of(neither.format("Could not collect", "Could not collect")).python.torch_build is None


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("Package    Version\n---------- -------\ntorch      2.5.1+rocm6.2\n", "torch", "2.5.1+rocm6.2"),
        ("$ pip list | grep torch\ntorch             2.5.1+cu124\n", "torch", "2.5.1+cu124"),
        ("torch==2.5.1+rocm6.2\n", "torch", "2.5.1+rocm6.2"),
        ("Name: vllm\nVersion: 0.6.3+rocm624\nSummary: x\n", "vllm", "0.6.3+rocm624"),
        (" + vllm==0.27.0+rocm723\n", "vllm", "0.27.0+rocm723"),
        ("Successfully installed flash-attn-2.7.4 torch-2.5.1+cu124 vllm-0.9.1\n", "flash-attn", "2.7.4"),
        ("  Downloading torch-2.5.1%2Bcu124-cp311-cp311-linux_x86_64.whl (900 MB)\n", "torch", "2.5.1+cu124"),
        ("torch @ https://x.example/torch-2.4.0%2Brocm6.1-cp310-cp310-linux_x86_64.whl#sha256=0\n", "torch", "2.4.0+rocm6.1"),
        ("# Name                    Version                   Build  Channel\npytorch  2.3.0  py3.11_cuda12.1  pytorch\n", "pytorch", "2.3.0"),
        ("Requirement already satisfied: torch in /usr/lib/python3/dist-packages (from vllm) (2.5.1)\n", "torch", "2.5.1"),
        ('$ uv pip install vllm=="0.27.0+rocm723" --extra-index-url https://wheels.example/rocm\n', "vllm", "0.27.0+rocm723"),
    ],
)  # fmt: skip
def test_package_lists(text: str, name: str, version: str) -> None:
    """Each tool's form."""
    assert facts_of(text).python_packages[name] == version


def test_builds_and_wheels() -> None:
    """The local version tells the stack; a listed wheel is not an installed one."""
    assert facts_of("torch==2.5.1+cu124\n").python.torch_cuda == "12.4"
    assert facts_of("torch==2.5.1+cpu\n").python.torch_build == "cpu"
    facts = facts_of("vllm-0.22.1+rocm722-cp312-cp312-manylinux_2_34_x86_64.whl\n")
    assert facts.python.wheels == {"vllm-0.22.1+rocm722-cp312-cp312-manylinux_2_34_x86_64.whl": "named"}
    assert not facts.python_packages
    assert facts_of("pip install x --extra-index-url https://a.example/rocm").python.index_urls == (
        "https://a.example/rocm",
    )


@pytest.mark.parametrize(
    ("text", "build", "sees"),
    [
        (
            '$ python3 -c "import torch; print(torch.__version__, torch.version.hip)"\n2.5.1+rocm6.2 6.2.41133-dd\n',
            "rocm",
            None,
        ),
        ('$ python3 -c "import torch; print(torch.cuda.is_available())"\nFalse\n', None, False),
        (">>> torch.version.hip\n'6.2.41133'\n>>> torch.cuda.is_available()\nTrue\n", "rocm", True),
        ("torch.cuda.is_available(): False\ntorch.version.cuda: 12.4\n", "cuda", False),
    ],
)
def test_prints(text: str, build: str | None, sees: bool | None) -> None:
    """One-liners and sessions."""
    python = facts_of(text).python
    assert (python.torch_build, python.torch_sees_gpu) == (build, sees)


def test_written_versions() -> None:
    """A list of products; sentences are none."""
    facts = facts_of("ROCm 7.2.53211\nPyTorch 2.11.0+gitd0c8b1f\nPython 3.12\nDebian 12 Bookworm\n")
    assert (facts.rocm.version, facts.python_packages["torch"]) == ("7.2.53211", "2.11.0+gitd0c8b1f")
    assert (facts.python.version, facts.host.os_id, facts.host.os_version) == ("3.12", "debian", "12")
    assert not paths_of(
        "It worked with ROCm 6.1 and broke with ROCm 6.2.\nPython is at fault. torch 2 fails.\nUbuntu is what 90% use."
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ubuntu 24.04.1 LTS", ("ubuntu", "24.04")), ("Rocky Linux release 9.6 (Blue Onyx)", ("rocky", "9.6")),
        ("CentOS Linux release 8.5.2111", ("centos", "8.5.2111")), ("SUSE Linux Enterprise Server 15 SP6", ("sles", "15.6")),
        ("Arch Linux", ("arch", None)), ("RHEL 9.4", ("rhel", "9.4")), ("Debian GNU/Linux 12 (bookworm)", ("debian", "12")),
        ("Archive 3", None), ("Some box", None),
    ],
)  # fmt: skip
def test_os_names(name: str, expected: tuple[str, str | None] | None) -> None:
    """Names of tools and people."""
    assert identify(name) == expected
