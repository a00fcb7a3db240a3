"""``--explain LOG``: what a real start-up log shows, beside the plan."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from rocsteady.model import InputError
from rocsteady.plan.budget import Budget, Request, budget_of

MAX_LOG_BYTES = 64 << 20
"""The start of a server is in the first megabytes; what follows is access log."""
PATTERNS: dict[str, str] = {
    "weights_gib": r"[Ll]oading (?:model )?(?:weights )?took ([\d.]+) ?G(?:i?B)\b",
    "kv_cache_gib": r"Available KV cache memory: (-?[\d.]+) GiB",
    "kv_tokens": r"GPU KV cache size: ([\d,]+) tokens",
    "max_concurrency": r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x",
    "graph_gib": r"Graph captur\w* finished in [\d.]+ sec\w*, took (-?[\d.]+) GiB",
    "blocks": r"# (?:GPU|cuda|rocm) blocks: (\d+)",
    "total_gib": r"total capacity of ([\d.]+) GiB|total_gpu_memory \(([\d.]+)GiB\)",
    "v0_activation_gib": r"PyTorch activation peak memory takes ([\d.]+)GiB",
    "v0_weights_gib": r"model weights take ([\d.]+)GiB",
    "v0_non_torch_gib": r"non_torch_memory takes ([\d.]+)GiB",
    "v0_kv_cache_gib": r"rest of the memory reserved for KV Cache is ([\d.]+)GiB",
}
"""Figures that vLLM prints at a start, in the wordings of 0.6 to 0.33."""
ARGUMENTS: dict[str, tuple[str, type]] = {
    "engine_version": (r"vLLM API server version v?(\S+)|LLM engine \(v([^)\s]+)\)", str),
    "model": (r"config: model='([^']+)'|'model(?:_tag)?': '([^']+)'", str),
    "max_model_len": (r"max_seq_len=(\d+)|'max_model_len': (\d+)", int),
    "tp": (r"tensor_parallel_size'?[=:] ?(\d+)", int),
    "pp": (r"pipeline_parallel_size'?[=:] ?(\d+)", int),
    "max_num_seqs": (r"'?max_num_seqs'?[=:] ?(\d+)", int),
    "max_num_batched_tokens": (r"max_num_batched_tokens'?[=:] ?(\d+)", int),
    "gpu_memory_utilization": (r"gpu_memory_utilization'?[=:] ?([\d.]+)", float),
    "kv_cache_dtype": (r"kv_cache_dtype'?[=:] ?'?(\w+)", str),
    "quantization": (r"quantization=(\w+)", str),
    "dtype": (r"dtype=torch\.(\w+)", str),
    "enforce_eager": (r"enforce_eager'?[=:] ?(True|False)", lambda s: s == "True"),  # type: ignore[dict-item]
}


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One term: planned with its bounds, logged, and the difference. None: the log does not show it."""

    term: str
    planned: float
    low: float
    high: float
    logged: float | None
    off: float | None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Where the memory went."""

    schema: str = "rocsteady.plan-explain/1"
    log: str
    start: int = 1
    starts: int = 1
    used: dict[str, Any]
    lines: tuple[Line, ...]
    text: tuple[str, ...]


def read_log(path: Path) -> str:
    """The log without colours.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LOG_BYTES)
    except OSError as error:
        raise InputError(f"--explain {path}: {error.strerror}") from error
    return re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8", "replace"))


BANNERS = re.compile(r"vLLM API server version|Initializing an? (?:V1 )?LLM engine|LLM engine \(v")
"""The first lines that a start prints; the API server's and the engine's belong to the same one."""
FIGURES = tuple(re.compile(pattern) for pattern in PATTERNS.values())


def starts(text: str) -> list[str]:
    """The log cut at each start: a banner behind figures of an earlier one begins the next. One part where there is no
    banner."""
    cuts = [0]
    for match in BANNERS.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        if begin > cuts[-1] and any(f.search(text, cuts[-1], begin) for f in FIGURES):
            cuts.append(begin)
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def chosen_start(path: Path, number: int | None) -> tuple[str, int, int]:
    """Text of a start, its number (from 1) and how many there are; without a number the last one that shows figures.

    Raises:
        InputError: the log cannot be read, or has no such start.
    """
    parts = starts(read_log(path))
    if number is not None:
        if not 1 <= number <= len(parts):
            raise InputError(f"--start {number}: {path} shows {len(parts)} start{'s' if len(parts) > 1 else ''}")
        return parts[number - 1], number, len(parts)
    last = max((index for index, part in enumerate(parts) if figures(part)), default=len(parts) - 1)
    return parts[last], last + 1, len(parts)


def figures(text: str) -> dict[str, float]:
    """Figures of one start; of a figure that is printed again the first counts."""
    out: dict[str, float] = {}
    for name, pattern in PATTERNS.items():
        match = re.search(pattern, text)
        if match:
            value = next(g for g in match.groups() if g is not None)
            out[name.removeprefix("v0_")] = float(value.replace(",", "").rstrip("."))
    return out


