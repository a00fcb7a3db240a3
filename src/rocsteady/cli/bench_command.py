"""``rocsteady bench``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocsteady.bench.lengths import Ask
    from rocsteady.bench.samples import Run, Sample
    from rocsteady.bench.summary import Objective

bench = typer.Typer(no_args_is_help=True, help="Load an OpenAI endpoint, and compare what came out.")


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


class FileFormat(StrEnum):
    """Formats of saved runs."""

    rocsteady = "rocsteady"
    vllm = "vllm"
    guidellm = "guidellm"


class Endpoint(StrEnum):
    """Endpoints."""

    completions = "completions"
    chat = "chat"


FORMAT = Annotated[Format, typer.Option("--format", help="How to print.")]
TTFT = Annotated[float | None, typer.Option("--slo-ttft", metavar="SECONDS", help="First token within, for goodput.")]
TPOT = Annotated[float | None, typer.Option("--slo-tpot", metavar="SECONDS", help="Time per output token within.")]
E2E = Annotated[float | None, typer.Option("--slo-e2e", metavar="SECONDS", help="Whole request within.")]
PRECISION = Annotated[
    str | None, typer.Option(metavar="NAME", help="Precision served (fp8, bf16, ...), for references.")
]
PRICE = Annotated[float | None, typer.Option("--price-per-hour", metavar="MONEY", help="Price of the system, for cost per token.")]  # fmt: skip
QUIET = Annotated[float, typer.Option(metavar="SECONDS", help="Seconds of good answers that end an incident.")]
INPUT = Annotated[Path, typer.Argument(metavar="RUN", help="A saved run (ours, vllm bench serve's or guidellm's).")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(bench, name="bench")


@bench.command(
    epilog="Examples:\n\n  rocsteady bench run http://127.0.0.1:8000 --load poisson:4 --seconds 120 --warmup 20 -o run.json\n\n"
    "  rocsteady bench run http://127.0.0.1:8000 --load users:32 --input 512 --output-tokens 128 --fixed-output\n\n"
    "  rocsteady bench run http://127.0.0.1:8000 --requests-from trace.jsonl --load trace:2 --slo-ttft 1 --slo-tpot 0.05\n\n"
    "  rocsteady bench run http://127.0.0.1:8000 --load poisson:2 --energy http://127.0.0.1:9945/metrics --idle 30\n\n"
    "Exit code: 0 all requests were answered whole, 1 some failed, 2 the run could not be made."
)
def run(
    url: Annotated[str, typer.Argument(metavar="URL", help="Base address, such as http://127.0.0.1:8000.")],
    model: Annotated[str | None, typer.Option(help="Model name; else the first that the server names.")] = None,
    endpoint: Annotated[Endpoint, typer.Option(help="Which endpoint.")] = Endpoint.completions,
    load: Annotated[
        str,
        typer.Option(
            metavar="LOAD", help="poisson:RATE, constant:RATE (open loop), users:N (closed loop), trace[:SPEED]."
        ),
    ] = "poisson:1",
    seconds: Annotated[float, typer.Option(help="How long requests are started.")] = 60.0,
    warmup: Annotated[float, typer.Option(help="Seconds at the start that are not counted.")] = 0.0,
    requests: Annotated[int | None, typer.Option(help="At most so many requests.")] = None,
    lengths: Annotated[
        str | None, typer.Option(metavar="NAME", help="sharegpt-like or alpaca-like, for both lengths.")
    ] = None,
    input_tokens: Annotated[
        str,
        typer.Option("--input", metavar="LENGTHS", help="Prompt: N, uniform:LOW-HIGH, lognormal:MEAN,SIGMA[,MOST]."),
    ] = "512",
    output_tokens: Annotated[str, typer.Option("--output-tokens", metavar="LENGTHS", help="Answer, as above.")] = "128",
    requests_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trace (JSON lines, Azure CSV) or ShareGPT conversations.")
    ] = None,
    fixed_output: Annotated[
        bool, typer.Option("--fixed-output", help="Ask for exactly that many tokens (vLLM, SGLang).")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of lengths and arrivals.")] = 0,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="API key in a file.")] = None,
    first_token_timeout: Annotated[float, typer.Option(metavar="SECONDS")] = 60.0,
    between_timeout: Annotated[float, typer.Option(metavar="SECONDS")] = 30.0,
    total_timeout: Annotated[float, typer.Option(metavar="SECONDS")] = 600.0,
    energy: Annotated[
        str | None, typer.Option(metavar="URL", help="/metrics of the node's exporter, for tokens per joule.")
    ] = None,
    idle: Annotated[float, typer.Option(metavar="SECONDS", help="Measure idle power so long before the load.")] = 0.0,
    watch: Annotated[
        str | None, typer.Option(metavar="URL", help="/metrics of an exporter, for the growth of memory.")
    ] = None,
    fact: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Said of the system and kept with the run.")
    ] = None,
    precision: PRECISION = None,
    price_per_hour: PRICE = None,
    slo_ttft: TTFT = None,
    slo_tpot: TPOT = None,
    slo_e2e: E2E = None,
    soak: Annotated[
        bool, typer.Option("--soak", help="Report incidents, time between failures and growth of memory too.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Save the run with its raw samples.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw it.")] = None,
    form: FORMAT = Format.text,
) -> None:
    """Load an endpoint and report. Latency counts from when a request was due, not from when it could be sent."""
    import asyncio
    import random

    from rocsteady.bench.arrivals import parse_load
    from rocsteady.bench.load import Plan
    from rocsteady.model import InputError

    try:
        from rocsteady.bench.client import Target
        from rocsteady.bench.session import Session, first_model, perform
    except ImportError as error:
        raise InputError(f"load needs {error.name}: pip install 'rocsteady[bench]'") from None
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: http://HOST:PORT was wanted")
    for path in (output, plot):
        if path is not None and not path.parent.is_dir():
            raise InputError(f"{path}: no such directory")
    plan = Plan(load=parse_load(load), seconds=seconds, warmup=warmup, requests=requests).checked()
    rng = random.Random(seed)
    asks, said = _asks(requests_from, lengths, input_tokens, output_tokens, rng, trace=plan.load.kind == "trace")
    key = _key(key_file)
    facts = dict(_fact(text) for text in fact or ())
    if precision:
        facts["precision"] = precision

    async def whole() -> Run:
        target = Target(
            url=url, model=model or await first_model(url, key), endpoint=endpoint.value, key=key,
            first_token=first_token_timeout, between=between_timeout, total=total_timeout, fixed_output=fixed_output,
        )  # fmt: skip
        session = Session(
            plan=plan, target=target, lengths=said, seed=seed, energy=energy, idle=idle, watch=watch, facts=facts
        )
        return await _until_stopped(asyncio.create_task(perform(session, asks, rng, _progress(seconds))))

    found = asyncio.run(whole())
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    _save(found, output, "rocsteady")
    _draw(found, plot)
    figures = _report(found, _objective(slo_ttft, slo_tpot, slo_e2e), precision, price_per_hour, form, soak=soak)
    raise typer.Exit(0 if figures.good == figures.requests and figures.requests else 1)


@bench.command(epilog="Example:\n\n  rocsteady bench show run.json --slo-ttft 0.5 --plot run.svg")
def show(
    path: INPUT,
    slo_ttft: TTFT = None,
    slo_tpot: TPOT = None,
    slo_e2e: E2E = None,
    precision: PRECISION = None,
    price_per_hour: PRICE = None,
    soak: Annotated[bool, typer.Option("--soak", help="Incidents, time between failures, growth of memory.")] = False,
    quiet: QUIET = 10.0,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw it.")] = None,
    form: FORMAT = Format.text,
) -> None:
    """Report a saved run again, with other limits."""
    found = _one(path)
    _draw(found, plot)
    objective = _objective(slo_ttft, slo_tpot, slo_e2e)
    _report(found, objective, precision or found.facts.get("precision"), price_per_hour, form, soak=soak, quiet=quiet)


@bench.command(
    epilog="Example:\n\n  rocsteady bench compare before.json after.json\n\nExit code 1: something got worse."
)
def compare(before: INPUT, after: INPUT, form: FORMAT = Format.text) -> None:
    """Compare two runs. A difference counts only where its 95 % interval leaves zero out."""
    import msgspec

    from rocsteady.bench.compare import compare as compared
    from rocsteady.bench.report import difference_text
    from rocsteady.cli.output import print_text

    found = compared(_one(before), _one(after))
    if form is Format.json:
        _json({"schema": "rocsteady.bench-comparison/1", "differences": msgspec.to_builtins(found)})
    else:
        print_text(difference_text(found))
    raise typer.Exit(1 if any(row.verdict == "worse" for row in found) else 0)


@bench.command(epilog="Example:\n\n  rocsteady bench convert guidellm.json --to vllm -o vllm.json")
def convert(
    path: INPUT,
    to: Annotated[FileFormat, typer.Option(help="Format to write.")] = FileFormat.rocsteady,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to; else standard output.")
    ] = None,
) -> None:
    """Turn a saved run into the format of another tool."""
    from rocsteady.bench.formats import write_as
    from rocsteady.cli.output import write_text

    write_text(write_as(_one(path), to.value), output)


@bench.command("references", epilog="Example:\n\n  rocsteady bench references")
def references_command(form: FORMAT = Format.text) -> None:
    """Published figures, with their precision and source."""
    import msgspec

    from rocsteady.bench.references import references
    from rocsteady.bench.report import references_text
    from rocsteady.cli.output import print_text

    if form is Format.json:
        _json({"schema": "rocsteady.bench-references/1", **msgspec.to_builtins(references())})
    else:
        print_text(references_text())


def _asks(
    path: Path | None, lengths: str | None, inputs: str, outputs: str, rng: Any, *, trace: bool
) -> tuple[Iterator[Ask], str]:
    import itertools

    from rocsteady.bench.lengths import PRESETS, parse_distribution, read_requests, synthetic
    from rocsteady.model import InputError

    if path is not None:
        found = read_requests(path, rng)
        if trace and found[0].at is None:
            raise InputError(f"{path}: its requests have no times, which --load trace needs")
        return (iter(found) if trace else itertools.cycle(found)), f"from {path.name}"
    if trace:
        raise InputError("--load trace: --requests-from FILE was wanted too")
    if lengths is not None:
        if lengths not in PRESETS:
            raise InputError(f"--lengths {lengths}: one of {', '.join(PRESETS)}")
        inputs, outputs = PRESETS[lengths]
    drawn = parse_distribution(inputs, "--input"), parse_distribution(outputs, "--output-tokens")
    return synthetic(*drawn, rng), f"{inputs} in, {outputs} out (synthetic)"


def _key(path: Path | None) -> str | None:
    from rocsteady.cli.serving import read_token

    return None if path is None else read_token(path)


def _fact(text: str) -> tuple[str, str]:
    from rocsteady.model import InputError

    key, equals, value = text.partition("=")
    if not key or not equals:
        raise InputError(f"--fact {text}: KEY=VALUE was wanted")
    return key, value


async def _until_stopped(task: Any) -> Run:
    """The run; the first SIGINT or SIGTERM ends the load and keeps what is there."""
    import asyncio
    import contextlib
    import signal

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(number, task.cancel)
    result: Run = await task
    return result


def _progress(seconds: float) -> Any:
    """A line on a terminal's standard error, at most five times a second."""
    import time

    counts = [0, 0]
    shown = [0.0]

    def done(sample: Sample) -> None:
        counts[0 if sample.good else 1] += 1
        now = time.monotonic()
        if sys.stderr.isatty() and now - shown[0] > 0.2:
            shown[0] = now
            sys.stderr.write(f"\r\x1b[K{min(sample.ended, seconds):.0f} of {seconds:.0f} s: {counts[0]} answered, {counts[1]} failed")  # fmt: skip
            sys.stderr.flush()

    return done


