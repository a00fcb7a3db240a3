"""Scrapes of simulated time, played to the real Prometheus: which alert would have fired, and when.

Scrapes are written as OpenMetrics, ``promtool tsdb create-blocks-from openmetrics`` makes blocks of them, Prometheus
loads the blocks, and each rule's expression is asked for over the whole time. ``for`` is applied here: an alert fires
when its series has been there at every step for that long.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from rocsteady.alerts.generate import expression_of, recorded
from rocsteady.alerts.load import recordings
from rocsteady.alerts.promql import names
from rocsteady.alerts.settings import Settings
from rocsteady.drill.monitoring import LOOPBACK, free_port, prometheus
from rocsteady.metrics.external import UP
from rocsteady.model import InputError

REPEAT = 20.0
"""A value that does not change is written this often: a third of the shortest window of a rule, a minute."""
RETENTION = "20y"
PATIENCE = 600.0
RANGE = re.compile(r"\[([0-9a-z]+)\]")


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that fired: its rule, labels, and seconds since 1970 at which it began to."""

    rule: str
    alert: str
    severity: str
    labels: dict[str, str]
    at: float


class Recorder:
    """Writes scrapes as OpenMetrics with times; use it in a ``with`` block."""

    def __init__(self, file: Path, settings: Settings, instance: str) -> None:
        self._wanted = used_metrics(settings)
        self._target = f'instance="{instance}",job="{settings.general.job}"'
        self._file = file.open("w", encoding="utf-8")
        self._last: dict[str, tuple[str, float]] = {}
        self.samples = 0

    def add(self, text: str, at: float) -> None:
        """One scrape, taken at ``at`` seconds since 1970."""
        for line in (*text.splitlines(), f"{UP.name} 1"):
            if line.startswith("#"):
                continue
            series, _, value = line.rpartition(" ")
            name, brace, labels = series.partition("{")
            if name not in self._wanted:
                continue
            before = self._last.get(series)
            if before is not None and before[0] == value and at - before[1] < REPEAT:
                continue
            self._last[series] = (value, at)
            inside = f"{labels[:-1]},{self._target}" if brace else self._target
            self._file.write(f"{name}{{{inside}}} {value} {at:.3f}\n")
            self.samples += 1

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.write("# EOF\n")
        self._file.close()


def used_metrics(settings: Settings) -> frozenset[str]:
    """Metrics that the rules read, directly or by way of recording rules."""
    texts = [expression_of(choice, settings.general) for choice in settings.rules]
    texts += [rule["expr"] for group in recordings() for rule in recorded(group, settings)]
    return frozenset(selector.metric for text in texts for selector in names(text).selectors)


def make_blocks(file: Path, storage: Path) -> None:
    """Blocks of a recorded file.

    Raises:
        InputError: promtool is not there, or does not take the file.
    """
    command = [
        "promtool",
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "--max-block-duration=24h",
        str(file),
        str(storage),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    except OSError as error:
        raise InputError(f"promtool: {error.strerror}") from error
    if done.returncode:
        raise InputError(f"promtool: {(done.stderr or done.stdout).strip().splitlines()[-1]}")


@contextlib.contextmanager
def playing(storage: Path) -> Iterator[str]:
    """Prometheus on the blocks while the block runs; gives its address."""
    port = free_port()
    config = storage.parent / "replay.yml"
    config.write_text("global: {}\n", encoding="utf-8")
    with prometheus(config, storage, port, RETENTION):
        yield f"http://{LOOPBACK}:{port}"


def firings(address: str, settings: Settings, start: float, end: float, step: float) -> list[Firing]:
    """Every alert that fired between two times, in the order of time.

    Raises:
        InputError: Prometheus refuses a query.
    """
    replaced = {str(rule["record"]): str(rule["expr"]) for group in recordings() for rule in recorded(group, settings)}
    found: list[Firing] = []
    for choice in settings.rules:
        expr = inlined(expression_of(choice, settings.general), replaced, step)
        for series in ask(address, expr, start, end, step):
            labels = {key: value for key, value in series["metric"].items() if key != "__name__"}
            times = [float(time) for time, _ in series["values"]]
            found += [
                Firing(rule=choice.rule.id, alert=choice.rule.alert, severity=choice.severity, labels=labels, at=at)
                for at in began(times, choice.amounts["for"], step)
            ]
    return sorted(found, key=lambda firing: (firing.at, firing.rule))


def began(times: list[float], wait: float, step: float) -> list[float]:
    """Times at which an alert begins to fire, of the times at which its expression holds."""
    fired: list[float] = []
    since = last = None
    burning = False
    for time in times:
        if last is None or since is None or time - last > 1.5 * step:
            since, burning = time, False
        if not burning and time - since >= wait:
            fired.append(time)
            burning = True
        last = time
    return fired


def inlined(expr: str, replaced: dict[str, str], step: float) -> str:
    """An expression with recording rules put in their place; a window over one becomes a subquery."""
    for name in sorted(replaced, key=len, reverse=True):
        while name in expr:
            head, tail = expr.split(name, 1)
            window = RANGE.match(tail)
            inner = f"({inlined(replaced[name], replaced, step)})"
            if window is not None:
                inner += f"[{window.group(1)}:{round(max(step, 60.0))}s]"
                tail = tail[window.end() :]
            expr = f"{head}{inner}{tail}"
    return expr


def ask(address: str, expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
    """``query_range`` of Prometheus."""
    form = urllib.parse.urlencode({"query": expr, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/api/v1/query_range", data=form.encode(), timeout=PATIENCE) as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        raise InputError(f"{address}: {error.read()[:300].decode(errors='replace')}") from error
    except OSError as error:
        raise InputError(f"{address}: {error}") from error
    return result
