"""The command as a person runs it: right and wrong input, exit codes, the JSON contract."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plan.cases import GPT_OSS, LLAMA, QWEN_NEXT


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rocsteady", "plan", *args], capture_output=True, text=True, check=False
    )


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return path


def test_json_contract(config: Path) -> None:
    done = run("--model", str(config), "--gpu", "MI300X", "--tp", "2", "--engine-version", "0.26.0", "--format", "json")
    assert done.returncode == 0, done.stderr
    doc = json.loads(done.stdout)
    assert doc["schema"] == "rocsteady.plan/1"
    assert doc["fits"] is True
    assert set(doc["per_gpu"]) == {
        "total_gib", "requested_gib", "weights_gib", "activation_gib", "non_torch_gib", "graph_gib", "kv_cache_gib",
    }  # fmt: skip
    assert doc["per_gpu"]["total_gib"] == 191.98
    low, high = doc["interval"]["kv_cache_gib"]
    assert low <= doc["per_gpu"]["kv_cache_gib"] <= high
    assert doc["interval"]["kv_tokens"][0] <= doc["kv_tokens"] <= doc["interval"]["kv_tokens"][1]
    assert doc["command"].startswith("vllm serve ")
    assert doc["assumptions"]
    assert isinstance(doc["warnings"], list)
    assert 0 < doc["guard"]["memory_watermark_ratio"] <= 1


def test_text_says_what_to_do_when_it_does_not_fit(config: Path) -> None:
    done = run("--model", str(config), "--gpu", "RX 7900 XT", "--engine-version", "0.13.0")
    assert done.returncode == 1
    for word in ("DOES NOT FIT", "Change first", "Loading phases", "vllm serve", "Assumptions", "Guard"):
        assert word in done.stdout


def test_long_context_on_gfx9_is_warned_about(config: Path) -> None:
    done = run("--model", str(config), "--gpu", "MI300X", "--max-model-len", "131073")
    assert "131,072" in done.stdout
    assert "131,072: ROCm" not in run("--model", str(config), "--gpu", "MI300X", "--max-model-len", "131072").stdout


WRONG: list[tuple[list[str], str]] = [
    (["--gpu", "MI300X"], "--model"),
    (["--model", "{config}"], "--gpu"),
    (["--model", "{config}", "--gpu", "no such part"], "--gpu-mem-gib"),
    (["--model", "{config}", "--gpu", "x", "--gpu-mem-gib", "-3"], "--gpu-mem-gib"),
    (["--model", "no-such-model-at-all", "--gpu", "MI300X"], "config.json"),
    (["--model", "{dir}/missing.json", "--gpu", "MI300X"], "No such file"),
    (["--model", "{config}", "--gpu", "MI300X", "--tp", "3"], "--tp 3"),
    (["--model", "{config}", "--gpu", "MI300X", "--tp", "0"], "--tp 0"),
    (["--model", "{config}", "--gpu", "MI300X", "--pp", "99"], "--pp 99"),
    (["--model", "{config}", "--gpu", "MI300X", "--gpu-memory-utilization", "1.5"], "utilization"),
    (["--model", "{config}", "--gpu", "MI300X", "--kv-cache-dtype", "int3"], "kv-cache-dtype"),
    (["--model", "{config}", "--gpu", "MI300X", "--quantization", "magic"], "quantization"),
    (["--model", "{config}", "--gpu", "MI300X", "--max-model-len", "0"], "--max-model-len"),
    (["--model", "{config}", "--gpu", "MI300X", "--ep"], "--ep"),
    (["--model", "{config}", "--gpu", "MI300X", "--kv-cache-dtype", "fp8_ds_mla"], "latent attention"),
    (
        ["--model", "{config}", "--gpu", "MI300X", "--max-num-batched-tokens", "64", "--max-num-seqs", "128"],
        "--max-num-seqs 128",
    ),
    (["--model", "{config}", "--gpu", "MI300X", "--users", "3"], "--context"),
    (["--model", "{config}", "--gpu", "MI300X", "--plot", "x.svg"], "--sweep"),
    (["--model", "{config}", "--gpu", "MI300X", "--explain", "{dir}/none.log"], "none.log"),
]


@pytest.mark.parametrize(("args", "word"), WRONG, ids=[w for _, w in WRONG])
def test_wrong_use_is_one_line_and_2(args: list[str], word: str, config: Path) -> None:
    done = run(*(a.format(config=config, dir=config.parent) for a in args))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert word in done.stderr


CONFIGS: list[tuple[dict[str, Any] | str, str]] = [
    (LLAMA | {"num_hidden_layers": -3}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": 10**9}, "num_hidden_layers"),
    (LLAMA | {"hidden_size": "wide"}, "hidden_size"),
    (LLAMA | {"vocab_size": 0}, "vocab_size"),
    (LLAMA | {"num_key_value_heads": 64}, "key-value heads"),
    ({k: v for k, v in LLAMA.items() if k != "hidden_size"}, "hidden_size"),
    ({"a": 1}, "not the config.json of a language model"),
    ("[]", "no JSON object"),
    ("{", "not JSON"),
    ("", "not JSON"),
    ("[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("content", "word"), CONFIGS, ids=range(len(CONFIGS)))
def test_bad_configurations(content: dict[str, Any] | str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    done = run("--model", str(path), "--gpu", "MI300X")
    assert done.returncode == 2, done.stdout[:300]
    assert word in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_config_of_2_gb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    done = run("--model", str(path), "--gpu", "MI300X")
    assert done.returncode == 2
    assert "2,147,483,648 bytes" in done.stderr


def test_unknown_architecture_is_planned_with_doubt(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA | {"model_type": "zyx9", "architectures": ["ZyxForCausalLM"]}))
    done = run("--model", str(path), "--gpu", "MI300X", "--format", "json")
    doc = json.loads(done.stdout)
    assert done.returncode == 0
    assert any("unknown architecture (zyx9)" in a for a in doc["assumptions"])
    low, high = doc["interval"]["kv_cache_gib"]
    assert high - low > 6


def test_checkpoint_directory_is_counted_exactly(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    size = 15 * (1 << 30)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}}).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    doc = json.loads(run("--model", str(tmp_path), "--gpu", "MI300X", "--format", "json").stdout)
    assert doc["per_gpu"]["weights_gib"] == pytest.approx(15.03, abs=0.02)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 100)
    done = run("--model", str(tmp_path), "--gpu", "MI300X")
    assert done.returncode == 2
    assert "model.safetensors" in done.stderr


@pytest.mark.parametrize("suffix", ["svg", "html", "png"])
def test_sweep_and_plot(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GPT_OSS))
    plot = tmp_path / f"sweep.{suffix}"
    done = run("--model", str(path), "--gpu", "MI300X", "--sweep", "--plot", str(plot), "--format", "json")
    rows = json.loads(done.stdout)["rows"]
    assert {r["quantization"] for r in rows} == {"bf16", "fp8", "int8", "awq", "gptq", "mxfp4"}
    assert {r["tp"] for r in rows} == {1, 2, 4, 8}
    assert plot.read_bytes()[:4] in (b"<svg", b"<!do", b"\x89PNG")


LOG = """\
INFO 12-19 14:22:00 [api_server.py:1772] vLLM API server version 0.13.0
INFO 12-19 14:22:10 [core.py:93] Initializing a V1 LLM engine (v0.13.0) with config: model='m', dtype=torch.bfloat16, max_seq_len=65536, tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto
INFO 12-19 14:22:01 [utils.py:253] non-default args: {'max_num_seqs': 64, 'gpu_memory_utilization': 0.98}
INFO 12-19 14:22:02 [scheduler.py:228] Chunked prefill is enabled with max_num_batched_tokens=2048.
INFO 12-19 14:23:00 [gpu_model_runner.py:3549] Model loading took 15.0586 GiB memory and 4.05 seconds
INFO 12-19 14:23:20 [gpu_worker.py:359] Available KV cache memory: 15.33 GiB
INFO 12-19 14:23:20 [kv_cache_utils.py:1286] GPU KV cache size: 125,616 tokens
INFO 12-19 14:23:20 [kv_cache_utils.py:1291] Maximum concurrency for 65,536 tokens per request: 1.92x
INFO 12-19 14:23:30 [gpu_model_runner.py:4466] Graph capturing finished in 7 secs, took 0.94 GiB
"""


def test_explain_reads_a_start(config: Path, tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(LOG)
    done = run("--model", str(config), "--gpu", "R9700", "--explain", str(log), "--format", "json")
    assert done.returncode == 0, done.stderr
    doc = json.loads(done.stdout)
    lines = {x["term"]: x for x in doc["lines"]}
    assert lines["kv_tokens"]["logged"] == 125_616
    assert abs(lines["kv_tokens"]["off"]) < 0.02
    assert doc["used"]["max_num_seqs"] == 64
    log.write_text("nothing of the kind\n")
    assert run("--model", str(config), "--gpu", "R9700", "--explain", str(log)).returncode == 2


def test_users_and_context(config: Path) -> None:
    done = run("--model", str(config), "--gpu", "MI300X", "--users", "64", "--context", "8000", "--format", "json")
    best = json.loads(done.stdout)["users"]["best"]
    assert best["engines"] * best["users_per_engine"] >= 64


def test_fragmentation(config: Path) -> None:
    done = run("--model", str(config), "--gpu", "MI210", "--fragmentation", "mixed", "--format", "json")
    doc = json.loads(done.stdout)
    assert doc["requests"] >= 1000
    assert doc["outcomes"][0]["failed_by_fragmentation"] == 0


def test_tp_across_pcie_is_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN_NEXT))
    assert "PCIe" in run("--model", str(path), "--gpu", "R9700", "--tp", "2").stdout
    assert "cross PCIe" not in run("--model", str(path), "--gpu", "MI300X", "--tp", "2").stdout


def test_a_plan_is_cheap(config: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run("--model", str(config), "--gpu", "MI300X", "--format", "json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 0.6  # goal 0.3 on an idle core


def test_explain_chooses_a_start(config: Path, tmp_path: Path) -> None:
    one = (
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.{v}.0\n"
        "INFO 01-01 10:00:01 [core.py:1] Initializing a V1 LLM engine (v0.{v}.0) with config: max_seq_len=4096\n"
        "INFO 01-01 10:00:02 [gpu.py:1] Model loading took {w} GiB and 3 seconds\n"
        "INFO 01-01 10:00:03 [gpu.py:1] Available KV cache memory: 10.0 GiB\n"
    )
    log = tmp_path / "two.log"
    log.write_text(one.format(v=11, w=14.5) + "Traceback\n" + one.format(v=13, w=15.25))
    for arguments, start, weights in (([], 2, 15.25), (["--start", "1"], 1, 14.5), (["--start", "2"], 2, 15.25)):
        done = run("--model", str(config), "--gpu", "R9700", "--explain", str(log), "--format", "json", *arguments)
        document = json.loads(done.stdout)
        assert (document["start"], document["starts"]) == (start, 2)
        assert next(x["logged"] for x in document["lines"] if x["term"] == "weights_gib") == weights
    for arguments in (["--start", "3"], ["--start", "0"]):
        assert run("--model", str(config), "--gpu", "R9700", "--explain", str(log), *arguments).returncode == 2
    assert run("--model", str(config), "--gpu", "R9700", "--start", "1").returncode == 2
