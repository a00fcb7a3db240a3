"""How a real worker is started, and what it does when its engine stops or dies."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path

import pytest

from rocsteady.drill.vllm_worker import VllmOptions, VllmWorker, command, environment
from rocsteady.model import InputError
from tests.drill.real import real_worker


def options(tmp_path: Path, python: str = "/bin/false") -> VllmOptions:
    return VllmOptions(python=Path(python), model_dir=tmp_path / "model", log=tmp_path / "log", more=("--seed", "3"))


def test_command_stays_on_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    made = command(options(tmp_path), 8123)
    assert made[made.index("--host") + 1] == "127.0.0.1" and made[made.index("--port") + 1] == "8123"
    assert made[-2:] == ["--seed", "3"]
    variables = environment(options(tmp_path))
    assert variables["VLLM_HOST_IP"] == "127.0.0.1" and variables["HF_HUB_OFFLINE"] == "1"
    assert "PYTHONPATH" not in variables


def test_one_that_ends_at_once_says_so(tmp_path: Path) -> None:
    worker = VllmWorker(options(tmp_path), sleep=lambda _: time.sleep(0.01))
    worker.start()
    with pytest.raises(InputError, match="ended before it was ready"):
        worker.wait_ready()
    worker.stop()
    with pytest.raises(InputError, match="no-such-python"):
        VllmWorker(options(tmp_path, "/no-such-python")).start()
    with pytest.raises(InputError, match="not started"):
        _ = VllmWorker(options(tmp_path)).pid


def test_limit_of_the_start(tmp_path: Path) -> None:
    clock = iter(range(0, 1000, 100))
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    worker = VllmWorker(options(tmp_path, str(script)), now=lambda: float(next(clock)), sleep=lambda _: None)
    worker.start()
    try:
        with pytest.raises(InputError, match="not ready after 300 s"):
            worker.wait_ready()
        with pytest.raises(InputError, match="no engine process"):
            worker.engine_pid()
    finally:
        worker.kill()
    assert not worker.running()


def test_frozen_and_killed_engine(tmp_path: Path) -> None:
    """The two facts that health checks must know: frozen is 200, dead is 503 and then nobody."""
    with real_worker(tmp_path) as worker:
        worker.freeze_engine()
        assert worker.health() == 200
        connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=1.5)
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "a", "max_tokens": 1}), {"Content-Type": "application/json"})  # fmt: skip
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
        worker.thaw_engine()
        worker.kill_engine()
        for _ in range(300):
            if not worker.running():
                break
            time.sleep(0.1)
        assert not worker.running() and worker.health() is None
