"""``rocsteady diagnose``."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


EPILOG = """Examples:

  rocsteady diagnose

  rocsteady diagnose node.tar.zst

  rocsteady diagnose dmesg.txt vllm.log env.txt --format json

  journalctl -k | rocsteady diagnose -
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diagnose", epilog=EPILOG)(diagnose)


def diagnose(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="Snapshot, sosreport, archive, directory, log files, or - for standard input. Without INPUT: this machine.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
    root: Annotated[Path | None, typer.Option(help="Read a tree as if it were this machine.")] = None,
) -> None:
    """Find the root cause, with the lines it rests on."""
    import msgspec

    from rocsteady.catalog import load_catalog
    from rocsteady.cli.gather import diagnose_input
    from rocsteady.hostfs import open_inputs

    sources = open_inputs(inputs or [], sys.stdin.buffer, root)
    catalog = load_catalog()
    answers = [diagnose_input(s, catalog, time.time()) for s in sources]
    if format is Format.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(answers[0]), indent=1).decode() + "\n")
    else:
        for answer in answers:
            for f in answer.findings:
                sys.stdout.write(f"{f.role} {f.severity} {f.title}\n  {f.cause}\n")
            sys.stdout.write(f"verdict {answer.verdict}\n")
    raise typer.Exit(1 if any(a.verdict in ("failing", "at-risk") for a in answers) else 0)
