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
    model_dir: Annotated[
        list[Path] | None,
        typer.Option("--model-dir", metavar="DIR", help="Watch the disk of this directory (repeatable)."),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            metavar="URL|none",
            help="/metrics of an engine on this machine, loopback only (repeatable). Engines whose processes are found "
            "here are asked anyway; 'none' asks nobody.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Serve HTTPS with this certificate.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.")] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="Ask for this bearer token (all but /healthz).")
    ] = None,
) -> None:
    """Serve the metrics of this node's GPUs and host, and the health of each GPU."""
    from rocsteady.cli.serving import parse_listen, print_ready, read_token
    from rocsteady.exporter.exporter import Exporter, Options
    from rocsteady.model import InputError

    if not root.is_dir():
        raise InputError(f"--root {root}: not a directory")
    options = Options(
        root=root, only=tuple(collector or ()), without=tuple(no_collector or ()), deadline=deadline,
        model_dirs=tuple(model_dir or ()), engines=tuple(url for url in engine or () if url != "none"),
        find_engines="none" not in (engine or ()),
    )  # fmt: skip
    made = Exporter(options)
    if once:
        sys.stdout.write(made.scrape())
        sys.stdout.flush()
        made.close()
        return
    try:
        from rocsteady.exporter.server import Serving, run
    except ImportError as error:
        raise InputError(f"serving needs {error.name}: pip install 'rocsteady[agent]'") from None
    host, port = parse_listen(listen)
    token = read_token(token_file) if token_file is not None else None
    serving = Serving(host=host, port=port, certificate=tls_cert, key=tls_key, token=token)
    run(made, serving, print_ready)
