"""A real vLLM worker for a test module, where there is an environment with one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocsteady.drill.tiny_model import write_tiny_model
from rocsteady.drill.vllm_worker import PYTHON_VARIABLE, VllmOptions, VllmWorker, vllm_python

RUNNING = os.environ.get("ROCSTEADY_VLLM_URL")
"""A worker of the tiny model that runs already: saves half a minute while one works on a test."""


@pytest.fixture(scope="module")
def real_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if RUNNING:
        yield RUNNING
        return
    with real_worker(tmp_path_factory.mktemp("vllm")) as worker:
        yield worker.url


def real_worker(folder: Path) -> VllmWorker:
    """A worker that is not started yet; skips where there is no environment."""
    python = vllm_python()
    if python is None:
        pytest.skip(f"no vLLM: tools/vllm_env.sh makes an environment; {PYTHON_VARIABLE} names its python")
    options = VllmOptions(python=python, model_dir=write_tiny_model(folder / "model"), log=folder / "vllm.log")
    return VllmWorker(options)
