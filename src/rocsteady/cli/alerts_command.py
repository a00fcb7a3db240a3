"""``rocsteady alerts write|list|thresholds|check``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Threshold file; start from 'rocsteady alerts thresholds'."),
]


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        help="Prometheus rules for AMD GPUs, with their unit tests.",
        no_args_is_help=True,
        epilog="Examples:\n\n  rocsteady alerts write ./alerts\n\n  rocsteady alerts thresholds > thresholds.toml\n\n"
        "  rocsteady alerts write ./alerts --config thresholds.toml",
    )
    group.command(
        "write",
        epilog="Examples:\n\n  rocsteady alerts write ./alerts\n\n"
        "  rocsteady alerts write ./alerts --config thresholds.toml\n\n"
        "  rocsteady plan ... --format json > plan.json; rocsteady alerts write ./alerts --plan plan.json\n\n"
        "  promtool test rules ./alerts/tests/*.yml",
    )(write)
    group.command("list", epilog="Example:\n\n  rocsteady alerts list --format json")(list_rules)
    group.command("thresholds", epilog="Example:\n\n  rocsteady alerts thresholds > thresholds.toml")(print_thresholds)
    group.command(
        "check",
        epilog="Examples:\n\n  rocsteady alerts check thresholds.toml\n\n  rocsteady alerts check my.rules.yml",
    )(check)
    app.add_typer(group, name="alerts")


def write(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New, empty, or written by this command before.")],
    config: Config = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Take memory, KV cache and admission limits from a memory plan."),
    ] = None,
) -> None:
    """Write rules and their promtool tests, Alertmanager's routes and Grafana dashboards."""
    from rocsteady.alerts.settings import load_settings
    from rocsteady.alerts.write import write as write_all

    settings = load_settings(config, plan)
    written = write_all(directory, settings)
    sys.stdout.write(f"{directory}: {len(settings.rules)} alert rules, {len(written)} files\n")


def list_rules(
    config: Config = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
) -> None:
    """List every rule with its severity, thresholds and failure mode."""
    import msgspec

    from rocsteady.alerts.report import document, text
    from rocsteady.alerts.settings import load_settings

    settings = load_settings(config)
    if format is Format.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document(settings)), indent=1).decode() + "\n")
        return
    sys.stdout.write(text(settings))


def print_thresholds() -> None:
    """Print the threshold file with every default, how well founded it is and where it comes from."""
    from rocsteady.alerts.settings import default_file

    sys.stdout.write(default_file())


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A threshold file (.toml) or Prometheus rules (YAML).")],
) -> None:
    """Check a threshold file, or that rules name only metrics and labels that exist and say what to do."""
    from rocsteady.alerts.check import check_rules, read_text
    from rocsteady.alerts.settings import load_settings
    from rocsteady.model import InputError

    if file.suffix == ".toml":
        settings = load_settings(file)
        changed = sum(1 for choice in settings.rules if choice.changed)
        sys.stdout.write(f"{file}: valid, {len(settings.rules)} rules on, {changed} with other numbers\n")
        return
    try:
        problems = check_rules(read_text(file))
    except InputError as error:
        raise InputError(str(error) if str(file) in str(error) else f"{file}: {error}") from error
    for problem in problems:
        sys.stdout.write(f"{file}: {problem}\n")
    if problems:
        raise typer.Exit(1)
    sys.stdout.write(f"{file}: nothing wrong\n")
