"""``rocsteady gateway``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "gateway",
        epilog="Examples:\n\n  rocsteady gateway --config gateway.toml --check\n\n"
        "  rocsteady gateway --config gateway.toml\n\n"
        "  kill -HUP PID    # read the configuration again, without losing a request",
    )(gateway)


def gateway(
    config: Annotated[Path, typer.Option("--config", metavar="FILE", help="Configuration (TOML).")],
    check: Annotated[bool, typer.Option("--check", help="Say whether the configuration can be used, and end.")] = False,
    child: Annotated[str, typer.Option("--child", hidden=True)] = "",
) -> None:
    """Serve one OpenAI-compatible endpoint over many workers, steered by the health of their GPUs."""
    from rocsteady.model import InputError

    try:
        import aiohttp  # noqa: F401
    except ImportError:
        raise InputError("the gateway needs aiohttp: pip install 'rocsteady[gateway]'") from None
    if check:
        sys.stdout.write(describe(config))
        return
    from rocsteady.gateway import supervisor

    if child:
        supervisor.run_child(config, child, say)
    else:
        supervisor.run(config, say)


def describe(path: Path) -> str:
    """One line about a valid configuration.

    Raises:
        InputError: it cannot be used; the message names the key.
    """
    from rocsteady.gateway.admission_rules import admission_of
    from rocsteady.gateway.config import keys, load, load_workers, read_secret
    from rocsteady.gateway.listening import listen, tls

    config = load(path)
    keys(config)
    admission_of(config, path)
    listen(config)
    tls(config.tls_cert, config.tls_key)
    for secret in (config.admin_token_file, *(w.token_file for w in config.worker)):
        if secret:
            read_secret(secret)
    workers = list(config.worker)
    for source in config.source:
        if source.kind == "file":
            workers += load_workers(Path(source.path))
    models = sorted({worker.model for worker in workers} | {s.model for s in config.source if s.model})
    names = ", ".join(models) or "none yet"
    count = len(workers)
    return f"{path}: valid, {count} worker{'' if count == 1 else 's'}, {len(config.source)} sources, models: {names}\n"


def say(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
