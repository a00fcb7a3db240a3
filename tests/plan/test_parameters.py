"""Parameters that we count against what the publishers state (address beside), within 1 %."""

from __future__ import annotations

import pytest

from rocsteady.catalog.models import find_model
from rocsteady.plan.families import shape_of
from tests.plan.cases import LLAMA, planned

STATED: list[tuple[str, float, str]] = [
    ("Llama-3.1-8B-Instruct", 8.03e9, "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct"),
    ("Meta-Llama-3.1-70B", 70.6e9, "https://huggingface.co/meta-llama/Llama-3.1-70B"),
    ("Meta-Llama-3.1-405B", 405.9e9, "https://huggingface.co/meta-llama/Llama-3.1-405B"),
    ("Llama-3.2-1B", 1.23e9, "https://huggingface.co/meta-llama/Llama-3.2-1B"),
    ("Mixtral-8x7B-v0.1", 46.7e9, "https://mistral.ai/news/mixtral-of-experts"),
    ("Mixtral-8x22B-v0.1", 141e9, "https://mistral.ai/news/mixtral-8x22b"),
    ("Qwen2.5-7B-Instruct", 7.61e9, "https://huggingface.co/Qwen/Qwen2.5-7B-Instruct"),
    ("Qwen3-8B", 8.2e9, "https://huggingface.co/Qwen/Qwen3-8B"),
    ("Qwen3-14B", 14.8e9, "https://huggingface.co/Qwen/Qwen3-14B"),
    ("Qwen3-32B", 32.8e9, "https://huggingface.co/Qwen/Qwen3-32B"),
    ("Qwen3-30B-A3B", 30.5e9, "https://huggingface.co/Qwen/Qwen3-30B-A3B"),
    ("Qwen3-235B-A22B", 235e9, "https://huggingface.co/Qwen/Qwen3-235B-A22B"),
    ("Qwen3-Coder-480B-A35B-Instruct", 480e9, "https://huggingface.co/Qwen/Qwen3-Coder-480B-A35B-Instruct"),
    ("Qwen3-Next-80B-A3B-Instruct", 80e9, "https://huggingface.co/Qwen/Qwen3-Next-80B-A3B-Instruct"),
    ("Qwen3-VL-8B-Instruct", 8.77e9, "https://huggingface.co/Qwen/Qwen3-VL-8B-Instruct"),
    ("Qwen3-VL-30B-A3B-Instruct", 31.07e9, "https://huggingface.co/Qwen/Qwen3-VL-30B-A3B-Instruct"),
    ("gemma-3-12b-it", 12.19e9, "https://huggingface.co/google/gemma-3-12b-it"),
    ("gemma-3-27b-it", 27.43e9, "https://huggingface.co/google/gemma-3-27b-it"),
    ("gpt-oss-20b", 20.91e9, "https://arxiv.org/abs/2508.10925"),
    ("gpt-oss-120b", 116.83e9, "https://arxiv.org/abs/2508.10925"),
    ("DeepSeek-V3", 671e9, "https://arxiv.org/abs/2412.19437"),
    ("whisper-large-v3", 1.54e9, "https://huggingface.co/openai/whisper-large-v3"),
    (
        "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        31.6e9,
        "https://huggingface.co/nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    ),
]


@pytest.mark.parametrize(("name", "stated", "source"), STATED, ids=[s[0] for s in STATED])
def test_total_parameters(name: str, stated: float, source: str) -> None:
    model = find_model(name)
    assert model is not None
    shape, _ = shape_of(model.config, name)
    assert shape.parameters == pytest.approx(stated, rel=0.01), source


FAMILIES = (
    "llama", "qwen2", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_5", "mistral", "mixtral", "gemma2", "gemma3", "phi3",
    "gpt_oss", "deepseek_v2", "deepseek_v3", "kimi_k2", "glm4", "glm4_moe", "qwen2_moe", "jamba", "mamba2",
    "granitemoehybrid", "qwen2_5_vl", "llava", "pixtral", "internvl_chat",
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_usual_architectures_are_known(family: str) -> None:
    shape, notes = shape_of(LLAMA | {"model_type": family, "state_size": 16}, family)
    assert shape.known, notes


def test_a_network_from_architecture_search_is_said_to_be_a_guess() -> None:
    searched = planned(LLAMA | {"block_configs": [{"attention": {"no_op": True}}] * 32})
    plain = planned(LLAMA)
    assert any("block_configs" in note for note in searched.notes)
    low, high = searched.interval.kv_cache_gib
    assert high - low > 2 * (plain.interval.kv_cache_gib[1] - plain.interval.kv_cache_gib[0])


def test_experts_on_a_latent_are_counted_by_its_width() -> None:
    model = find_model("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    assert model is not None
    whole = shape_of(model.config, "m")[0]
    half = shape_of(model.config | {"moe_latent_size": 1344}, "m")[0]
    experts = [sum(p.count for p in s.parts if p.role == "expert") for s in (whole, half)]
    assert experts[1] * 2 == experts[0]
    assert half.parameters > whole.parameters - experts[0] // 2
