"""A series from a file: CSV, JSON lines, OpenMetrics or Prometheus text with timestamps, a saved Prometheus answer."""

from __future__ import annotations

import csv
import io
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from rocsteady.alerts.forecast.prometheus import points_of
from rocsteady.alerts.forecast.series import Point
from rocsteady.model import InputError, LimitError

Form = Literal["csv", "jsonl", "openmetrics", "prometheus"]
MOST_BYTES = 64 << 20
MILLISECONDS = 1e11
"""Numbers above this are milliseconds: as seconds they would be the year 5138."""
TIMES = ("time", "timestamp", "ts", "t", "at", "date", "datetime")
VALUES = ("value", "v", "y")
SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*(?:\{.*\})?)\s+(\S+)(?:\s+(\S+))?(?:\s+#.*)?$")
LIKE_SAMPLE = re.compile(rb"[A-Za-z_:][\w:]*(\{[^\n]*\})? +[-+.\dNI]")
ENDINGS: dict[str, Form] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".prom": "openmetrics", ".om": "openmetrics",
    ".json": "prometheus",
}  # fmt: skip


def read_points(path: Path, form: Form | None, column: str | None) -> list[Point]:
    """The points of a file. ``column``: the value's column, key or series; None: the only one.

    Raises:
        InputError: it cannot be read, or is not of the form; the message names the line.
    """
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(body) > MOST_BYTES:
        raise LimitError(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    return parse(body, str(path), form or ENDINGS.get(path.suffix.lower()) or guessed(body), column)


def guessed(body: bytes) -> Form:
    """The form, from how the content begins."""
    head = body[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b'{"status"'):
        return "prometheus"
    if head.startswith((b"{", b"[")):
        return "jsonl"
    if head.startswith(b"#") or LIKE_SAMPLE.match(head):
        return "openmetrics"
    return "csv"


def parse(body: bytes, where: str, form: Form, column: str | None = None) -> list[Point]:
    """The points of a text in the given form; see ``read_points``."""
    if form == "prometheus":
        return points_of(body, where)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start}") from None
    if form == "csv":
        return _csv(text, where, column)
    if form == "jsonl":
        return _json_lines(text, where, column)
    return _open_metrics(text, where, column)


def moment(raw: object) -> float:
    """Seconds since 1970 from seconds, milliseconds, or a date and time (UTC where no zone is named).

    Raises:
        ValueError: it is none of them.
    """
    if isinstance(raw, bool) or raw is None:
        raise ValueError("no time")
    try:
        number = float(raw)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        parsed = datetime.fromisoformat(str(raw).strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(number):
        raise ValueError("no time")
    return number / 1000 if abs(number) > MILLISECONDS else number


def number(raw: object) -> float:
    """A value; empty, null and NaN are NaN.

    Raises:
        ValueError: it is no number.
    """
    if raw is None:
        return math.nan
    if isinstance(raw, bool):
        raise ValueError("no number")
    text = str(raw).strip()
    return math.nan if text.lower() in ("", "null", "none", "-") else float(text)


def _csv(text: str, where: str, column: str | None) -> list[Point]:
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{where}: {error}") from None
    if not rows:
        return []
    at, of, begin = 0, 1, 0
    if not _is_moment(rows[0][0]) or column is not None:
        names = [cell.strip().lower() for cell in rows[0]]
        at = next((names.index(name) for name in TIMES if name in names), 0)
        of = _place(names, at, column, where)
        begin = 1
    points = []
    for line, row in enumerate(rows[begin:], begin + 1):
        try:
            points.append((moment(row[at]), number(row[of])))
        except (ValueError, IndexError, OverflowError):
            raise InputError(
                f"{where}:{line}: a time and a number were wanted, {separator.join(row)[:60]!r} found"
            ) from None
    return points


def _place(names: list[str], at: int, column: str | None, where: str) -> int:
    if column is not None:
        if column.strip().lower() not in names:
            raise InputError(f"{where}: no column {column!r}; there are {', '.join(names)}")
        return names.index(column.strip().lower())
    others = [place for place in range(len(names)) if place != at]
    named = [place for place in others if names[place] in VALUES]
    if len(named) == 1 or len(others) == 1:
        return (named or others)[0]
    raise InputError(
        f"{where}: which column is the value? --column, one of {', '.join(names[place] for place in others)}"
    )


def _is_moment(cell: str) -> bool:
    try:
        moment(cell)
    except (ValueError, OverflowError):
        return False
    return True


def _json_lines(text: str, where: str, column: str | None) -> list[Point]:
    points = []
    for line, raw in enumerate(text.splitlines(), 1):
        if not raw.strip():
            continue
        try:
            row = msgspec.json.decode(raw)
            points.append(_json_point(row, column))
        except (msgspec.DecodeError, ValueError, KeyError, OverflowError, RecursionError):
            wanted = f'{{"time": ..., "{column or "value"}": ...}} or [time, value]'
            raise InputError(f"{where}:{line}: {wanted} was wanted, {raw[:60]!r} found") from None
    return points


def _json_point(row: object, column: str | None) -> Point:
    if isinstance(row, list) and len(row) == 2:
        return moment(row[0]), number(row[1])
    if not isinstance(row, dict):
        raise ValueError("no point")
    at = next(row[name] for name in TIMES if name in row) if any(name in row for name in TIMES) else row["time"]
    if column is not None:
        return moment(at), number(row[column])
    named = [name for name in VALUES if name in row]
    others = [name for name in row if name not in TIMES]
    return moment(at), number(row[(named or others)[0]] if len(named or others) == 1 else row["value"])


def _open_metrics(text: str, where: str, column: str | None) -> list[Point]:
    found: dict[str, list[Point]] = {}
    for line, raw in enumerate(text.splitlines(), 1):
        if not raw.strip() or raw.startswith("#"):
            continue
        match = SAMPLE.match(raw.strip())
        try:
            if match is None:
                raise ValueError(raw)
            if match[3] is None:
                raise InputError(f"{where}:{line}: a sample without a timestamp: one scrape is no series")
            name = match[1].replace(" ", "")
            if column is None or name == column.replace(" ", "") or name.partition("{")[0] == column:
                found.setdefault(name, []).append((moment(match[3]), number(match[2])))
        except (ValueError, OverflowError):
            raise InputError(f"{where}:{line}: a sample with a timestamp was wanted, {raw[:60]!r} found") from None
    if len(found) > 1:
        some = ", ".join(list(found)[:4])
        raise InputError(f"{where}: {len(found)} series; name one with --column: {some}")
    return next(iter(found.values()), [])
