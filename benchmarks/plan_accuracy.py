"""Accuracy of `rocsteady plan` against real engine start-ups, beside hf-mem and the plain rule.

ROWS.jsonl holds one start-up a line (the form is described in docs/plan.md). Each row is planned from its inputs
alone; no observed figure is used. A row is skipped where its configuration or memory total is missing.

leave_one_model_out: the constants that logs calibrate (memory outside torch, graphs) are estimated again from the
rows of other models only: of the same mechanism where there are any, else of the same platform.

Peers: hf-mem (PyPI; its KV formula, its weights as tensor bytes, the rest of the budget is KV) and the plain rule
"weights + KV + 20 %". A peer that is not installed is null.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from rocsteady.model import InputError
from rocsteady.plan.activation import captured_graphs
from rocsteady.plan.budget import GIB, Budget, Request, budget_of
from rocsteady.plan.kv import kv_width, printed_tokens, token_bytes
from rocsteady.plan.weights import weights_on

KV_TYPES = ("fp8_ds_mla", "nvfp4_ds_mla", "fp8_e5m2", "fp8_e4m3", "fp8", "auto")


def request_of(row: dict[str, Any]) -> Request:
    """The inputs of a row; text in `kv_cache_dtype` may hold remarks."""
    text = str(row.get("kv_cache_dtype") or "auto").lower()
    kv = next((k for k in KV_TYPES if k in text), "auto")
    return Request(
        model=str(row.get("model") or "unnamed"),
        config=row["model_config"],
        gpu=str(row.get("gpu") or "unnamed"),
        gpu_mem_gib=row["gpu_mem_gib"],
        tp=row.get("tp") or 1,
        pp=row.get("pp") or 1,
        ep=bool(row.get("ep")),
        dtype=row.get("dtype"),
        quantization=row.get("quantization"),
        kv_cache_dtype=kv,
        max_model_len=row.get("max_model_len"),
        max_num_seqs=row.get("max_num_seqs"),
        max_num_batched_tokens=row.get("max_num_batched_tokens"),
        gpu_memory_utilization=row.get("gpu_memory_utilization"),
        enforce_eager=bool(row.get("enforce_eager")),
        block_size=row.get("block_size"),
        kv_cache_memory_bytes=row.get("kv_cache_memory_bytes"),
        engine_version=str(row.get("version") or ""),
    )


def nearest_rank(values: list[float], share: float) -> float | None:
    """Percentile by nearest rank."""
    ordered = sorted(values)
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 5) if ordered else None


def errors(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Of (planned, logged)."""
    off = [abs(p - t) / t for p, t in pairs if t]
    return {"rows": len(off), "median_abs_error": nearest_rank(off, 0.5), "p90_abs_error": nearest_rank(off, 0.9)}


def tokens_with(b: Budget, kv_gib: float) -> int:
    """Printed tokens for another amount of KV memory."""
    return printed_tokens(b.cache, b.engine, b.cache.blocks(kv_gib * GIB), b.limits.length, b.per_request)


def family(row: dict[str, Any]) -> str:
    """The base model behind a name, so that two quantisations of one model are left out together."""
    name = str(row["model"]).lower().rsplit("/", 1)[-1]
    size = re.search(r"\d+(?:\.\d+)?b(?:-a\d+b)?", name)
    return re.split(r"[-_ ]", name.removeprefix("meta-"))[0] + "-" + (size[0] if size else name)


def mechanism(b: Budget) -> str:
    """Which constants a row calibrates: platform, engine generation, target, parallel or not, kind of layers."""
    old = "early" if not b.engine.at_least(0, 12) else ""
    states = "state" if any(k.kind == "state" for k in b.shape.layers) else ""
    return "/".join((platform(b), b.device.gfx, "tp" if b.request.tp > 1 else "one", old, states))


def platform(b: Budget) -> str:
    """ROCm or CUDA, V0 or V1."""
    return ("rocm" if b.engine.rocm else "cuda") + ("-v0" if b.engine.v0 else "-v1")