def arguments(text: str) -> dict[str, Any]:
    """Arguments of one start."""
    out: dict[str, Any] = {}
    for name, (pattern, convert) in ARGUMENTS.items():
        match = re.search(pattern, text)
        if match:
            out[name] = convert(next(g for g in match.groups() if g is not None))
    if out.get("quantization") == "None":
        del out["quantization"]
    return out


def fill_from_log(
    path: Path, model: str | None, gpu: str | None, mem: float | None, number: int | None = None
) -> tuple[str | None, str | None, float | None]:
    """Model and memory that the log names, where they were not given."""
    text, _, _ = chosen_start(path, number)
    found = arguments(text)
    return model or found.get("model"), gpu, mem or figures(text).get("total_gib")


def explain_log(request: Request, path: Path, number: int | None = None) -> Explanation:
    """Plan with the log's arguments and set its figures beside. ``number``: which start of the log, else its last.

    Raises:
        InputError: the log cannot be read, or shows no start of vLLM.
    """
    text, which, count = chosen_start(path, number)
    seen = figures(text)
    if not seen:
        raise InputError(f"--explain {path}: no start of vLLM in it (no line about loaded weights, KV cache or graphs)")
    args = {k: v for k, v in arguments(text).items() if k != "model"}
    if args.get("dtype") not in ("bfloat16", "float16", "float32"):
        args.pop("dtype", None)
    b = budget_of(msgspec.structs.replace(request, **args))
    lines = tuple(_lines(b, seen))
    said = _sentences(b, seen, lines)
    if count > 1:
        said.insert(0, f"start {which} of {count} in this log; --start N reads another")
    return Explanation(log=str(path), start=which, starts=count, used=args, lines=lines, text=tuple(said))


def _lines(b: Budget, seen: dict[str, float]) -> list[Line]:
    low, high = b.interval.kv_cache_gib
    rows = [
        ("weights_gib", b.weights.point, b.weights.low, b.weights.high),
        ("activation_gib", b.activation.point, b.activation.low, b.activation.high),
        ("non_torch_gib", b.non_torch.point, b.non_torch.low, b.non_torch.high),
        ("graph_gib", b.graph.point, b.graph.low, b.graph.high),
        ("kv_cache_gib", b.per_gpu.kv_cache_gib, low, high),
        ("kv_tokens", b.kv_tokens, *b.interval.kv_tokens),
        ("max_concurrency", b.max_concurrency, b.max_concurrency, b.max_concurrency),
    ]
    out = []
    for term, planned, below, above in rows:
        logged = seen.get(term)
        out.append(
            Line(
                term=term,
                planned=round(planned, 3),
                low=round(below, 3),
                high=round(above, 3),
                logged=logged,
                off=None if logged in (None, 0) else round(planned / logged - 1, 4),
            )
        )
    return out


def _sentences(b: Budget, seen: dict[str, float], lines: tuple[Line, ...]) -> list[str]:
    out: list[str] = []
    requested = b.per_gpu.requested_gib
    if "kv_cache_gib" in seen and "weights_gib" in seen:
        rest = requested - seen["weights_gib"] - seen["kv_cache_gib"]
        planned = b.activation.point + b.non_torch.point + (b.graph.point if b.engine.graphs_in_budget else 0.0)
        out.append(
            f"of {requested:.2f} GiB requested, weights took {seen['weights_gib']:.2f}, KV cache {seen['kv_cache_gib']:.2f}, everything else {rest:.2f} (planned {planned:.2f})"
        )
        if rest - planned > 1.0:
            out.append(
                f"{rest - planned:.2f} GiB more than planned went beside weights and KV cache: another process, kernels compiled in the profile run, or a longer profile than the flags say"
            )
    worst = max((line for line in lines if line.off is not None), key=lambda x: abs(x.off or 0), default=None)
    if worst is not None and worst.off is not None:
        out.append(f"the plan was off most in {worst.term}: {worst.off:+.1%}")
    outside = [
        x.term
        for x in lines
        if x.logged is not None and x.term != "max_concurrency" and not x.low - 0.01 <= x.logged <= x.high + 0.01
    ]
    out.append(
        "every logged figure is inside its interval"
        if not outside
        else f"outside the stated interval: {', '.join(outside)}"
    )
    return out


def render_explanation(e: Explanation) -> str:
    """As text."""
    rows = [f"{'term':18}{'planned':>12}{'low':>12}{'high':>12}{'logged':>12}{'off':>9}"]
    for x in e.lines:
        logged = "-" if x.logged is None else f"{x.logged:,.2f}"
        off = "-" if x.off is None else f"{x.off:+.1%}"
        rows.append(f"{x.term:18}{x.planned:12,.2f}{x.low:12,.2f}{x.high:12,.2f}{logged:>12}{off:>9}")
    return "\n".join([f"{e.log}: {', '.join(f'{k}={v}' for k, v in e.used.items())}", "", *rows, "", *e.text]) + "\n"
