"""The tiny model's files have the form that readers of such files expect."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from rocsteady.drill.tiny_model import VOCABULARY, byte_alphabet, main, write_tiny_model


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    one, two, other = (write_tiny_model(tmp_path / n, seed) for n, seed in (("a", 7), ("b", 7), ("c", 8)))
    names = sorted(p.name for p in one.iterdir())
    assert all((one / n).read_bytes() == (two / n).read_bytes() for n in names)
    assert (one / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()


def test_safetensors_hold_what_the_config_says(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path)
    data = (folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {k: v for k, v in header.items() if k != "__metadata__"}
    assert size % 8 == 0 and max(t["data_offsets"][1] for t in tensors.values()) == len(data) - 8 - size
    for tensor in tensors.values():
        count = 1
        for edge in tensor["shape"]:
            count *= edge
        assert tensor["data_offsets"][1] - tensor["data_offsets"][0] == 4 * count
    config = json.loads((folder / "config.json").read_text())
    assert tensors["lm_head.weight"]["shape"] == [config["vocab_size"], config["hidden_size"]]
    assert len([n for n in tensors if n.endswith("q_proj.weight")]) == config["num_hidden_layers"]


def test_tokenizer_is_complete(tmp_path: Path) -> None:
    model = json.loads((write_tiny_model(tmp_path) / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    assert sorted(model["vocab"].values()) == list(range(VOCABULARY))
    assert set(byte_alphabet()) <= set(model["vocab"]) and len(set(byte_alphabet())) == 256
    assert all(a + b in model["vocab"] for a, b in model["merges"])


def test_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main([]) == 2 and main([str(tmp_path / "file")]) == 2 and main([str(tmp_path / "new")]) == 0
    assert len(capsys.readouterr().err.splitlines()) == 2
