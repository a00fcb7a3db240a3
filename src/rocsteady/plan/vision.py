"""Encoders of multimodal models: parameters, and the size of one item."""

from __future__ import annotations

from typing import Any

from rocsteady.plan.shapes import Vision

DEEPSTACK = 3
"""Layers of the encoder that Qwen3-VL feeds into the decoder as well; all published sizes tap three
(https://github.com/huggingface/transformers/blob/main/src/transformers/models/qwen3_vl/configuration_qwen3_vl.py)."""


def _int(config: dict[str, Any], *keys: str) -> int:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31:
            return value
    return 0


def vision_of(raw: dict[str, Any], out_hidden: int) -> Vision | None:
    """The image encoder that a configuration names, None where there is none or its size is not given."""
    config = raw.get("vision_config") or raw.get("vision_encoder")
    if not isinstance(config, dict):
        return None
    hidden = _int(config, "hidden_size", "embed_dim", "width", "d_model")
    layers = _int(config, "num_hidden_layers", "depth", "layers", "num_layers")
    if not hidden or not layers:
        return None
    inner = _int(config, "intermediate_size", "mlp_hidden_dim") or 4 * hidden
    patch, image = _int(config, "patch_size") or 14, _int(config, "image_size")
    merge = _int(config, "spatial_merge_size") or 1
    tokens = (image // patch) ** 2 if image else 16_384
    item = _int(raw, "mm_tokens_per_image") or max(1, tokens // (merge * merge))
    matrices = 3 if config.get("hidden_act") == "silu" else 2
    projector = (
        hidden * merge * merge * (hidden * merge * merge if merge > 1 else 0) + hidden * merge * merge * out_hidden
    )
    positions = (_int(config, "num_position_embeddings") or (tokens if image else 0)) * hidden
    parameters = (
        layers * (4 * hidden * hidden + matrices * hidden * inner) + 3 * patch * patch * hidden + projector + positions
    )
    taps = config.get("deepstack_visual_indexes")
    count = len(taps) if isinstance(taps, list) else DEEPSTACK if config.get("model_type") == "qwen3_vl" else 0
    wide = hidden * merge * merge
    parameters += count * (wide * wide + wide * out_hidden)  # one more merger for each layer that is tapped
    return Vision(
        hidden=hidden,
        intermediate=inner,
        layers=layers,
        tokens=tokens,
        item_tokens=item,
        parameters=parameters,
        any_size=not image,
    )
