"""``rocsteady plan``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


EPILOG = """Examples:

  rocsteady plan --model ./config.json --gpu MI300X --engine-version 0.26

  rocsteady plan --model Qwen3-30B-A3B --gpu MI210 --tp 2 --max-model-len 32768

  rocsteady plan --model ./checkpoint/ --gpu mi300x --users 64 --context 8000

  rocsteady plan --model ./config.json --gpu MI300X --sweep --plot sweep.svg

  rocsteady plan --model ./config.json --gpu MI210 --tp 2 --explain vllm.log

Exit code: 0 it fits, 1 it does not fit, 2 bad input or usage.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", epilog=EPILOG)(plan)


def plan(
    model: Annotated[
        str | None, typer.Option(help="config.json, a checkpoint directory, or a model name of the catalog.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="Part of the catalog, or any text with --gpu-mem-gib.")] = None,
    gpu_mem_gib: Annotated[float | None, typer.Option(help="Memory per GPU as the driver reports it, GiB.")] = None,
    tp: Annotated[int, typer.Option("--tp", "--tensor-parallel-size", help="Tensor parallel size.")] = 1,
    pp: Annotated[int, typer.Option("--pp", "--pipeline-parallel-size", help="Pipeline parallel size.")] = 1,
    dp: Annotated[
        int, typer.Option("--dp", "--data-parallel-size", help="Data parallel size (each rank its own cache).")
    ] = 1,
    ep: Annotated[bool, typer.Option("--ep", "--enable-expert-parallel", help="Expert parallel.")] = False,
    dtype: Annotated[str | None, typer.Option(help="auto, bfloat16, float16, float32.")] = None,
    quantization: Annotated[str | None, typer.Option(help="Method, where the configuration does not state it.")] = None,
    kv_cache_dtype: Annotated[str | None, typer.Option(help="auto, fp8, ...")] = None,
    max_model_len: Annotated[int | None, typer.Option(help="Longest request, tokens.")] = None,
    max_num_seqs: Annotated[int | None, typer.Option(help="Sequences at once.")] = None,
    max_num_batched_tokens: Annotated[
        int | None, typer.Option(help="Tokens of one step (chunked prefill size).")
    ] = None,
    gpu_memory_utilization: Annotated[float | None, typer.Option(help="0 to 1; default by engine version.")] = None,
    enforce_eager: Annotated[bool, typer.Option(help="No graphs.")] = False,
    block_size: Annotated[int | None, typer.Option(help="Tokens per KV block.")] = None,
    kv_cache_memory_bytes: Annotated[
        int | None, typer.Option(help="KV cache per GPU, bytes; skips the profile arithmetic.")
    ] = None,
    speculative_tokens: Annotated[int, typer.Option(min=0, help="Speculative tokens per step.")] = 0,
    engine_version: Annotated[str, typer.Option(help="vLLM version; any text with a version in it.")] = "0.33.0",
    users: Annotated[
        int | None, typer.Option(min=1, help="With --context: how many GPUs for so many users at once.")
    ] = None,
    context: Annotated[int | None, typer.Option(min=1, help="Usual tokens of a request (prompt and answer).")] = None,
    ttft: Annotated[float | None, typer.Option(min=0.001, help="Wanted time to first token, seconds.")] = None,
    sweep: Annotated[bool, typer.Option(help="Compare quantisations x KV precision x TP/PP x context.")] = False,
    plot: Annotated[Path | None, typer.Option(help="With --sweep: write a .svg, .html or .png plot.")] = None,
    explain: Annotated[
        Path | None, typer.Option(help="A start-up log: where the memory went, how far the plan was off.")
    ] = None,
    start: Annotated[
        int | None, typer.Option(metavar="N", help="Which start of the log --explain reads; else the last.")
    ] = None,
    node: Annotated[
        str | None, typer.Option(help="Snapshot or tree (- for this machine): GPU, count and topology.")
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            metavar="MODE", help="Compute partitions of the part: DPX, QPX, CPX; ranks then count partitions."
        ),
    ] = None,
    fragmentation: Annotated[
        str | None,
        typer.Option(
            help="Simulate allocators: chat, long, mixed, lognormal:PROMPT,SIGMA,OUTPUT,SIGMA or a trace file."
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
) -> None:
    """Plan memory: what fits, which flags, and how sure that is."""
    import msgspec

    from rocsteady.cli.plan_inputs import gpu_of_node, model_of, write_json
    from rocsteady.model import InputError
    from rocsteady.plan.budget import Request, budget_of

    if users is not None and context is None:
        raise InputError("--users needs --context: the usual number of tokens of a request")
    if start is not None and explain is None:
        raise InputError("--start needs --explain")
    if plot is not None and not sweep:
        raise InputError("--plot needs --sweep")
    topology = None
    if node is not None:
        gpu, gpu_mem_gib, topology = gpu_of_node(node, gpu, gpu_mem_gib)
    if explain is not None and (model is None or gpu is None):
        from rocsteady.plan.explain import fill_from_log

        model, gpu, gpu_mem_gib = fill_from_log(explain, model, gpu, gpu_mem_gib, start)
    if model is None:
        raise InputError("--model is missing: a config.json, a checkpoint directory or a name of the catalog")
    if gpu is None:
        raise InputError("--gpu is missing: a part like MI300X, or any text with --gpu-mem-gib")
    if partition is not None:
        from rocsteady.cli.plan_inputs import split_gpu

        if node is not None:
            raise InputError("--partition: the node of --node has its own partition mode")
        gpu_mem_gib, topology = split_gpu(partition, gpu, gpu_mem_gib, max(1, tp) * max(1, pp) * max(1, dp))
    found = model_of(model)
    request = Request(
        model=found.name, config=found.config, weight_bytes=found.weight_bytes, gpu=gpu, gpu_mem_gib=gpu_mem_gib, tp=tp, pp=pp,
        dp=dp, ep=ep, dtype=dtype, quantization=quantization, kv_cache_dtype=kv_cache_dtype, max_model_len=max_model_len,
        max_num_seqs=max_num_seqs, max_num_batched_tokens=max_num_batched_tokens,
        gpu_memory_utilization=gpu_memory_utilization, enforce_eager=enforce_eager, block_size=block_size,
        kv_cache_memory_bytes=kv_cache_memory_bytes, speculative_tokens=speculative_tokens, engine_version=engine_version,
    )  # fmt: skip
    if fragmentation is not None:
        from rocsteady.plan.fragmentation import report as fragmentation_report
        from rocsteady.plan.fragmentation import simulate

        outcome = simulate(budget_of(request), fragmentation)
        if format is Format.json:
            write_json(outcome)
        else:
            sys.stdout.write(fragmentation_report(outcome))
        raise typer.Exit(0)
    if sweep:
        from rocsteady.plan.sweep import run_sweep, table
        from rocsteady.plan.sweep_plot import write_plot

        result = run_sweep(request)
        if plot is not None:
            write_plot(result, plot)
        if format is Format.json:
            write_json(result)
        else:
            sys.stdout.write(table(result))
        raise typer.Exit(0 if any(r.fits for r in result.rows) else 1)
    if explain is not None:
        from rocsteady.plan.explain import explain_log, render_explanation

        explanation = explain_log(request, explain, start)
        if format is Format.json:
            write_json(explanation)
        else:
            sys.stdout.write(render_explanation(explanation))
        raise typer.Exit(0)
    from rocsteady.plan.layout import place
    from rocsteady.plan.planner import describe
    from rocsteady.plan.tuning import tune

    budget = budget_of(request)
    document = describe(budget, place(budget, topology))
    document = msgspec.structs.replace(document, tuning=tune(budget, users, context, ttft))
    extra: dict[str, object] = {}
    if users is not None and context is not None:
        from rocsteady.plan.reverse import gpus_for

        extra["users"] = gpus_for(request, users, context)
    if format is Format.json:
        write_json({**msgspec.to_builtins(document), **extra})
    else:
        from rocsteady.plan.report import render

        sys.stdout.write(render(document, extra.get("users")))
    raise typer.Exit(0 if document.fits else 1)
