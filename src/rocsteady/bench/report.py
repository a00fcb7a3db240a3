"""A run, a soak, a comparison: as text for people. The JSON is made from the same objects."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rocsteady.bench.compare import Difference
from rocsteady.bench.mtbf import Soak
from rocsteady.bench.references import references, rows_for
from rocsteady.bench.samples import Run
from rocsteady.bench.summary import Spread, Summary

MIB = 1 << 20
COLOURS = {"better": "green", "worse": "red"}


def run_text(run: Run, figures: Summary, precision: str | None, price: float | None) -> list[RenderableType]:
    """One run."""
    out: list[RenderableType] = [
        Text(f"{run.model} at {run.target} ({run.endpoint}), {run.load}, lengths {run.lengths or '?'}, {run.started}"),
        Text(f"steady window {figures.seconds:.1f} s, {figures.requests} requests, {figures.good} answered whole"),
    ]
    if figures.success is not None and figures.success_interval is not None:
        low, high = figures.success_interval
        out.append(Text(f"success {figures.success:.4%} (95 % interval {low:.3%} to {high:.3%})"))
    for kind, count in figures.failures.items():
        out.append(Text(f"  failed: {count} {kind}", style="red"))
    out += [_times(figures), *(Text(line) for line in _rates(figures, price))]
    if figures.stages:
        out.append(Text("stages: " + ", ".join(f"{name} {count}" for name, count in figures.stages.items())))
    out += [Text(f"note: {note}", style="yellow") for note in figures.notes]
    return out + _references(run.model, precision)


def _times(figures: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("time, ms", "mean", "P50", "P90", "P95", "P99", "largest", "samples"):
        table.add_column(head, justify="left" if head == "time, ms" else "right")
    rows: tuple[tuple[str, Spread | None], ...] = (
        ("first token (TTFT)", figures.ttft), ("per output token (TPOT)", figures.tpot),
        ("between tokens (ITL)", figures.itl), ("whole request (E2E)", figures.e2e),
    )  # fmt: skip
    for name, times in rows:
        if times is None:
            table.add_row(name, *["-"] * 7)
        else:
            values = (times.mean, times.p50, times.p90, times.p95, times.p99, times.largest)
            table.add_row(name, *(f"{value * 1000:.1f}" for value in values), str(times.count))
    return table


def _rates(figures: Summary, price: float | None) -> list[str]:
    lines = []
    if figures.requests_per_second is not None:
        lines.append(f"{figures.requests_per_second:.2f} requests/s answered")
    if figures.output_tokens_per_second is not None:
        lines.append(f"{figures.output_tokens_per_second:.1f} output tokens/s")
        if price is not None and figures.output_tokens_per_second > 0:
            cost = price / 3600 / figures.output_tokens_per_second * 1e6
            lines.append(f"{cost:.3f} per million output tokens at {price:g} per hour")
    elif figures.output_tokens_unknown:
        lines.append(f"output tokens/s unknown: the server counted none in {figures.output_tokens_unknown} answers")
    if figures.goodput is not None and figures.goodput_share is not None:
        lines.append(f"goodput {figures.goodput:.2f} requests/s within the objective ({figures.goodput_share:.2%})")
    if figures.tokens_per_joule is not None:
        above = figures.tokens_per_joule_above_idle
        lines.append(
            f"{figures.tokens_per_joule:.3f} output tokens/J of the GPUs"
            + (f", {above:.3f} above idle" if above is not None else "")
        )
    elif figures.energy_why != "no energy counter was named":
        lines.append(f"tokens per joule unknown: {figures.energy_why}")
    return lines


def _references(model: str, precision: str | None) -> list[RenderableType]:
    same, others = rows_for(model, precision)
    if not same and not others:
        return []
    out: list[RenderableType] = [
        Text(f"published for this model, {precision or 'precision not stated (--precision)'}:", style="bold")
    ]
    for row in same or others:
        out.append(
            Text(
                f"  {row.system}: {row.tokens_per_second:,.0f} tokens/s, {row.precision}, {row.scenario}, {row.round}"
                f" ({row.grade})" + ("" if same else " - another precision or unstated: not to be compared")
            )
        )
    return out


def soak_text(found: Soak) -> list[RenderableType]:
    """Incidents and what follows from them."""
    low, high = found.mtbf_interval
    hours = found.seconds / 3600
    lines = [f"observed {hours:.2f} h, {found.requests} requests, {found.failed} failed by the service"]
    if found.mtbf is None:
        lines.append(f"no incident: mean time between failures above {low / 3600:.2f} h (95 %, one-sided)")
    else:
        until = "" if high is None else f" to {high / 3600:.2f}"
        lines.append(
            f"{len(found.incidents)} incidents, mean time between failures {found.mtbf / 3600:.2f} h "
            f"(95 % interval {low / 3600:.2f}{until} h)"
        )
    if found.recovery_median is not None and found.recovery_largest is not None:
        lines.append(f"recovery: median {found.recovery_median:.1f} s, longest {found.recovery_largest:.1f} s")
    lines.append(f"out of memory: {found.out_of_memory}")
    for name, growth in (("GPU memory", found.gpu_growth), ("host memory of the engine", found.host_growth)):
        if growth is None:
            lines.append(f"{name}: growth unknown (fewer than 10 readings; --watch URL of an exporter)")
        else:
            middle, least, most = (value / MIB for value in growth)
            lines.append(f"{name}: {middle:+.2f} MiB/h (95 % interval {least:+.2f} to {most:+.2f})")
    for incident in found.incidents:
        kinds = ", ".join(f"{count} {kind}" for kind, count in incident.kinds.items())
        recovery = "not recovered" if incident.recovery is None else f"recovered after {incident.recovery:.1f} s"
        lines.append(f"  at {incident.start:.1f} s: {incident.failed} failed ({kinds}), {recovery}")
    return [Text(line) for line in lines]


def difference_text(found: Sequence[Difference]) -> list[RenderableType]:
    """A comparison."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("figure", "before", "after", "change", "95 % interval", "verdict"):
        table.add_column(head, justify="left" if head in ("figure", "verdict") else "right")
    for row in found:
        scale, digits = (1000, 1) if row.name.partition("_")[0] in ("ttft", "tpot", "e2e") else (1, 4)
        values = ["-" if value is None else f"{value * scale:.{digits}f}" for value in (row.before, row.after)]
        interval = "-" if row.interval is None else f"{row.interval[0]:+.1%} to {row.interval[1]:+.1%}"
        table.add_row(
            row.name, *values, "-" if row.change is None else f"{row.change:+.1%}", interval,
            Text(row.verdict, style=COLOURS.get(row.verdict, "")),
        )  # fmt: skip
    return [table, Text("times in ms; success is a share, its change in points")]


def references_text() -> list[RenderableType]:
    """All published rows."""
    known = references()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("model", "system", "precision", "scenario", "tokens/s", "tokens/J", "round", "grade"):
        table.add_column(head, justify="right" if head.startswith("tokens") else "left")
    for row in known.rows:
        table.add_row(
            row.model, row.system, row.precision, row.scenario, f"{row.tokens_per_second:,.1f}",
            "-" if row.tokens_per_joule is None else f"{row.tokens_per_joule:g}", row.round, row.grade,
        )  # fmt: skip
    return [table, Text(f"read {known.retrieved}. {known.missing}")]