def leave_one_out(rows: list[tuple[dict[str, Any], Budget]]) -> dict[str, Any]:
    """Plan each row with constants from rows of other models."""
    rest: list[tuple[str, str, str, float]] = []
    graphs: list[tuple[str, str, str, float]] = []
    for row, b in rows:
        seen = row["observed"]
        units = captured_graphs(b.engine, b.limits.sequences, b.shape.model_type == "gpt_oss") * len(b.shape.layers)
        if seen.get("graph_gib") is not None and not b.request.enforce_eager:
            graphs.append((family(row), mechanism(b), platform(b), seen["graph_gib"] / units))
        if seen.get("kv_gib") and seen.get("weights_gib") and b.request.kv_cache_memory_bytes is None:
            inside = (seen.get("graph_gib") or b.graph.point) if b.engine.graphs_in_budget else 0.0
            left = b.per_gpu.requested_gib - seen["weights_gib"] - seen["kv_gib"] - inside - b.activation.point
            rest.append((family(row), mechanism(b), platform(b), left))

    def estimate(pool: list[tuple[str, str, str, float]], row: dict[str, Any], b: Budget) -> float | None:
        others = [x for x in pool if x[0] != family(row)]
        same = [x[3] for x in others if x[1] == mechanism(b)] or [x[3] for x in others if x[2] == platform(b)]
        return statistics.median(same) if same else None

    pairs: list[tuple[float, float]] = []
    for row, b in rows:
        logged = row["observed"].get("kv_tokens")
        if not logged:
            continue
        kv = b.kv_gib
        if b.request.kv_cache_memory_bytes is None:
            non_torch = estimate(rest, row, b)
            kv += b.non_torch.point - (non_torch if non_torch is not None else 0.5)
            if b.engine.graphs_in_budget and not b.request.enforce_eager:
                units = captured_graphs(b.engine, b.limits.sequences, b.shape.model_type == "gpt_oss") * len(
                    b.shape.layers
                )
                each = estimate(graphs, row, b)
                kv += b.graph.point - (each if each is not None else 0.0005) * units
        pairs.append((tokens_with(b, kv), logged))
    return errors(pairs)


def plain_rule(b: Budget) -> float:
    """KV tokens by "weights + KV + 20 %": what 1.2 x (weights + KV) leaves of total x utilization."""
    raw = b.per_gpu.requested_gib / 1.2 - b.weights.point
    each = sum(token_bytes(k, b.request.tp, kv_width(b.request.kv_cache_dtype, b.dtype), None) for k in b.shape.layers)
    return max(0.0, raw) * GIB / each if each else 0.0


def hf_mem_tokens(row: dict[str, Any], b: Budget) -> float | None:
    """KV tokens by hf-mem's KV formula over what tensor bytes leave; None where it refuses the row."""
    from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size

    kind = "F8_E4M3" if kv_width(b.request.kv_cache_dtype, b.dtype) == 1.0 else "BF16"
    config = {k: v for k, v in row["model_config"].items() if v is not None}
    try:
        one = (
            compute_safetensors_kv_cache_size(config=config, cache_dtype=kind, max_model_len=1024, batch_size=1) / 1024
        )
    except (KeyError, RuntimeError, TypeError, ValueError):
        return None
    scheme = b.scheme
    total = weights_on(b.shape, b.engine, scheme, b.dtype, 1, 1, 0, "").gib.point
    left = b.per_gpu.requested_gib * b.request.tp - total
    return max(0.0, left) * GIB / one if one else None


