"""What ``plan`` reads before it plans: the model, and the GPUs of a node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from rocsteady.model import InputError


class Model(msgspec.Struct, frozen=True):
    """A model's configuration; ``weight_bytes`` from safetensors headers where there are any."""

    name: str
    config: dict[str, Any]
    weight_bytes: int | None = None


def model_of(text: str) -> Model:
    """A config.json, a checkpoint directory, or a name of the catalog.

    Raises:
        InputError: none of them.
    """
    from rocsteady.plan.config import read_config

    path = Path(text)
    if path.is_dir():
        from rocsteady.plan.headers import tensor_bytes

        config = read_config(path / "config.json")
        return Model(text, config, tensor_bytes(path))
    if path.is_file() or text.endswith(".json") or text.startswith(("/", "./", "../")):
        return Model(text, read_config(path))
    from rocsteady.catalog.models import find_model, similar_models

    known = find_model(text)
    if known is None:
        near = similar_models(text)
        hint = f"; the catalog has {', '.join(near)}" if near else ""
        raise InputError(f"--model {text}: no such file, and no such model in the catalog{hint}; give its config.json")
    return Model(known.name, known.config)


def gpu_of_node(text: str, gpu: str | None, mem_gib: float | None) -> tuple[str, float | None, dict[str, Any]]:
    """Part, memory and topology of a node or snapshot. What was given on the command line wins."""
    from rocsteady.catalog.knowledge import part_by_device
    from rocsteady.facts import Builder, read_facts
    from rocsteady.hostfs import open_inputs

    sources = open_inputs([] if text == "-" else [text], sys.stdin.buffer)
    builder = Builder()
    for source in sources:
        builder.add(read_facts(source))
    facts = builder.build()
    if not facts.gpus:
        raise InputError(f"--node {text}: no GPU was found there")
    first = facts.gpus[0]
    total = next((g.memory.vram_total for g in facts.gpus if g.memory.vram_total), None)
    name = gpu or f"{first.product_name or first.name or ''} {first.gfx or ''}".strip()
    by_device = part_by_device(first.device) if first.device and gpu is None else None
    if by_device is not None:
        name = by_device.product
    topology = {
        "gpus": [
            {"bdf": g.bdf, "numa_node": g.numa_node, "hive": g.hive_id, "card": card, "partition": index}
            for card, g in enumerate(facts.gpus)
            for index in (range(g.partitions) if g.partitions and g.partitions > 1 else (None,))
        ]
    }
    split = first.partitions or 1  # each partition is a device with its share of the memory, see plan/layout.py
    return name or "AMD GPU", mem_gib or (total / split / (1 << 30) if total else None), topology


def split_gpu(mode: str, gpu: str, mem_gib: float | None, need: int) -> tuple[float, dict[str, Any]]:
    """Memory of one partition of a part, and a topology of as many cards as are needed.

    Raises:
        InputError: the part has no such mode.
    """
    from rocsteady.plan.gpus import device_of
    from rocsteady.plan.layout import partitions_of, split_cards

    device = device_of(gpu, mem_gib)
    count = partitions_of(mode, device.part)
    return device.total_gib / count, split_cards(device.part, count, need)


def write_json(document: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n")
