"""``rocsteady lab shapes|write``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        help="Synthetic nodes: trees to try everything on without hardware.",
        no_args_is_help=True,
        epilog="Examples:\n\n  rocsteady lab shapes\n\n  rocsteady lab write mi300x8 ./node\n\n  rocsteady diagnose --root ./node",
    )
    group.command("shapes", epilog="Example:\n\n  rocsteady lab shapes --format json")(shapes)
    group.command(
        "write",
        epilog="Examples:\n\n  rocsteady lab write mi210x4 ./node --seed 7\n\n"
        "  rocsteady lab write mi300x8 ./node --gpu-metrics 1.8\n\n"
        "  rocsteady lab write mi210x4 ./node --scenario night-crash",
    )(write)
    app.add_typer(group, name="lab")


def shapes(format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text) -> None:
    """List the shapes that can be written, and the scenarios."""
    import msgspec

    from rocsteady.lab import SCENARIOS, SHAPES

    if format is Format.json:
        document = {
            "schema": "rocsteady.lab-shapes/1",
            "shapes": [
                {
                    "name": s.name, "text": s.text, "gpus": len(s.buses), "partitions": len(s.buses) * s.partitions,
                    "part": s.part.market_name if s.part else None, "nics": len(s.nics),
                }
                for s in SHAPES.values()
            ],
            "scenarios": [{"name": s.name, "shape": s.shape, "text": s.text} for s in SCENARIOS.values()],
        }  # fmt: skip
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n")
        return
    width = max(len(name) for name in SHAPES)
    for shape in SHAPES.values():
        sys.stdout.write(f"{shape.name:<{width}}  {shape.text}\n")
    sys.stdout.write("\nscenarios:\n")
    for scenario in SCENARIOS.values():
        sys.stdout.write(f"{scenario.name:<{width}}  {scenario.text}\n")


def write(
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="One of 'rocsteady lab shapes'.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty directory.")],
    seed: Annotated[int, typer.Option(help="Same seed, same tree.")] = 0,
    gpu_metrics: Annotated[
        str | None, typer.Option("--gpu-metrics", metavar="VERSION", help="Version of the gpu_metrics table, e.g. 1.8.")
    ] = None,
    scenario: Annotated[str | None, typer.Option(help="Play a fault into the logs and counters.")] = None,
) -> None:
    """Write the tree of one synthetic node."""
    from rocsteady.lab import SCENARIOS, SHAPES, build_node, play
    from rocsteady.model import InputError

    if shape not in SHAPES:
        raise InputError(f"shape {shape!r}: one of {', '.join(SHAPES)}")
    if scenario is not None and scenario not in SCENARIOS:
        raise InputError(f"scenario {scenario!r}: one of {', '.join(SCENARIOS)}")
    node = build_node(SHAPES[shape], seed, gpu_metrics)
    if scenario is not None:
        play(node, SCENARIOS[scenario])
    node.tree.write(directory)
    sys.stdout.write(f"{directory}: {len(node.tree.files)} files of a synthetic {shape} node\n")
