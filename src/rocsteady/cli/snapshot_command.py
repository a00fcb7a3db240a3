"""``rocsteady snapshot``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

EPILOG = """Examples:

  rocsteady snapshot -o node.tar.zst

  rocsteady snapshot --list

  rocsteady snapshot -o node.tar.zst --log vllm --log /srv/logs/engine.log
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("snapshot", epilog=EPILOG)(snapshot)


def snapshot(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write: .tar.zst, .tar.gz or .tar.")
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Show what would be taken, and take nothing.")] = False,
    log: Annotated[
        list[str] | None, typer.Option("--log", metavar="NAME", help="Add a log: container name or file. Repeatable.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Replace names, addresses, serial numbers and secrets.")
    ] = True,
    root: Annotated[Path, typer.Option(help="Take a tree as if it were this machine.")] = Path("/"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Capture this node for a diagnosis elsewhere. Reads only; needs no root."""
    from rocsteady.events import wanted as event_wanted
    from rocsteady.facts import wanted as fact_wanted
    from rocsteady.hostfs.capture import Wanted, summary
    from rocsteady.hostfs.snapshot import plan_snapshot, write_snapshot
    from rocsteady.model import InputError

    wanted = Wanted(fact_wanted.FILES, event_wanted.LOGS, (*fact_wanted.COMMANDS, *event_wanted.COMMANDS))
    names = tuple(log or ())
    if list_only:
        for kind, what in plan_snapshot(root, wanted, names):
            sys.stdout.write(f"{kind:<8} {what}\n")
        return
    if output is None:
        raise InputError("--output FILE is needed (or --list)")
    manifest = write_snapshot(output, root, wanted, names, redact, None if quiet else _say)
    for line in summary(manifest, str(output)):
        sys.stderr.write(f"{line}\n")


def _say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
