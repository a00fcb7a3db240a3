"""``rocsteady config check`` and ``config example``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = """\
# rocsteady.toml: looked for at $ROCSTEADY_CONFIG, ./rocsteady.toml,
# $XDG_CONFIG_HOME/rocsteady/rocsteady.toml and /etc/rocsteady/rocsteady.toml; the first found is used.

[catalog]
# A folder with failure modes of your own (same form as the built-in ones).
# directory = "/etc/rocsteady/modes"

# A finding you know about. mode: id or slug; subject: shell pattern; reason and expires are required.
# [[suppress]]
# mode = "PCIE-0003"
# subject = "0000:c1:00.0"
# reason = "riser swap planned, ticket 4711"
# expires = 2027-01-31
"""


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(help="Look at the configuration.", no_args_is_help=True)
    group.command(
        "check", epilog="Example:\n\n  rocsteady config check rocsteady.toml\n\n  rocsteady config check heal.toml"
    )(check)
    group.command("example", epilog="Example:\n\n  rocsteady config example > rocsteady.toml")(example)
    app.add_typer(group, name="config")


def check(
    file: Annotated[Path | None, typer.Argument(help="File to check; without it the one that would be used.")] = None,
) -> None:
    """Say which file is used and whether it is valid: keys, names of failure modes, suppressions that ended."""
    from datetime import UTC, datetime

    if file is not None and file.name.startswith("heal"):
        from rocsteady.cli.heal_command import check as check_heal

        check_heal(file)
        return

    from rocsteady.catalog import load_catalog
    from rocsteady.cli.config import candidates, load_config
    from rocsteady.model import InputError

    if file is not None and _of_gateway(file):
        from rocsteady.cli.gateway_command import describe

        sys.stdout.write(describe(file))
        return
    if file is not None and _is_thresholds(file):
        from rocsteady.cli.alerts_command import check as check_thresholds

        check_thresholds(file)
        return
    config, used = load_config(file)
    if used is None:
        import os

        places = ", ".join(map(str, candidates(dict(os.environ))))
        sys.stdout.write(f"no configuration file (looked at {places}); defaults are used\n")
        return
    folder = Path(config.catalog.directory) if config.catalog.directory else None
    if folder is not None and not folder.is_dir():
        raise InputError(f"{used}: catalog.directory: {folder}: no such directory")
    known = load_catalog(folder)
    names = {name for mode in known.modes.values() for name in (mode.id, mode.slug, *mode.aliases)}
    strangers = [s.mode for s in config.suppress if s.mode not in names]
    if strangers:
        raise InputError(f"{used}: suppress: no failure mode is called {', '.join(map(repr, strangers))}")
    today = datetime.now(UTC).date()
    count = len(config.suppress)
    sys.stdout.write(f"{used}: valid, {count} suppression{'' if count == 1 else 's'}\n")
    for entry in config.suppress:
        if entry.expires < today:
            sys.stdout.write(f"expired {entry.expires}, hides nothing: {entry.mode} ({entry.reason})\n")


def _of_gateway(file: Path) -> bool:
    """Whether a file is the configuration of a gateway: it names workers or where to find them."""
    import tomllib

    try:
        keys = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    workers = keys.get("worker")
    if not isinstance(workers, list):
        return "listen" in keys and "source" in keys
    return all(isinstance(worker, dict) and "executor" not in worker for worker in workers)


def _is_thresholds(file: Path) -> bool:
    """Whether it is a threshold file of the alerts: those have ``[rules.ID]``."""
    import tomllib

    try:
        return "rules" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def example() -> None:
    """Print a commented configuration file."""
    sys.stdout.write(EXAMPLE)
