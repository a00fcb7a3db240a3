"""Assignments of environment variables, and what only looks like one."""

from __future__ import annotations

import pytest

from tests.facts.reading import facts_of, paths_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export A_X=1 B_X='two words'", {"A_X": "1", "B_X": "two words"}),
        ('export AITER_ROCM_ARCH="gfx942"', {"AITER_ROCM_ARCH": "gfx942"}),
        ("$ HIP_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=0 ./main -m x", {"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "0"}),
        ("ENV HSA_ENABLE_SDMA=0 \\\n    NCCL_DEBUG=INFO", {"HSA_ENABLE_SDMA": "0", "NCCL_DEBUG": "INFO"}),
        ("ENV HSA_ENABLE_SDMA 0", {"HSA_ENABLE_SDMA": "0"}),
        ('Environment="OLLAMA_DEBUG=1"', {"OLLAMA_DEBUG": "1"}),
        ("os.environ['NCCL_P2P_DISABLE'] = '1'", {"NCCL_P2P_DISABLE": "1"}),
        ("setenv HSA_XNACK 1", {"HSA_XNACK": "1"}),
        ("HSA_XNACK=1 # comment", {"HSA_XNACK": "1"}),
        ("host:~ # env\nhttp_proxy=http://p\nEMPTY_ONE=\n", {"http_proxy": "http://p", "EMPTY_ONE": ""}),
        ('PYTORCH_HIP_ALLOC_CONF="expandable_segments:True"\r\n', {"PYTORCH_HIP_ALLOC_CONF": "expandable_segments:True"}),
        ("> export HSA_XNACK=1\n> vllm serve m\n", {"HSA_XNACK": "1"}),
    ],
)  # fmt: skip
def test_assignments(text: str, expected: dict[str, str]) -> None:
    """Each form."""
    assert facts_of(text).env == expected


@pytest.mark.parametrize(
    "text",
    [
        "Setting HSA_OVERRIDE_GFX_VERSION=10.3.0 makes no difference",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0 does not help here",
        "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nVERSION_ID=\"22.04\"",
        "CONFIG_HSA_AMD=y",
        'SUBSYSTEM=="kfd", GROUP="render", MODE="0666"',
        "INFO 01-01 00:00:00 [x.py:1] VLLM_USE_V1=1 is set",
        "[    1.0] amdgpu: NAME_X=5",
        "GRBM_STATUS=0xA0003028",
    ],
)  # fmt: skip
def test_no_assignment(text: str) -> None:
    """Sentences, os-release, Kconfig, udev rules, logs."""
    assert not [p for p in paths_of(text) if p.startswith("env[")]
