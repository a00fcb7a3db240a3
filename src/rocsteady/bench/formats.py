"""Files of other tools: what ``vllm bench serve --save-result --save-detailed`` and guidellm write, both ways.

vLLM:     https://github.com/vllm-project/vllm/blob/main/vllm/benchmarks/serve.py (lists by request; times in seconds)
guidellm: https://github.com/vllm-project/guidellm, package 0.8.1 (``benchmarks[].requests.successful[]`` ...)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocsteady.bench.samples import MOST_BYTES, SCHEMA, Failure, Run, Sample, decode_run
from rocsteady.bench.summary import Spread, summarise
from rocsteady.model import InputError

FORMATS = ("rocsteady", "vllm", "guidellm")


def read_any(path: Path) -> list[Run]:
    """Runs of a file of any of the three kinds; guidellm's holds several.

    Raises:
        InputError: not there, or none of them.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than 2 GiB")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from error
    if isinstance(document, dict):
        if document.get("schema") == SCHEMA:
            return [decode_run(data, str(path))]
        try:
            if "ttfts" in document or "request_throughput" in document:
                return [from_vllm(document)]
            if "benchmarks" in document:
                return [from_guidellm(entry) for entry in document["benchmarks"]]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(f"{path}: {type(error).__name__}: {error}") from error
    raise InputError(f"{path}: neither a run of ours nor a result of vllm bench or guidellm")


def from_vllm(document: Mapping[str, Any]) -> Run:
    """A result with details. It states no time of sending before vLLM 0.10 (``start_times``): then all are due at 0."""
    if "ttfts" not in document:
        raise ValueError("no details by request: save with --save-detailed")
    outputs = document["output_lens"]
    count = len(outputs)
    starts = document.get("start_times") or [0.0] * count
    begin = min(starts, default=0.0)
    samples = []
    for i in range(count):
        error = str((document.get("errors") or [""] * count)[i] or "")
        gaps = [float(gap) for gap in document["itls"][i]]
        due = float(starts[i]) - begin
        first = None if error else due + float(document["ttfts"][i])
        last = None if first is None else first + sum(gaps)
        samples.append(
            Sample(
                due=due, sent=due, ended=last if last is not None else due, first=first, last=last, gaps=gaps,
                input_tokens=int(document["input_lens"][i]), output_tokens=None if error else int(outputs[i]),
                failure="server-error" if error else None, detail=error[:200],
            )
        )  # fmt: skip
    duration = float(document["duration"])
    rate = document.get("request_rate")
    return Run(
        started=str(document.get("date", "")), target=str(document.get("endpoint", "")),
        model=str(document.get("model_id", "")), endpoint=str(document.get("endpoint_type", document.get("backend", ""))),
        load=f"poisson:{rate}" if rate not in (None, "inf") else "all at once", lengths="", seed=None,
        window=(0.0, duration), samples=samples, facts={"tool": "vllm bench serve"},
    )  # fmt: skip


def from_guidellm(entry: Mapping[str, Any]) -> Run:
    """One benchmark of a report."""
    requests = entry["requests"]
    outcomes: tuple[tuple[str, Failure | None], ...] = (
        ("successful", None), ("errored", "server-error"), ("incomplete", "timeout-total"),
    )  # fmt: skip
    rows = [(row, failure) for kind, failure in outcomes for row in requests.get(kind) or ()]
    starts = [float(row["request_start_time"]) for row, _ in rows if row.get("request_start_time") is not None]
    begin = min(starts, default=0.0)
    samples = []
    for row, failure in rows:
        due = float(row.get("request_start_time") or begin) - begin
        ttft, latency = row.get("time_to_first_token_ms"), row.get("request_latency")
        ended = due + float(latency or 0.0)
        first = None if ttft is None else due + float(ttft) / 1000
        tokens, between = row.get("output_tokens"), row.get("inter_token_latency_ms")
        last = ended if first is not None and between is None else None
        if first is not None and between is not None and tokens:
            last = first + float(between) / 1000 * (int(tokens) - 1)
        samples.append(
            Sample(
                due=due, sent=due, ended=ended, first=first, last=last,
                input_tokens=row.get("prompt_tokens"), output_tokens=tokens, failure=failure,
                detail=str((row.get("info") or {}).get("error") or "")[:200] if isinstance(row.get("info"), dict) else "",
            )
        )  # fmt: skip
    end = max((sample.due for sample in samples), default=0.0)
    strategy = ((entry.get("config") or {}).get("strategy") or {}) if isinstance(entry.get("config"), dict) else {}
    return Run(
        started="", target="", model="", endpoint="", load=str(strategy.get("type_", "")), lengths="", seed=None,
        window=(0.0, end), samples=samples, facts={"tool": "guidellm"},
    )  # fmt: skip


