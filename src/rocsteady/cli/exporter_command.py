"""``rocsteady exporter``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

LISTEN = "127.0.0.1:9945"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "exporter",
        epilog="Examples:\n\n  rocsteady exporter\n\n  rocsteady exporter --root ./node --once\n\n"
        "  rocsteady exporter --listen 0.0.0.0:9945 --tls-cert node.crt --tls-key node.key --token-file /etc/rocsteady/token",
    )(exporter)


def exporter(
    root: Annotated[Path, typer.Option(metavar="DIR", help="Root of the node: / , a mounted /host, or a tree.")] = Path(
        "/"
    ),
    once: Annotated[bool, typer.Option("--once", help="Print one scrape on standard output and end.")] = False,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to serve on.")] = LISTEN,
    collector: Annotated[
        list[str] | None, typer.Option("--collector", metavar="NAME", help="Run only these collectors (repeatable).")
    ] = None,
    no_collector: Annotated[
        list[str] | None, typer.Option("--no-collector", metavar="NAME", help="Leave a collector out (repeatable).")
    ] = None,
    deadline: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a scrape waits for its collectors.")
    ] = 4.0,
) -> None:
    """Serve the metrics of this node's GPUs and host, and the health of each GPU."""
    from rocsteady.exporter.exporter import Exporter, Options
    from rocsteady.model import InputError

    if not root.is_dir():
        raise InputError(f"--root {root}: not a directory")
    options = Options(root=root, only=tuple(collector or ()), without=tuple(no_collector or ()), deadline=deadline)
    made = Exporter(options)
    if once:
        sys.stdout.write(made.scrape())
        made.close()
        return
    raise InputError(f"serving on {listen} is not built yet; use --once")
