"""Texts of a rule: as a template for Prometheus, and as Prometheus will fill it in (for the unit tests)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rocsteady.alerts.amounts import duration
from rocsteady.model import CatalogError

FIELD = re.compile(r"\{([a-z_]+)(?::([a-z]+))?\}")
PLACE = re.compile(r"%([a-z_]+)(:le)?%")
TEMPLATES = {
    None: "{{ $value }}", "percent": "{{ $value | humanizePercentage }}", "whole": '{{ printf "%.0f" $value }}',
    "one": '{{ printf "%.1f" $value }}', "duration": "{{ $value | humanizeDuration }}",
    "bytes": "{{ $value | humanize1024 }}B",
}  # fmt: skip
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def humanize_duration(value: float) -> str:
    """As Prometheus does for a second or more: 3725 -> ``1h 2m 5s``."""
    if value == 0:
        return "0s"
    sign, rest = ("-" if value < 0 else ""), abs(value)
    whole = int(rest)
    days, hours, minutes, left = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return f"{sign}{days}d {hours}h {minutes}m {left}s"
    if hours:
        return f"{sign}{hours}h {minutes}m {left}s"
    if minutes:
        return f"{sign}{minutes}m {left}s"
    return f"{sign}{rest:.4g}s"


def humanize_1024(value: float) -> str:
    """As Prometheus does: 1536 -> ``1.5Ki``."""
    power = 0
    while abs(value) >= 1024 and power < len(BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.4g}{BINARY[power]}"


SHOWN: dict[str | None, Callable[[float], str]] = {
    None: lambda v: f"{v:g}", "percent": lambda v: f"{v * 100:.4g}%", "whole": lambda v: f"{v:.0f}",
    "one": lambda v: f"{v:.1f}", "duration": humanize_duration, "bytes": lambda v: f"{humanize_1024(v)}B",
}  # fmt: skip


def template(text: str, amounts: Mapping[str, float], durations: frozenset[str], where: str) -> str:
    """The text with thresholds filled in and labels and value left to Prometheus."""

    def fill(match: re.Match[str]) -> str:
        name, form = match.groups()
        if name == "value":
            return TEMPLATES[form]
        if name in amounts:
            return _threshold(name, form, amounts[name], durations)
        return f"{{{{ $labels.{name} }}}}"

    return _substitute(text, fill, where)


def filled(
    text: str, amounts: Mapping[str, float], durations: frozenset[str], labels: Mapping[str, str], value: float
) -> str:
    """The text as Prometheus sends it for these labels and this value."""

    def fill(match: re.Match[str]) -> str:
        name, form = match.groups()
        if name == "value":
            return SHOWN[form](value)
        return _threshold(name, form, amounts[name], durations) if name in amounts else labels.get(name, "")

    return _substitute(text, fill, "")


def _threshold(name: str, form: str | None, value: float, durations: frozenset[str]) -> str:
    return duration(value) if name in durations else SHOWN[form](value)


def _substitute(text: str, fill: Callable[[re.Match[str]], str], where: str) -> str:
    try:
        return " ".join(FIELD.sub(fill, text).split())
    except KeyError as error:
        raise CatalogError(f"{where}: unknown format {error}") from error


def bucket(value: float) -> str:
    """A regular expression for the label ``le`` of a bucket: clients write 1 as "1" or as "1.0"."""
    shown = f"{value:.12g}".replace(".", "\\\\.")
    return shown if "." in shown else f"{shown}(\\\\.0)?"


def used(text: str) -> set[str]:
    """Names of the thresholds in PromQL or a text."""
    return {match.group(1) for pattern in (PLACE, FIELD) for match in pattern.finditer(text)}


def expression(
    text: str, amounts: Mapping[str, float], durations: frozenset[str], words: Mapping[str, str], where: str
) -> str:
    """PromQL with ``%name%`` filled in, on one line."""

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in words:
            return words[name]
        if name not in amounts:
            raise CatalogError(f"{where}: %{name}% is no threshold of the rule")
        if match.group(2):
            return bucket(amounts[name])
        return duration(amounts[name]) if name in durations else f"{amounts[name]:.12g}"

    return " ".join(PLACE.sub(fill, text).split())