def score(path: Path) -> dict[str, Any]:
    """The whole document for one file."""
    rows: list[tuple[dict[str, Any], Budget]] = []
    skipped: list[dict[str, Any]] = []
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    for number, line in enumerate(lines):
        row = json.loads(line)
        missing = [k for k in ("model_config", "gpu_mem_gib") if not row.get(k)]
        if missing:
            skipped.append({"row": number, "why": f"no {' and no '.join(missing)}"})
            continue
        try:
            b = budget_of(request_of(row))
        except InputError as error:
            skipped.append({"row": number, "why": str(error)})
            continue
        rows.append((row, b))
        seen = row["observed"]
        if not any(seen.get(k) for k in ("kv_tokens", "weights_gib", "max_concurrency")) and seen.get("fits") is None:
            skipped.append({"row": number, "why": "nothing logged that is scored"})
    token_rows = [(r, b) for r, b in rows if r["observed"].get("kv_tokens")]
    inside = [b.interval.kv_tokens[0] <= r["observed"]["kv_tokens"] <= b.interval.kv_tokens[1] for r, b in token_rows]
    widths = [(b.interval.kv_tokens[1] - b.interval.kv_tokens[0]) / r["observed"]["kv_tokens"] for r, b in token_rows]
    given = [(r, b) for r, b in token_rows if r["observed"].get("kv_gib")]
    uniform = [(r, b) for r, b in given if len(b.cache.groups) == 1]
    exact = [r for r, b in uniform if _within_rounding(r, b)]
    fits = [(fits_of(r), b.fits) for r, b in rows if fits_of(r) is not None]
    tokens = errors([(b.kv_tokens, r["observed"]["kv_tokens"]) for r, b in token_rows])
    tokens |= {
        "coverage": round(sum(inside) / len(inside), 4) if inside else None,
        "median_interval_width": nearest_rank(widths, 0.5),
    }
    peers: dict[str, Any] = {
        "plain rule, 1.2 x (weights + KV)": {
            "kv_tokens": errors([(plain_rule(b), r["observed"]["kv_tokens"]) for r, b in token_rows])
        }
    }
    try:
        import hf_mem  # noqa: F401
    except ImportError:
        peers["hf-mem"] = None
    else:
        found = [(hf_mem_tokens(r, b), r["observed"]["kv_tokens"]) for r, b in token_rows]
        peers["hf-mem"] = {"kv_tokens": errors([(p, t) for p, t in found if p is not None])}
    return {
        "schema": "rocsteady.plan-accuracy/1",
        "rows": len(lines),
        "skipped": skipped,
        "kv_tokens": tokens,
        "kv_tokens_given_kv_gib": {"uniform_rows": len(uniform), "within_rounding": len(exact)},
        "weights": errors(
            [(b.weights.point, r["observed"]["weights_gib"]) for r, b in rows if r["observed"].get("weights_gib")]
        ),
        "max_concurrency": errors(
            [
                (b.max_concurrency, r["observed"]["max_concurrency"])
                for r, b in rows
                if r["observed"].get("max_concurrency")
            ]
        ),
        "fits": {"rows": len(fits), "wrong": sum(a != p for a, p in fits)},
        "leave_one_model_out": {"kv_tokens": leave_one_out(rows)},
        "peers": peers,
    }


def fits_of(row: dict[str, Any]) -> bool | None:
    """Whether it started with room for one request: stated, or by a printed concurrency or token count."""
    seen = row["observed"]
    if seen.get("fits") is not None:
        return bool(seen["fits"])
    if seen.get("max_concurrency"):
        return bool(seen["max_concurrency"] >= 1)
    return True if seen.get("kv_tokens") or seen.get("kv_gib") else None


def _within_rounding(row: dict[str, Any], b: Budget) -> bool:
    """The logged KV GiB has two decimals: the token count must lie between those of its bounds, one block aside."""
    low, high = (tokens_with(b, row["observed"]["kv_gib"] + d) for d in (-0.0051, 0.0051))
    return bool(low - b.cache.block_size <= row["observed"]["kv_tokens"] <= high + b.cache.block_size)


def main() -> None:
    """Score a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    args = parser.parse_args()
    try:
        result = score(args.rows)
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, KeyError) as error:
        sys.stderr.write(f"{args.rows}: {error!r}\n")
        raise SystemExit(2) from None
    if args.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{result['rows']} rows, {len(result['skipped'])} skipped")
    for name in ("kv_tokens", "weights", "max_concurrency", "kv_tokens_given_kv_gib", "fits"):
        print(f"  {name:24} {result[name]}")
    print(f"  {'leave one model out':24} {result['leave_one_model_out']['kv_tokens']}")
    for name, value in result["peers"].items():
        print(f"  {name:36} {value['kv_tokens'] if value else 'not installed'}")


if __name__ == "__main__":
    main()
