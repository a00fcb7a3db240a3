"""Durations as Prometheus writes them, and small sums over the thresholds of a rule.

Durations are whole seconds. Sums know numbers, names, ``+ - * /`` and brackets, nothing else: the tests of a rule are
written with them, so that they still hold when a threshold is changed.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

from rocsteady.model import CatalogError

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
DURATION = re.compile(r"^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$", re.ASCII)
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
LONGEST = 366 * 86400


def seconds(text: str) -> int:
    """``1h30m`` -> 5400.

    Raises:
        ValueError: not a duration, or longer than a year.
    """
    match = DURATION.match(text)
    if not text or match is None or len(text) > 40:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m, 1h30m or 3d")
    total = sum(int(number) * unit for number, unit in zip(match.groups("0"), UNITS.values(), strict=True))
    if total > LONGEST:
        raise ValueError(f"{text!r} is longer than a year")
    return total


def duration(value: float) -> str:
    """5400 -> ``1h30m``; 0 -> ``0s``."""
    rest = round(value)
    parts = []
    for unit, size in UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def evaluate(text: str | float, names: Mapping[str, float], where: str) -> float:
    """A sum over named numbers; ``step`` and the like are names too.

    Raises:
        CatalogError: another kind of expression, an unknown name, a division by zero.
    """
    if isinstance(text, (int, float)):
        return float(text)
    try:
        return _value(ast.parse(text, mode="eval").body, names)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError) as error:
        raise CatalogError(f"{where}: cannot work out {text!r}: {error}") from error


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return float(names[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, names), _value(right, names))
    raise ValueError("only numbers, names and + - * / are known")
