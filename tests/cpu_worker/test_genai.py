"""A real ONNX model (synthetic, random weights, shipped beside this test) on the real runtime; the command; the export."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from rocsteady.cpu_worker.executor import Sampling
from rocsteady.cpu_worker.export import default_python, export
from rocsteady.model import InputError

pytest.importorskip("onnxruntime_genai", reason="pip install 'rocsteady[cpu]'")
from rocsteady.cpu_worker.genai import GenaiExecutor

MODEL = Path(__file__).parent / "model"
GREEDY = Sampling(temperature=0.0)


@pytest.fixture(scope="module")
def executor() -> GenaiExecutor:
    return GenaiExecutor(MODEL, "micro")


def test_about(executor: GenaiExecutor) -> None:
    about = executor.about
    assert (about.runtime, about.precision, about.context, about.model) == ("onnxruntime-genai", "int4", 256, "micro")
    assert about.size_bytes is not None and 100_000 < about.size_bytes < 500_000


def test_greedy_repeats_and_goes_on(executor: GenaiExecutor) -> None:
    prompt = executor.encode("The quick 世界")
    whole = [t.id for t in executor.generate(prompt, 40, GREEDY)]
    assert whole == [t.id for t in executor.generate(prompt, 40, GREEDY)]
    for cut in (1, 7, 20):
        if cut < len(whole):
            assert [t.id for t in executor.generate(prompt + whole[:cut], 40 - cut, GREEDY)] == whole[cut:]


def test_seed_repeats(executor: GenaiExecutor) -> None:
    prompt = executor.encode("One two")
    runs = [[t.id for t in executor.generate(prompt, 20, Sampling(temperature=1.0, seed=s))] for s in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_chat_template(executor: GenaiExecutor) -> None:
    ids = executor.chat_prompt([{"role": "user", "content": "hi"}])
    assert ids == executor.encode("<s>user: hi\nassistant: ")


def test_many_at_a_time(executor: GenaiExecutor) -> None:
    """Generations of one model in several threads do not disturb each other."""
    prompts = [executor.encode(t) for t in ("The quick", "One two", "A token")]
    alone = [[t.id for t in executor.generate(p, 30, GREEDY)] for p in prompts]

    async def main() -> list[list[int]]:
        return await asyncio.gather(
            *(asyncio.to_thread(lambda p=p: [t.id for t in executor.generate(p, 30, GREEDY)]) for p in prompts)
        )

    assert asyncio.run(main()) == alone


def test_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="genai_config"):
        GenaiExecutor(tmp_path, "x")
    (tmp_path / "genai_config.json").write_text('{"model": {"context_length": 5}}')
    with pytest.raises(InputError):
        GenaiExecutor(tmp_path, "x")


def ask(url: str, path: str, body: Any) -> Any:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_command_serves_and_ends_cleanly() -> None:
    command = [sys.executable, "-m", "rocsteady", "cpu-worker", "--model", str(MODEL), "--name", "micro", "--listen", "127.0.0.1:0"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving micro (onnxruntime-genai, int4) on http://127.0.0.1:"), line
        try:
            answer = ask(line.split()[-1], "/chat/completions", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "temperature": 0})  # fmt: skip
        except BaseException:
            process.kill()
            raise
        assert answer["usage"]["completion_tokens"] <= 5 and isinstance(answer["choices"][0]["message"]["content"], str)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0 and process.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--model or --vllm"),
        (["--model", "/nowhere"], "neither an exported model"),
        (["--model", str(MODEL), "--listen", "nonsense"], "HOST:PORT"),
        (["--model", str(MODEL), "--max-model-gib", "0.0001"], "GiB"),
        (["--vllm", "http://10.1.2.3:8000"], "loopback"),
        (["--vllm", "http://127.0.0.1:9"], "no vLLM answers"),
        (["--model", str(MODEL / "none.gguf")], "llama-cpp-python|no such|none.gguf"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], word: str) -> None:
    done = subprocess.run([sys.executable, "-m", "rocsteady", "cpu-worker", *arguments], capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout
    assert any(w in done.stderr for w in word.split("|")), done.stderr


def test_export_failures_leave_nothing(tmp_path: Path) -> None:
    from rocsteady.drill.tiny_model import write_tiny_model

    model = write_tiny_model(tmp_path / "tiny")
    for python, word in (("/bin/false", "export failed"), ("/no/such", "No such file")):
        with pytest.raises(InputError, match=word):
            export(model, tmp_path / "out", Path(python))
    with pytest.raises(InputError, match="precision"):
        export(model, tmp_path / "out", Path("/bin/true"), "int3")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tiny"]
    with pytest.raises(InputError, match="exists"):
        export(model, model, Path("/bin/true"))


def test_export_of_a_checkpoint(tmp_path: Path) -> None:
    python = default_python()
    if python is None:
        pytest.skip("no Python with torch and transformers: tools/vllm_env.sh makes one (ROCSTEADY_VLLM_PYTHON)")
    from rocsteady.drill.tiny_model import write_tiny_model

    made = export(write_tiny_model(tmp_path / "tiny"), tmp_path / "tiny-int4", python)
    executor = GenaiExecutor(made, "tiny")
    assert executor.about.precision == "int4" and executor.about.context == 2048
    assert len(list(executor.generate(executor.encode("The quick"), 8, GREEDY))) > 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tiny", "tiny-int4"]
