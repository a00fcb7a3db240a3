"""A model folder (config.json, safetensors, tokenizer.json) to ONNX, offline, with the builder of ONNX Runtime GenAI.

The builder needs torch and transformers, which are not in our extras: it runs in another Python. ``tools/vllm_env.sh`` makes
one that has them. Measured on a tiny model: 7 to 27 s, most of it imports.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rocsteady.cpu_worker.genai import CONFIG
from rocsteady.model import InputError

PRECISIONS = ("int4", "fp32")
"""What the builder makes for CPUs."""
PYTHON_VARIABLE = "ROCSTEADY_VLLM_PYTHON"


def default_python() -> Path | None:
    """The Python of the variable, else of ``.venv-vllm`` here; None where there is none."""
    path = Path(os.environ.get(PYTHON_VARIABLE, ".venv-vllm/bin/python"))
    return path if path.is_file() else None


def needs_export(folder: Path) -> bool:
    """Whether a folder is a checkpoint and not an exported model.

    Raises:
        InputError: it is neither.
    """
    if (folder / CONFIG).is_file():
        return False
    if (folder / "config.json").is_file():
        return True
    raise InputError(f"{folder}: neither an exported model ({CONFIG}) nor a checkpoint (config.json)")


def export(folder: Path, target: Path, python: Path, precision: str = "int4") -> Path:
    """Export; the target appears when it is complete, and stays as it was when it fails.

    Raises:
        InputError: the builder failed; the end of what it said is in the message.
    """
    if precision not in PRECISIONS:
        raise InputError(f"precision {precision}: {' or '.join(PRECISIONS)}")
    if target.exists():
        raise InputError(f"{target}: exists already")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as work:
        made = Path(work) / "model"
        command = [
            str(python), "-m", "onnxruntime_genai.models.builder", "-i", str(folder.resolve()), "-o", str(made), "-p",
            precision, "-e", "cpu", "-c", str(Path(work) / "cache"),
        ]  # fmt: skip
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        try:
            done = subprocess.run(
                command, env=kept | {"HF_HUB_OFFLINE": "1"}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", check=False,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"{python}: {error.strerror}") from None
        if done.returncode or not (made / CONFIG).is_file():
            words = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])[-600:]
            raise InputError(f"{folder}: the export failed: {words}")
        note = {"schema": "rocsteady.cpu-model/1", "precision": precision, "from": folder.name}
        (made / "rocsteady.json").write_text(json.dumps(note), encoding="utf-8")
        shutil.move(str(made), str(target))
    return target
