"""``rocsteady cpu-worker``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rocsteady.cpu_worker.executor import Executor

LISTEN = "127.0.0.1:8090"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "cpu-worker",
        epilog="Examples:\n\n  rocsteady cpu-worker --model ./qwen-0.5b-int4\n\n"
        "  rocsteady cpu-worker --model ./qwen-0.5b --export-python .venv-vllm/bin/python\n\n"
        "  rocsteady cpu-worker --model ./model.gguf --name small\n\n"
        "  rocsteady cpu-worker --vllm http://127.0.0.1:8000",
    )(cpu_worker)


def cpu_worker(
    model: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Exported ONNX folder, checkpoint folder (exported first), or GGUF file."),
    ] = None,
    vllm: Annotated[str | None, typer.Option(metavar="URL", help="A vLLM on the CPU of this machine, instead.")] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name that clients ask for (default: the folder's).")
    ] = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to serve on.")] = LISTEN,
    max_output_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of an answer.")] = 256,
    concurrency: Annotated[int, typer.Option(min=1, help="Answers at a time.")] = 1,
    max_waiting: Annotated[int, typer.Option(min=0, help="Requests that may wait; more get 429.")] = 16,
    max_model_gib: Annotated[float, typer.Option(min=0, help="Largest model on disk, GiB.")] = 8.0,
    context: Annotated[int, typer.Option(min=16, help="Context of a GGUF model, tokens.")] = 4096,
    export_python: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Python with torch, transformers, onnxruntime-genai.")
    ] = None,
    export_precision: Annotated[str, typer.Option(metavar="int4|fp32", help="Precision of the export.")] = "int4",
    export_to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the export goes (default: beside the model).")
    ] = None,
    export_only: Annotated[bool, typer.Option("--export-only", help="Export and end.")] = False,
) -> None:
    """Serve a small model on the CPU: the last rung of the gateway's ladder."""
    from rocsteady.model import InputError

    if (model is None) == (vllm is None):
        raise InputError("either --model or --vllm is needed")
    try:
        from rocsteady.cpu_worker.server import CpuWorker, Limits
    except ImportError as error:
        raise InputError(f"serving needs {error.name}: pip install 'rocsteady[cpu]'") from None
    from rocsteady.cli.serving import parse_listen
    from rocsteady.cpu_worker.listening import run

    host, port = parse_listen(listen)
    if model is not None:
        model = exported(model, export_python, export_precision, export_to)
        if export_only:
            sys.stdout.write(f"{model}\n")
            return
    limits = Limits(
        output_tokens=max_output_tokens, concurrency=concurrency, waiting=max_waiting, model_gib=max_model_gib
    )
    worker = CpuWorker(executor(model, vllm, name, context), limits)
    about = worker.engine.executor.about
    run(worker, host, port, lambda url: say(f"serving {about.model} ({about.runtime}, {about.precision}) on {url}"))


def exported(model: Path, python: Path | None, precision: str, target: Path | None) -> Path:
    """The path that a runtime can open; a checkpoint is exported first."""
    from rocsteady.cpu_worker.export import PYTHON_VARIABLE, default_python, export, needs_export
    from rocsteady.model import InputError

    if model.suffix == ".gguf" or not needs_export(model):
        return model
    target = target or model.with_name(f"{model.resolve().name}-{precision}")
    if target.exists() and not needs_export(target):
        return target
    python = python or default_python()
    if python is None:
        raise InputError(
            f"{model} has to be exported, which needs a Python with torch: --export-python, or {PYTHON_VARIABLE} "
            "(tools/vllm_env.sh makes one)"
        )
    say(f"exporting {model} to {target} ({precision})")
    return export(model, target, python, precision)


def executor(model: Path | None, vllm: str | None, name: str | None, context: int) -> Executor:
    """The runtime that fits what was given."""
    if vllm is not None:
        from rocsteady.cpu_worker.vllm_http import VllmExecutor

        return VllmExecutor(vllm)
    assert model is not None
    name = name or model.resolve().stem if model.suffix == ".gguf" else name or model.resolve().name
    if model.suffix == ".gguf":
        from rocsteady.cpu_worker.llama_cpp import LlamaCppExecutor

        return LlamaCppExecutor(model, name, context, None)
    from rocsteady.cpu_worker.genai import GenaiExecutor

    return GenaiExecutor(model, name)


def say(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
