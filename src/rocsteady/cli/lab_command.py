"""``rocsteady lab shapes|write|run|inject|clear``."""

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
        epilog="Examples:\n\n  rocsteady lab shapes\n\n  rocsteady lab write mi300x8 ./node\n\n  rocsteady diagnose --root ./node\n\n"
        "  rocsteady lab run mi300x8 ./live --scenario ras-ue",
    )
    group.command("shapes", epilog="Example:\n\n  rocsteady lab shapes --format json")(shapes)
    group.command(
        "write",
        epilog="Examples:\n\n  rocsteady lab write mi210x4 ./node --seed 7\n\n"
        "  rocsteady lab write mi300x8 ./node --gpu-metrics 1.8\n\n"
        "  rocsteady lab write mi210x4 ./node --scenario night-crash",
    )(write)
    group.command(
        "run",
        epilog="Examples:\n\n  rocsteady lab run mi300x8 ./live\n\n"
        "  rocsteady lab run mi300x8 ./live --scenario xgmi-crc-storm --gpu 3 --speed 10\n\n"
        "  rocsteady lab run mi210x4 ./live --scenario thermal-throttle --duration 600 --speed 60",
    )(run)
    group.command("inject", epilog="Example:\n\n  rocsteady lab inject ./live ras-ue --gpu 2")(inject)
    group.command("clear", epilog="Example:\n\n  rocsteady lab clear ./live ras-ue")(clear)
    app.add_typer(group, name="lab")


def shapes(format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text) -> None:
    """List the shapes that can be written, and the scenarios."""
    import msgspec

    from rocsteady.lab import SCENARIOS, SHAPES
    from rocsteady.lab.live import living_scenarios

    living = living_scenarios().values()
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
            "living": [
                {
                    "name": s.name, "text": s.text, "shapes": [x.name for x in SHAPES.values() if s.fits(x)],
                    "planted": list(s.planted), "state": s.state,
                }
                for s in living
            ],
        }  # fmt: skip
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n")
        return
    width = max(len(name) for name in SHAPES)
    for shape in SHAPES.values():
        sys.stdout.write(f"{shape.name:<{width}}  {shape.text}\n")
    sys.stdout.write("\nscenarios of lab write:\n")
    for scenario in SCENARIOS.values():
        sys.stdout.write(f"{scenario.name:<{width}}  {scenario.text}\n")
    sys.stdout.write("\nscenarios of lab run:\n")
    width = max(len(one.name) for one in living)
    for one in living:
        sys.stdout.write(f"{one.name:<{width}}  {one.text}\n")


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


def run(
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="One of 'rocsteady lab shapes'.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty directory.")],
    scenario: Annotated[str, typer.Option(help="What goes wrong; 'healthy' for nothing.")] = "healthy",
    speed: Annotated[float, typer.Option(metavar="X", help="Simulated seconds per second.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same course.")] = 0,
    duration: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Simulated seconds to run; without it until Ctrl-C.")
    ] = None,
    gpu: Annotated[int | None, typer.Option(metavar="N", help="The GPU that it happens to, from 0.")] = None,
    delay: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Simulated seconds of health before the fault.")
    ] = None,
    gpu_metrics: Annotated[
        str | None, typer.Option("--gpu-metrics", metavar="VERSION", help="Version of the gpu_metrics table, e.g. 1.8.")
    ] = None,
    engine_port: Annotated[
        int | None,
        typer.Option("--engine-port", metavar="PORT", help="Serve the engine's /metrics on this loopback port."),
    ] = None,
    near_wrap: Annotated[
        bool, typer.Option("--near-wrap", help="32-bit counters of the tables wrap within minutes.")
    ] = False,
    processes: Annotated[int, typer.Option(metavar="N", help="So many more processes hold the GPUs open.")] = 0,
) -> None:
    """Write a synthetic node and keep it alive: values move, counters count, faults happen."""
    import signal
    import time

    from rocsteady.lab.live import LivingNode
    from rocsteady.lab.live.crowd import MOST as MOST_PROCESSES
    from rocsteady.lab.live.metrics_server import check_port, serving
    from rocsteady.lab.live.run import play_on
    from rocsteady.model import InputError

    for name, value in (("speed", speed), ("duration", duration)):
        if value is not None and not 0 < value < float("inf"):
            raise InputError(f"--{name} {value}: above 0 was wanted")
    if delay is not None and not 0 <= delay < float("inf"):
        raise InputError(f"--delay {delay}: 0 or more was wanted")
    if not 0 <= processes <= MOST_PROCESSES:
        raise InputError(f"--processes {processes}: 0 to {MOST_PROCESSES} was wanted")
    if engine_port is not None and not 0 < engine_port < 65536:
        raise InputError(f"--engine-port {engine_port}: 1 to 65535 was wanted")
    if engine_port is not None:
        check_port(engine_port)
    node = LivingNode(
        shape, directory, scenario, seed, gpu=gpu, delay=delay, gpu_metrics=gpu_metrics, start=time.time(),
        port=engine_port, near_wrap=near_wrap, processes=processes,
    )  # fmt: skip

    def tell(text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tell(f"{directory}: a living {shape} node, scenario {scenario}; Ctrl-C ends it, the tree stays")
        with serving(node.engine, engine_port):
            play_on(node, speed, duration, told=tell)
    except KeyboardInterrupt:
        tell("ended")
    finally:
        node.close()


def inject(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a running lab.")],
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="What goes wrong now.")],
    gpu: Annotated[int | None, typer.Option(metavar="N", help="The GPU that it happens to, from 0.")] = None,
) -> None:
    """Put a fault into a lab that runs."""
    from rocsteady.lab.live import living_scenarios
    from rocsteady.lab.live.control import order
    from rocsteady.model import InputError

    if scenario not in living_scenarios():
        raise InputError(f"scenario {scenario!r}: one of {', '.join(living_scenarios())}")
    order(directory, scenario if gpu is None else f"{scenario} gpu={gpu}")


def clear(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a running lab.")],
    scenario: Annotated[str | None, typer.Argument(metavar="SCENARIO", help="All where none is named.")] = None,
) -> None:
    """End a fault in a lab that runs."""
    from rocsteady.lab.live.control import order

    order(directory, "clear" if scenario is None else f"clear {scenario}")
