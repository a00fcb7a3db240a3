"""``rocsteady forecast``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rocsteady.alerts.forecast.prometheus import Server as Prometheus
    from rocsteady.alerts.forecast.report import Document
    from rocsteady.alerts.forecast.signals import Signal, Worse
    from rocsteady.alerts.forecast.watch import Watched

LISTEN = "127.0.0.1:9946"
EPILOG = """Examples:

  rocsteady forecast --prometheus http://localhost:9090 --signal ttft_p95 --slo 2s

  rocsteady forecast --prometheus http://localhost:9090 --signal tpot_p99 --match 'model_name="llama"' --slo 50ms

  rocsteady forecast --prometheus http://localhost:9090 --query 'max(my_latency_seconds)' --unit seconds --slo 800ms

  rocsteady forecast latency.csv --unit seconds --slo 2s --now newest --format json

  rocsteady forecast --prometheus http://localhost:9090 --signal ttft_p95=2s --signal kv_cache=95% --serve

Exit code: 0 no breach expected, 1 a breach is expected or there, 2 no forecast (bad input, or a series that allows none).
"""


class Format(StrEnum):
    """Output formats; ``metrics`` is the Prometheus text format."""

    text = "text"
    json = "json"
    metrics = "metrics"


class FileForm(StrEnum):
    """Forms of a file."""

    csv = "csv"
    jsonl = "jsonl"
    openmetrics = "openmetrics"
    prometheus = "prometheus"


class UnitName(StrEnum):
    """Units of a signal."""

    seconds = "seconds"
    bytes = "bytes"
    ratio = "ratio"
    none = "none"


class Side(StrEnum):
    """The bad side of an objective."""

    above = "above"
    below = "below"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forecast", epilog=EPILOG)(forecast)


def forecast(
    file: Annotated[
        Path | None, typer.Argument(help="Series: CSV, JSON lines, OpenMetrics with timestamps, a saved query_range.")
    ] = None,
    prometheus: Annotated[str | None, typer.Option(metavar="URL", help="Prometheus to ask.")] = None,
    signal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=SLO]",
            help="ttft, tpot, itl, e2e, queue with _p50 to _p99; kv_cache, gpu_memory, host_memory (repeatable).",
        ),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="PROMQL", help="A query of your own that gives one series.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the series of a file or query.")] = None,
    engine: Annotated[str, typer.Option(help="Whose histograms --signal means: vllm, sglang.")] = "vllm",
    match: Annotated[str, typer.Option(metavar="MATCHERS", help="Label matchers for --signal.")] = "",
    slo: Annotated[str | None, typer.Option(help="Objective: 2s, 500ms, 12GiB, 90%.")] = None,
    breach: Annotated[
        Side | None, typer.Option(help="Bad side of the objective; above unless the signal says below.")
    ] = None,
    unit: Annotated[UnitName, typer.Option(help="Unit of a file's or query's values.")] = UnitName.none,
    step: Annotated[
        str | None, typer.Option(help="Distance of the points; a file: found out, Prometheus: 60s.")
    ] = None,
    horizon: Annotated[str | None, typer.Option(help="How far ahead; 15 steps unless given.")] = None,
    history: Annotated[str, typer.Option(help="How far back Prometheus is asked, at most 1440 steps.")] = "24h",
    now: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="For a file: clock (an old series is refused), or newest (its age does not matter)."
        ),
    ] = "clock",
    column: Annotated[str | None, typer.Option(help="Column, key or series of the values in a file.")] = None,
    input_format: Annotated[FileForm | None, typer.Option(help="Form of the file; guessed unless given.")] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
    serve: Annotated[bool, typer.Option("--serve", help="Keep on forecasting and serve metrics and JSON.")] = False,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address of --serve.")] = LISTEN,
    refit: Annotated[str, typer.Option(help="With --serve: time between two choices of the method.")] = "30m",
    token_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Bearer token for Prometheus.")] = None,
    serve_token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --serve: ask for this bearer token (all but /healthz).")
    ] = None,
) -> None:
    """Forecast a latency or memory with a 95 % band, and when it crosses its objective.

    ARIMA, the baselines (last value, seasonal naive, line, ETS) and analogues forecast from every past moment; their
    errors on the series itself decide what is used, and are shown. A series that allows no forecast gets the reason.
    """
    from rocsteady.model import InputError

    try:
        import numpy  # noqa: F401
        import scipy  # noqa: F401
        import statsmodels  # noqa: F401
    except ImportError as error:
        raise InputError(f"forecast needs {error.name}: pip install 'rocsteady[forecast]'") from None
    if (file is None) == (prometheus is None):
        raise InputError("a FILE or --prometheus URL was wanted, and one of them only")
    if file is not None:
        if serve or signal or query:
            raise InputError("--serve, --signal and --query go with --prometheus, not with a FILE")
        results = [
            _from_file(file, input_format, column, step, horizon, now, _named(name or file.stem, unit, breach, slo))
        ]
        _write(results, format)
    watched = _watched(
        prometheus or "",
        signal,
        query,
        name,
        engine,
        match,
        slo,
        breach,
        unit,
        step,
        horizon,
        history,
        refit,
        token_file,
    )
    if serve:
        _serve(watched, listen, serve_token_file)
        return
    from rocsteady.alerts.forecast.watch import Watch

    _write([Watch(each).look(time.time()) for each in watched], format)


def _named(name: str, unit: UnitName, breach: Side | None, slo: str | None) -> Signal:
    from rocsteady.alerts.forecast.signals import Signal, quantity

    objective = None if slo is None else quantity(slo, unit.value, "--slo")
    side: Worse = "below" if breach is Side.below else "above"
    return Signal(name=name, unit=unit.value, worse=side, objective=objective)


def _from_file(
    file: Path,
    form: FileForm | None,
    column: str | None,
    step: str | None,
    horizon: str | None,
    now: str,
    signal: Signal,
) -> Document:
    from rocsteady.alerts.forecast.files import read_points
    from rocsteady.alerts.forecast.limits import limits
    from rocsteady.alerts.forecast.series import Refusal, regular
    from rocsteady.alerts.forecast.signals import duration
    from rocsteady.model import InputError

    if now not in ("clock", "newest"):
        raise InputError(f"--now {now!r}: clock or newest")
    points = read_points(file, form.value if form else None, column)
    apart = duration(step, "--step") if step else None

    from rocsteady.alerts.forecast.forecaster import fit  # statsmodels takes a second: after what may be wrong
    from rocsteady.alerts.forecast.report import document, refused

    clock = time.time()
    series = regular(points, apart, int(limits().most_points.value))
    if isinstance(series, Refusal):
        return refused(signal, str(file), series, clock)
    steps = _steps(horizon, series.step)
    made = fit(series, signal, steps, clock if now == "clock" else None)
    if isinstance(made, Refusal):
        hint = "; --now newest forecasts from there all the same" if made.reason == "stale" else ""
        return refused(signal, str(file), Refusal(made.reason, made.text + hint), clock, series)
    return document(made, str(file), clock)


def _steps(horizon: str | None, step: float) -> int:
    from rocsteady.alerts.forecast.signals import duration
    from rocsteady.model import InputError

    if horizon is None:
        return 15
    steps = round(duration(horizon, "--horizon") / step)
    if not 1 <= steps <= 240:
        raise InputError(f"--horizon {horizon}: {steps} steps of {step:g} s; 1 to 240 are possible")
    return steps


def _watched(
    url: str, signal: list[str] | None, query: str | None, name: str | None, engine: str, match: str, slo: str | None,
    breach: Side | None, unit: UnitName, step: str | None, horizon: str | None, history: str, refit: str, token_file: Path | None,
) -> list[Watched]:  # fmt: skip
    from rocsteady.alerts.forecast.limits import limits
    from rocsteady.alerts.forecast.presets import preset
    from rocsteady.alerts.forecast.prometheus import Server, checked
    from rocsteady.alerts.forecast.signals import Signal, duration, quantity
    from rocsteady.cli.serving import read_token
    from rocsteady.model import InputError

    if bool(signal) == (query is not None):
        raise InputError("--signal or --query was wanted, and one of them only")
    if signal and len(signal) > 1 and slo is not None:
        raise InputError("--slo fits one signal; of several write --signal ttft_p95=2s")
    server = Server(url=checked(url), token=read_token(token_file) if token_file else None)
    apart = duration(step, "--step") if step else 60.0
    back = min(duration(history, "--history"), limits().most_points.value * apart)
    steps, again = _steps(horizon, apart), duration(refit, "--refit")
    pairs: list[tuple[Signal, str]] = []
    for each in signal or []:
        called, _, wanted = each.partition("=")
        found = preset(called, engine, match, f"{max(300, round(4 * apart))}s")
        text = wanted or slo
        objective = quantity(text, found.unit, f"--signal {each}" if wanted else "--slo") if text else None
        side = breach.value if breach else found.worse
        pairs.append((Signal(name=called, unit=found.unit, worse=side, objective=objective), found.query))
    if query is not None:
        pairs.append((_named(name or "query", unit, breach, slo), query))
    if len({made.name for made, _ in pairs}) < len(pairs):
        raise InputError("--signal: each name once")

    from rocsteady.alerts.forecast.watch import Watched  # statsmodels takes a second: after what may be wrong

    return [
        Watched(
            signal=made, source=f"{server.url} {text}", fetch=_fetch(server, text, apart), step=apart, history=back,
            horizon=steps, refit=again,
        )
        for made, text in pairs
    ]  # fmt: skip


def _fetch(server: Prometheus, query: str, step: float) -> _Fetch:
    return _Fetch(server, query, step)


class _Fetch:
    """Asks Prometheus for a range of one query."""

    def __init__(self, server: Prometheus, query: str, step: float) -> None:
        self._server, self._query, self._step = server, query, step

    def __call__(self, start: float, end: float) -> Sequence[tuple[float, float]]:
        from rocsteady.alerts.forecast.prometheus import query_range

        return query_range(self._server, self._query, start, end, self._step)


def _document(results: Sequence[Document]) -> str:
    """One document, or several under ``forecasts``."""
    import msgspec

    raw: object = results[0]
    if len(results) > 1:
        raw = {"schema": "rocsteady.forecasts/1", "forecasts": list(results)}
    return msgspec.json.format(msgspec.json.encode(raw), indent=1).decode() + "\n"


def _metrics(results: Sequence[Document], now: float) -> str:
    from rocsteady.alerts.forecast.samples import Samples, add
    from rocsteady.exporter.exposition import TextWriter

    samples: Samples = {}
    for result in results:
        add(samples, result, now)
    return TextWriter().text(samples)


def _write(results: Sequence[Document], format: Format) -> None:
    """Print, and end with the exit code that the results ask for."""
    from rocsteady.alerts.forecast.report import text

    if format is Format.json:
        sys.stdout.write(_document(results))
    elif format is Format.metrics:
        sys.stdout.write(_metrics(results, time.time()))
    else:
        sys.stdout.write("\n".join(text(result) for result in results if result.refusal is None))
    refusals = [result for result in results if result.refusal is not None]
    for result in refusals:
        assert result.refusal is not None
        sys.stderr.write(
            f"rocsteady: {result.signal}: no forecast ({result.refusal.reason}): {' '.join(result.refusal.text.split())}\n"
        )
    if refusals:
        raise SystemExit(2)
    crossing = any(result.breach is not None and result.breach.expected_seconds is not None for result in results)
    raise SystemExit(1 if crossing else 0)


def _serve(watched: Sequence[Watched], listen: str, token_file: Path | None) -> None:
    """Look at each signal once a step until interrupted."""
    import signal as signals
    import threading

    from rocsteady.alerts.forecast.server import Server
    from rocsteady.alerts.forecast.watch import Watch
    from rocsteady.cli.serving import parse_listen, print_ready, read_token
    from rocsteady.exporter.exposition import CONTENT_TYPE

    host, port = parse_listen(listen)
    watches = [Watch(each) for each in watched]
    end = threading.Event()
    for number in (signals.SIGINT, signals.SIGTERM):
        signals.signal(number, lambda *_: end.set())

    def results() -> list[Document]:
        return [watch.result for watch in watches if watch.result is not None]

    def health() -> tuple[str, bytes]:
        return "application/json", b'{"status": "ok"}\n'

    def metrics() -> tuple[str, bytes]:
        return CONTENT_TYPE, _metrics(results(), time.time()).encode()

    def forecasts() -> tuple[str, bytes]:
        import msgspec

        return "application/json", msgspec.json.encode({"schema": "rocsteady.forecasts/1", "forecasts": results()})

    pages = {"/metrics": metrics, "/v1/forecast": forecasts, "/healthz": health}
    server = Server(host, port, pages, read_token(token_file) if token_file else None)
    print_ready(server.url)
    try:
        while not end.is_set():
            for watch in watches:
                watch.look(time.time())
            end.wait(min(each.step for each in watched))
    finally:
        server.close()
