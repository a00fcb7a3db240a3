"""Thresholds out of a memory plan: ``rocsteady plan --format json`` has a ``guard`` for alerts, gateway and heal."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rocsteady.model import Guard, InputError

MOST_BYTES = 8 << 20
RULES = {
    "gpu-memory-watermark": "memory_watermark_ratio", "kv-cache-full": "kv_usage_ratio",
    "admission-exceeded": "admission_requests",
}  # fmt: skip
"""Rule whose ``limit`` is taken from the plan, and the key there."""


class _Plan(msgspec.Struct, frozen=True):
    schema: str
    guard: Guard


def read_guard(path: Path) -> dict[str, dict[str, float]]:
    """``[rules.ID]`` tables as the threshold file would have them.

    Raises:
        InputError: the file cannot be read or is no plan.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: larger than {MOST_BYTES} bytes")
    try:
        plan = msgspec.json.decode(content, type=_Plan)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path}: not a plan (rocsteady plan --format json): {error}") from error
    if plan.schema != "rocsteady.plan/1":
        raise InputError(f"{path}: schema {plan.schema!r}, rocsteady.plan/1 was wanted")
    limits = {rule: float(getattr(plan.guard, key)) for rule, key in RULES.items()}
    if limits["admission-exceeded"] < 1:
        raise InputError(f"{path}: the plan admits no request; it does not fit")
    return {rule: {"limit": limit} for rule, limit in limits.items()}
