"""Configurations for tests, with the keys as published."""

from __future__ import annotations

from typing import Any

from rocsteady.plan.budget import Budget, Request, budget_of

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336, "vocab_size": 128256,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
GPT_OSS: dict[str, Any] = {
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "num_hidden_layers": 24, "hidden_size": 2880,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "vocab_size": 201088,
    "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128, "tie_word_embeddings": False,
    "layer_types": ["sliding_attention", "full_attention"] * 12, "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
DEEPSEEK: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 129280,
    "torch_dtype": "bfloat16", "max_position_embeddings": 163840,
}  # fmt: skip
QWEN_NEXT: dict[str, Any] = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "num_hidden_layers": 48, "hidden_size": 2048,
    "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 5120, "vocab_size": 151936,
    "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
    "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "attn_output_gate": True, "torch_dtype": "bfloat16",
    "max_position_embeddings": 262144,
}  # fmt: skip
GEMMA: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text", "num_hidden_layers": 48, "hidden_size": 3840, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 15360, "vocab_size": 262208, "sliding_window": 1024,
        "sliding_window_pattern": 6, "max_position_embeddings": 131072,
    },
    "torch_dtype": "bfloat16",
}  # fmt: skip


def planned(config: dict[str, Any] = LLAMA, **changes: Any) -> Budget:
    """A budget on one MI300X of 191.98 GiB; ``changes`` are fields of ``Request``."""
    given: dict[str, Any] = {"model": "model", "config": config, "gpu": "MI300X", "engine_version": "0.26.0"}
    return budget_of(Request(**(given | changes)))
