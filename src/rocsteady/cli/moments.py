"""Moments as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from rocsteady.model import InputError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def moment(text: str, now: float) -> float:
    """``2h`` before now, or a date or date-time (UTC unless it names a zone), as seconds since 1970."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([smhdw])", text.strip())
    if match:
        return now - float(match[1]) * UNITS[match[2]]
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"--since {text!r}: neither an age like 2h nor a date like 2026-11-30T03:00") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
