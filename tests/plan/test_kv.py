"""KV arithmetic against figures that engines logged."""

from __future__ import annotations

import pytest

from rocsteady.model import InputError
from rocsteady.plan.kv import blocks_per_request, printed_tokens, state_bytes, token_bytes
from rocsteady.plan.versions import parse_engine
from tests.plan.cases import DEEPSEEK, GEMMA, GPT_OSS, LLAMA, QWEN_NEXT, planned

GIB = 1 << 30


def test_uniform_attention_logged_by_mi300x() -> None:
    b = planned(dtype="float16", engine_version="0.9.2 (V0 engine)")
    assert b.cache.blocks(122.99 * GIB) == pytest.approx(62971, abs=3)


@pytest.mark.parametrize(("length", "logged"), [(9_900, 10.51), (32_768, 5.52)])
def test_gemma_groups_logged_by_r9700(length: int, logged: float) -> None:
    b = planned(GEMMA, gpu="R9700", max_model_len=length, max_num_batched_tokens=2048, engine_version="0.11.2")
    assert [g.layers for g in b.cache.groups] == [8] * 6
    assert round(16_640 / b.per_request, 2) == logged
    assert printed_tokens(b.cache, b.engine, 16_640, length, b.per_request) == pytest.approx(44_368, abs=16)


def test_gpt_oss_groups_logged_by_r9700() -> None:
    b = planned(GPT_OSS, gpu="R9700", max_model_len=32_768, max_num_batched_tokens=2048, engine_version="0.13.0")
    assert b.per_request == 2185
    assert round(43_070 / b.per_request, 2) == 19.71


def test_linear_attention_pages_are_aligned_to_the_state() -> None:
    b = planned(QWEN_NEXT, gpu="R9700", tp=2, max_model_len=16_384, engine_version="0.13.0")
    assert b.cache.block_size == 544  # "Setting attention block size to 544 tokens"
    state = next(k for k in b.shape.layers if k.kind == "state")
    assert 544 * 1024 / state_bytes(state, 2, "bfloat16") - 1 == pytest.approx(0.0149, abs=1e-4)
    blocks = b.cache.blocks(7.09 * GIB)
    assert round(blocks / b.per_request, 2) == 33.47
    assert printed_tokens(b.cache, b.engine, blocks, 16_384, b.per_request) == 154_496


@pytest.mark.parametrize(("kv", "size"), [(None, 1152), ("fp8", 576), ("fp8_ds_mla", 656), ("nvfp4_ds_mla", 352)])
def test_mla_is_one_latent_and_not_divided_by_tp(kv: str | None, size: int) -> None:
    b = planned(DEEPSEEK)
    kind = b.shape.layers[0]
    width = 1.0 if kv else 2.0
    assert token_bytes(kind, 1, width, kv) == token_bytes(kind, 8, width, kv) == size


def test_kv_heads_are_replicated_when_tp_is_larger() -> None:
    assert planned(tp=8).cache.block_bytes == planned(tp=16).cache.block_bytes


def test_expert_parallelism_divides_experts_over_dp_ranks() -> None:
    alone = planned(DEEPSEEK, tp=1, dp=8, quantization="fp8")
    spread = planned(DEEPSEEK, tp=1, dp=8, ep=True, quantization="fp8")
    experts = sum(p.count for p in alone.shape.parts if p.role == "expert") / GIB
    assert alone.weights.point - spread.weights.point == pytest.approx(experts * 7 / 8, rel=0.01)
    assert alone.cache.block_bytes == spread.cache.block_bytes


def test_pipeline_stages_hold_their_layers_only() -> None:
    assert planned(pp=4).cache.block_bytes == planned().cache.block_bytes / 4


def test_kv_dtype_halves_the_block() -> None:
    assert planned(kv_cache_dtype="fp8").cache.block_bytes == planned().cache.block_bytes / 2
    with pytest.raises(InputError, match="kv-cache-dtype"):
        planned(kv_cache_dtype="int3")


def test_sliding_layers_are_full_in_the_old_engine() -> None:
    old = planned(GPT_OSS, engine_version="0.8.5")
    assert {g.kind.kind for g in old.cache.groups} == {"full"}


def test_meaning_of_the_printed_tokens_changed_with_the_version() -> None:
    old, new = (planned(GEMMA, max_model_len=32_768, engine_version=v) for v in ("0.18.1", "0.20.2"))
    assert new.kv_tokens == int(new.max_concurrency * 32_768)
    assert old.kv_tokens < new.kv_tokens / 2


def test_async_scheduling_doubles_what_a_window_holds() -> None:
    b = planned(GEMMA, max_model_len=32_768, max_num_batched_tokens=2048)
    older = parse_engine("0.23.0", True)
    assert blocks_per_request(b.cache, b.engine, 32_768, 2048) > blocks_per_request(b.cache, older, 32_768, 2048)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.23.1.dev1+g9dd", (0, 23, 1)),
        ("vLLM v0.9", (0, 9, 0)),
        ("0.6.5/0.6.6 (Dec)", (0, 6, 5)),
        ("nightly", (0, 33, 0)),
    ],
)
def test_a_version_in_any_text(text: str, version: tuple[int, int, int]) -> None:
    engine = parse_engine(text, True)
    assert engine.version == version
    assert engine.guessed == (text == "nightly")


def test_rules_by_version() -> None:
    assert parse_engine("0.18.1", True).default_utilization == 0.9
    assert parse_engine("0.20.2", True).default_utilization == 0.92
    assert parse_engine("0.20.2", False).graphs_in_budget
    assert not parse_engine("0.23.0", True).graphs_in_budget
    assert parse_engine("0.26.0", True).graphs_in_budget
    assert LLAMA["num_hidden_layers"] == 32
