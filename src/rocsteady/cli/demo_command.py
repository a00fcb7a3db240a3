"""``rocsteady demo``: a crash on a synthetic node, diagnosed."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from rocsteady.cli.diagnose_command import Format, write

EPILOG = """Examples:

  rocsteady demo

  rocsteady demo --format json

  rocsteady demo --keep ./night-crash"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=EPILOG)(demo)


def demo(
    scenario: Annotated[str, typer.Option(help="One of 'rocsteady lab shapes'.")] = "night-crash",
    seed: Annotated[int, typer.Option(help="Same seed, same node.")] = 0,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Leave the node's tree in this new directory.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
) -> None:
    """Write a synthetic node with a planted fault, diagnose it, and say whether the fault was found first."""
    from rocsteady.lab import SCENARIOS
    from rocsteady.model import InputError

    if scenario not in SCENARIOS:
        raise InputError(f"scenario {scenario!r}: one of {', '.join(SCENARIOS)}")
    if keep is not None:
        found = _play(scenario, seed, keep, format)
    else:
        with tempfile.TemporaryDirectory(prefix="rocsteady-demo-") as folder:
            found = _play(scenario, seed, Path(folder), format)
    raise typer.Exit(0 if found else 1)


def _play(scenario: str, seed: int, folder: Path, format: Format) -> bool:
    from rocsteady.catalog import load_catalog
    from rocsteady.cli.gather import gather, judge
    from rocsteady.hostfs import open_inputs
    from rocsteady.lab import SCENARIOS, SHAPES, build_node, play

    script = SCENARIOS[scenario]
    node = build_node(SHAPES[script.shape], seed)
    play(node, script)
    node.tree.write(folder)
    now = time.time()
    (source,) = open_inputs([], sys.stdin.buffer, folder)
    read = gather(source, now)
    answer = judge(read, load_catalog(), now)
    first = answer.findings[0].slug if answer.findings else None
    if format is Format.text:
        sys.stdout.write(f"A synthetic node ({script.shape}): {script.text}.\n\n")
    write([(f"synthetic {script.shape}", answer)], format, None, False)
    if format is Format.text:
        verdict = "named first" if first == script.planted else f"NOT named first (that is {first})"
        sys.stdout.write(f"\nPlanted cause: {script.planted}: {verdict}.\n")
    return first == script.planted