def write_as(run: Run, form: str) -> str:
    """A run as JSON text in one of ``FORMATS``.

    Raises:
        InputError: no such format.
    """
    if form == "rocsteady":
        return msgspec.json.format(msgspec.json.encode(run), indent=1).decode() + "\n"
    if form == "vllm":
        return json.dumps(to_vllm(run), indent=1) + "\n"
    if form == "guidellm":
        return json.dumps(to_guidellm(run), indent=1) + "\n"
    raise InputError(f"format {form!r}: one of {', '.join(FORMATS)}")


def to_vllm(run: Run) -> dict[str, Any]:
    """What ``vllm bench serve`` would have written for the steady window. Its TTFT counts from the sending."""
    figures = summarise(run)
    samples = run.steady
    document: dict[str, Any] = {
        "date": run.started, "endpoint_type": run.endpoint, "backend": run.endpoint, "model_id": run.model,
        "tokenizer_id": run.model, "num_prompts": len(samples),
        "request_rate": float(run.load.partition(":")[2]) if run.load.startswith(("poisson:", "constant:")) else "inf",
        "max_concurrency": int(float(run.load.partition(":")[2])) if run.load.startswith("users:") else None,
        "duration": figures.seconds, "completed": figures.good, "failed": figures.requests - figures.good,
        "total_input_tokens": sum(s.input_tokens or 0 for s in samples if s.good),
        "total_output_tokens": sum(s.output_tokens or 0 for s in samples if s.good),
        "request_throughput": figures.requests_per_second, "output_throughput": figures.output_tokens_per_second,
        "input_lens": [s.input_tokens or 0 for s in samples], "output_lens": [s.output_tokens or 0 for s in samples],
        "ttfts": [s.first - s.sent if s.first is not None else 0.0 for s in samples],
        "itls": [s.gaps for s in samples], "start_times": [s.sent for s in samples],
        "errors": ["" if s.good else f"{s.failure}: {s.detail}" for s in samples],
    }  # fmt: skip
    for name, times in (("ttft", figures.ttft), ("tpot", figures.tpot), ("itl", figures.itl), ("e2el", figures.e2e)):
        document |= _vllm_times(name, times)
    return document


def _vllm_times(name: str, times: Spread | None) -> dict[str, float | None]:
    values = (None,) * 5 if times is None else (times.mean, times.p50, times.p90, times.p95, times.p99)
    names = ("mean", "median", "p90", "p95", "p99")
    return {f"{word}_{name}_ms": None if v is None else v * 1000 for word, v in zip(names, values, strict=True)}


def to_guidellm(run: Run) -> dict[str, Any]:
    """The parts of a guidellm report that its readers and ours use: requests by outcome."""

    def rows(samples: Iterable[Sample]) -> list[dict[str, Any]]:
        return [
            {
                "type_": "generative_request_stats", "request_start_time": s.sent, "request_end_time": s.ended,
                "request_latency": s.ended - s.sent, "prompt_tokens": s.input_tokens, "output_tokens": s.output_tokens,
                "time_to_first_token_ms": None if s.first is None else (s.first - s.sent) * 1000,
                "inter_token_latency_ms": None if s.tpot is None else s.tpot * 1000,
                "info": {"error": None if s.good else f"{s.failure}: {s.detail}"},
            }
            for s in samples
        ]  # fmt: skip

    late = ("timeout-total",)
    return {
        "metadata": {"tool": "rocsteady"},
        "benchmarks": [
            {
                "type_": "generative_benchmark", "config": {"strategy": {"type_": run.load}},
                "requests": {
                    "successful": rows(s for s in run.steady if s.good),
                    "errored": rows(s for s in run.steady if not s.good and s.failure not in late),
                    "incomplete": rows(s for s in run.steady if s.failure in late),
                },
            }
        ],
    }  # fmt: skip
