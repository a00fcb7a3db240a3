"""``rocsteady compat``."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


EPILOG = """Examples:

  rocsteady compat                                     what this machine has

  rocsteady compat node.tar.zst --rocm 7.2.1           a snapshot, moved to ROCm 7.2.1

  rocsteady compat --os "CentOS 8.5" --kernel 4.18.0-348 --rocm 5.7.1 --gpu gfx90a

Exit code: 0 nothing unsupported, 1 some pair is unsupported, 2 bad usage.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compat", epilog=EPILOG)(compat)


def compat(
    inputs: Annotated[list[str] | None, typer.Argument(metavar="[INPUT]...", help="As for diagnose.")] = None,
    os: Annotated[str | None, typer.Option(help='Operating system, e.g. "Ubuntu 22.04.5".')] = None,
    kernel: Annotated[str | None, typer.Option(help="Kernel release.")] = None,
    driver: Annotated[str | None, typer.Option(help="amdgpu driver release, e.g. 6.12.12 or 30.10.")] = None,
    rocm: Annotated[str | None, typer.Option(help="ROCm user space.")] = None,
    gpu: Annotated[str | None, typer.Option(help="GPU: part or target, e.g. MI300X or gfx942.")] = None,
    pytorch: Annotated[str | None, typer.Option(help="PyTorch version.")] = None,
    vllm: Annotated[str | None, typer.Option(help="vLLM version.")] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
) -> None:
    """Say whether OS, kernel, driver, ROCm, GPU, PyTorch and engine go together, and what to move to.

    Options replace what was read. With options and no INPUT nothing is read.
    """
    import msgspec

    from rocsteady.catalog import compatibility, knowledge
    from rocsteady.cli.combination import combination_of, target_of
    from rocsteady.cli.gather import gather_all
    from rocsteady.hostfs import open_inputs

    named = {"os": os, "kernel": kernel, "driver": driver, "rocm": rocm, "pytorch": pytorch, "vllm": vllm}
    given = {k: v for k, v in named.items() if v is not None}
    if gpu is not None:
        given["gfx"] = target_of(gpu)
    read = compatibility.Combination()
    if inputs or not given:
        node = gather_all(open_inputs(inputs or [], sys.stdin.buffer), time.time())[0]
        read = combination_of(node.facts)
    combination = msgspec.structs.replace(read, **given)
    rows = compatibility.check(combination, knowledge.compat())
    if format is Format.json:
        raw = {"schema": "rocsteady.compat/1", "combination": combination, "rows": rows}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(raw), indent=1).decode() + "\n")
    else:
        for row in rows:
            sys.stdout.write(f"{row.status:12} {row.pair}: {row.says}\n")
            if row.move_to and row.status != "supported":
                sys.stdout.write(f"{'':12} move to: {row.move_to}\n")
            if row.source:
                sys.stdout.write(f"{'':12} {row.source}\n")
    raise typer.Exit(1 if any(r.status == "unsupported" for r in rows) else 0)