def _objective(ttft: float | None, tpot: float | None, e2e: float | None) -> Objective | None:
    from rocsteady.bench.summary import Objective

    return None if ttft is None and tpot is None and e2e is None else Objective(ttft=ttft, tpot=tpot, e2e=e2e)


def _report(
    found: Run, objective: Objective | None, precision: str | None, price: float | None, form: Format, *,
    soak: bool, quiet: float = 10.0,
) -> Any:  # fmt: skip
    import msgspec

    from rocsteady.bench.mtbf import soak as soaked
    from rocsteady.bench.references import rows_for
    from rocsteady.bench.report import run_text, soak_text
    from rocsteady.bench.summary import summarise
    from rocsteady.cli.output import print_text

    figures = summarise(found, objective)
    endurance = soaked(found, quiet) if soak else None
    if form is Format.json:
        same, _ = rows_for(found.model, precision)
        _json(
            {
                "schema": "rocsteady.bench/1", "started": found.started, "target": found.target, "model": found.model,
                "load": found.load, "lengths": found.lengths, "seed": found.seed, "facts": found.facts,
                "summary": msgspec.to_builtins(figures), "soak": msgspec.to_builtins(endurance),
                "references": msgspec.to_builtins(same),
            }
        )  # fmt: skip
    else:
        print_text(run_text(found, figures, precision, price) + (soak_text(endurance) if endurance else []))
    return figures


def _one(path: Path) -> Run:
    from rocsteady.bench.formats import read_any
    from rocsteady.model import InputError

    runs = read_any(path)
    if len(runs) != 1:
        raise InputError(f"{path}: {len(runs)} runs in it; one was wanted")
    return runs[0]


def _save(found: Run, path: Path | None, form: str) -> None:
    from rocsteady.bench.formats import write_as
    from rocsteady.cli.output import write_text

    if path is not None:
        write_text(write_as(found, form), path)


def _draw(found: Run, path: Path | None) -> None:
    from rocsteady.bench.plots import picture
    from rocsteady.cli.output import write_text

    if path is not None:
        write_text(picture(found), path)


def _json(document: object) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n")
