"""The command line. Each command lives in a module of its own and imports what is heavy inside."""

from __future__ import annotations

import typer

from rocsteady.cli import (
    alerts_command,
    bench_command,
    catalog_command,
    compat_command,
    config_command,
    cpu_worker_command,
    demo_command,
    diagnose_command,
    exporter_command,
    forecast_command,
    gateway_command,
    heal_command,
    lab_command,
    metrics_command,
    plan_command,
    port_command,
    snapshot_command,
)

app = typer.Typer(
    name="rocsteady",
    help="Keeps LLM inference on AMD GPUs up: finds what broke a node, and says why.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
diagnose_command.register(app)
snapshot_command.register(app)
catalog_command.register(app)
compat_command.register(app)
plan_command.register(app)
lab_command.register(app)
exporter_command.register(app)
metrics_command.register(app)
alerts_command.register(app)
forecast_command.register(app)
demo_command.register(app)
config_command.register(app)
port_command.register(app)
gateway_command.register(app)
cpu_worker_command.register(app)
heal_command.register(app)
bench_command.register(app)


@app.callback()
def root() -> None:
    """Keeps LLM inference on AMD GPUs up: finds what broke a node, and says why."""
