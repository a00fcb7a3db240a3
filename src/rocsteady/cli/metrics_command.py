"""``rocsteady metrics list``."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(help="What the exporter measures.", no_args_is_help=True)
    group.command("list", epilog="Example:\n\n  rocsteady metrics list --format json")(list_metrics)
    app.add_typer(group, name="metrics")


def list_metrics(
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
) -> None:
    """List every metric with its kind, unit, labels and source."""
    import msgspec

    from rocsteady.metrics import METRICS
    from rocsteady.metrics.pages import as_dict

    if format is Format.json:
        document = {"schema": "rocsteady.metrics/1", "metrics": [as_dict(metric) for metric in METRICS]}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n")
        return
    for metric in METRICS:
        labels = f"{{{', '.join(metric.labels)}}}" if metric.labels else ""
        sys.stdout.write(f"{metric.full_name}{labels}\n    {metric.kind}, {metric.unit}. {metric.help}\n")
        sys.stdout.write(f"    from {metric.source}\n")
