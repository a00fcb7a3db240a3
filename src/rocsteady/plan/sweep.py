"""``--sweep``: quantisations x KV precision x TP/PP x context, and what each needs from the hardware."""

from __future__ import annotations

import msgspec

from rocsteady.catalog.knowledge import compat
from rocsteady.catalog.plan_risks import PlanRisk, plan_risks
from rocsteady.model import InputError
from rocsteady.plan.budget import Request, budget_of

FORMATS: tuple[tuple[str, str | None, str], ...] = (
    ("bf16", None, "16-bit matrix units"),
    ("fp8", "fp8", "FP8 units: FNUZ on gfx942, OCP on gfx950 and gfx12; else computed in 16 bit"),
    ("int8", "int8 w8a8", "INT8 matrix units"),
    ("awq", "awq", "4-bit weights, computed in 16 bit"),
    ("gptq", "gptq", "4-bit weights, computed in 16 bit"),
    ("mxfp4", "mxfp4 fp8", "MXFP4 units: gfx950 only; else converted to 16 bit in the kernel"),
)
METHOD = {"fp8": "fp8", "int8": "compressed-tensors", "awq": "awq", "gptq": "gptq", "mxfp4": "mxfp4"}
FP8_RULES = (
    "https://github.com/ROCm/ROCm/blob/e396b4898f459db094bfd60b876f419f77eb9f09/docs/reference/precision-support.rst"
)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One combination. ``support``: yes, emulated, no, unknown on this GPU and version. ``risks``: what is known to be
    unstable or wrong with it on ROCm, by failure mode, with sources."""

    quantization: str
    kv_cache_dtype: str
    tp: int
    pp: int
    context: int
    fits: bool
    weights_gib: float
    kv_cache_gib: float
    kv_tokens: int
    kv_tokens_low: int
    max_concurrency: float
    needs: str
    support: str
    note: str
    source: str
    risks: tuple[PlanRisk, ...] = ()


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """The table."""

    schema: str = "rocsteady.plan-sweep/1"
    model: str
    gpu: str
    total_gib: float
    rows: tuple[Row, ...]
    skipped: tuple[str, ...]


def run_sweep(request: Request) -> Sweep:
    """All combinations that the model allows. The checkpoint's own quantisation is replaced."""
    plain = {k: v for k, v in request.config.items() if k not in ("quantization_config", "compression_config")}
    text = plain.get("text_config")
    if isinstance(text, dict):
        plain["text_config"] = {k: v for k, v in text.items() if k != "quantization_config"}
    first = budget_of(request)
    contexts = sorted(
        {min(first.shape.positions, c) for c in (8_192, 32_768, 131_072)}
        | ({request.max_model_len} if request.max_model_len else set())
    )
    rows: list[Row] = []
    skipped: dict[str, None] = {}
    for label, method, needs in FORMATS:
        support, note, source = support_of(label, first.device.gfx, first.engine.version, first.engine.rocm)
        for kv in ("auto", "fp8"):
            for tp, pp in ((1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (4, 2)):
                for context in contexts:
                    trial = msgspec.structs.replace(
                        request,
                        config=plain,
                        quantization=method,
                        kv_cache_dtype=kv,
                        tp=tp,
                        pp=pp,
                        max_model_len=context,
                        weight_bytes=None,
                    )
                    try:
                        b = budget_of(trial)
                    except InputError as error:
                        skipped[str(error)] = None
                        continue
                    risks = plan_risks(label, kv, b.device.gfx, tp, b.engine.version) if b.engine.rocm else ()
                    refused = any(risk.level == "unsupported" for risk in risks)
                    rows.append(
                        Row(
                            quantization=label,
                            kv_cache_dtype=kv,
                            tp=tp,
                            pp=pp,
                            context=context,
                            fits=b.fits,
                            weights_gib=round(b.weights.point, 2),
                            kv_cache_gib=round(b.per_gpu.kv_cache_gib, 2),
                            kv_tokens=b.kv_tokens,
                            kv_tokens_low=b.interval.kv_tokens[0],
                            max_concurrency=round(b.max_concurrency, 2),
                            needs=needs,
                            support="no" if refused else support,
                            note=note,
                            source=source,
                            risks=risks,
                        )
                    )
    return Sweep(
        model=request.model, gpu=request.gpu, total_gib=first.device.total_gib, rows=tuple(rows), skipped=tuple(skipped)
    )


def support_of(label: str, gfx: str, version: tuple[int, int, int], rocm: bool) -> tuple[str, str, str]:
    """Whether the GPU has units for the format, and whether that vLLM release takes the method on ROCm."""
    if label == "bf16":
        return "yes", "", FP8_RULES
    if not rocm:
        return "unknown", "not an AMD GPU: the catalog does not say", ""
    wanted = METHOD[label]
    best = None
    for release in compat().vllm_quantization:
        numbers = tuple(int(n) for n in release.vllm.lstrip("v").split(".")[:3] if n.isdigit())
        if numbers and numbers <= version and (best is None or numbers > best[0]):
            best = (numbers, release)
    if best is not None and not any(
        m.replace("_", "-") == wanted.replace("_", "-") or m.startswith(wanted) for m in best[1].methods
    ):
        return "no", f"vLLM {best[1].vllm} does not list {wanted} for ROCm", best[1].source
    source = best[1].source if best is not None else FP8_RULES
    if label == "fp8":
        if gfx == "gfx942":
            return (
                "yes",
                "FNUZ: OCP checkpoints are rescaled at load; a checkpoint already in FNUZ is not portable",
                FP8_RULES,
            )
        if gfx in ("gfx950", "gfx1200", "gfx1201"):
            return "yes", "OCP", FP8_RULES
        return "emulated", "no FP8 in hardware: saves memory, not time", FP8_RULES
    if label == "mxfp4":
        return ("yes", "", source) if gfx == "gfx950" else ("emulated", "no MXFP4 in hardware", source)
    if label in ("awq", "gptq") and gfx.startswith(("gfx10", "gfx11", "gfx12")):
        return "yes", "Triton and exllama kernels; the fast Marlin kernels are CUDA only", source
    return "yes", "", source


SIGNS = {"unsupported": "X", "unstable": "!", "check": "?"}
"""Of each level, the worst first."""


def name_of(risk: PlanRisk) -> str:
    """Sign and mode of a risk; one without a mode is named by the number of its report."""
    return SIGNS[risk.level] + (risk.mode or "#" + risk.sources[0].rsplit("/", 1)[-1])


def marks(row: Row) -> str:
    """The modes of a row's risks, the worst first."""
    order = list(SIGNS)
    return " ".join(
        dict.fromkeys(name_of(r) for r in sorted(row.risks, key=lambda r: (order.index(r.level), r.mode or "")))
    )


def table(sweep: Sweep) -> str:
    """Text: one line per combination; contexts side by side would hide what does not fit."""
    lines = [f"{sweep.model} on {sweep.gpu} ({sweep.total_gib:.2f} GiB)", ""]
    lines.append(
        f"{'weights':8}{'KV':6}{'TP':>3}{'PP':>3}{'context':>9}{'weights GiB':>13}{'KV GiB':>9}{'KV tokens':>13}{'requests':>10}  fits  support   known problems"
    )
    lines.extend(
        f"{r.quantization:8}{r.kv_cache_dtype:6}{r.tp:3}{r.pp:3}{r.context:9}{r.weights_gib:13.2f}{r.kv_cache_gib:9.2f}{r.kv_tokens:13,}{r.max_concurrency:10.2f}  {'yes' if r.fits else 'NO':4}  {r.support:8}  {marks(r)}".rstrip()
        for r in sweep.rows
    )
    lines.append("")
    seen: dict[str, str] = {}
    for r in sweep.rows:
        seen.setdefault(
            r.quantization,
            f"{r.quantization}: needs {r.needs}. Here: {r.support}{'; ' + r.note if r.note else ''}{' (' + r.source + ')' if r.source else ''}",
        )
    lines.extend(seen.values())
    lines.extend(f"skipped: {s}" for s in sweep.skipped)
    risks = {risk.says: risk for r in sweep.rows for risk in r.risks}
    if risks:
        lines += [
            "",
            "known problems on ROCm (X does not run, ! reported on this combination, ? on some checkpoints or releases of it):",
        ]
        lines.extend(
            f"{name_of(risk)}: {risk.says} ({', '.join(risk.sources)})"
            for risk in sorted(risks.values(), key=lambda r: (list(SIGNS).index(r.level), r.mode or ""))
        )
    return "\n".join(lines) + "\n"
