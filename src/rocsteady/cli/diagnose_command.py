"""``rocsteady diagnose``."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rocsteady.model import Diagnosis


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"
    html = "html"


EPILOG = """Examples:

  rocsteady diagnose                                   this machine

  rocsteady diagnose node.tar.zst                      a snapshot

  rocsteady diagnose sosreport-node1.tar.xz --format html -o report.html

  rocsteady diagnose dmesg.txt vllm.log env.txt        loose files, by content

  journalctl -k | rocsteady diagnose -                 standard input

Exit code: 0 nothing above info, 1 problems found, 2 no readable input or bad usage.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diagnose", epilog=EPILOG)(diagnose)


def diagnose(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="Snapshot, sosreport, archive, directory, log files, or - for standard input. "
            "Without INPUT: this machine. Inputs that name different hosts are different nodes.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the report to this file.")] = None,
    root: Annotated[Path | None, typer.Option(help="Read this tree as if it were the machine.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only events since then: 2h, 30m, 7d, or 2026-11-30 or 2026-11-30T03:00 (UTC).")
    ] = None,
    boot: Annotated[
        int | None, typer.Option(help="Only events of one boot: 0 the last in the logs, -1 the one before.")
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option(help="Folder with failure modes of your own, beside the built-in ones.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Configuration file (rocsteady.toml).")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="All evidence, gaps and unexplained lines.")] = False,
) -> None:
    """Find the root cause of what broke a node, with the lines it rests on."""
    from rocsteady.catalog import load_catalog
    from rocsteady.cli.config import load_config
    from rocsteady.cli.gather import Window, gather_all, judge
    from rocsteady.cli.moments import moment
    from rocsteady.hostfs import open_inputs
    from rocsteady.model import InputError

    now = time.time()
    window = Window(None if since is None else moment(since, now), boot)
    settings, _ = load_config(config)
    folder = catalog or (Path(settings.catalog.directory) if settings.catalog.directory else None)
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    if root is not None and inputs:
        raise InputError("--root replaces INPUT: give one of them")
    sources = open_inputs(inputs or [], sys.stdin.buffer, root)
    known = load_catalog(folder)
    answers = [(node.label, judge(node, known, now, settings.suppress, window)) for node in gather_all(sources, now)]
    write(answers, format, output, verbose)
    loud = any(a.verdict in ("failing", "at-risk") for _, a in answers)
    raise typer.Exit(1 if loud else 0)


def write(answers: list[tuple[str, Diagnosis]], format: Format, output: Path | None, verbose: bool) -> None:
    """Write all answers in one format, to a file or standard output."""
    from rocsteady.cli.output import document, print_text, write_text

    if format is Format.json:
        write_text(document([a for _, a in answers]), output)
    elif format is Format.html:
        from rocsteady import __version__
        from rocsteady.diagnose.report_html import html

        write_text(html(answers, __version__), output)
    else:
        from rocsteady.diagnose.report import render

        print_text([render(a, label, verbose) for label, a in answers], output)
