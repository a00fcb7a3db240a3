"""Sizes with units, as the tools write them, in bytes."""

from __future__ import annotations

import re

_SIZE = re.compile(r"^\s*(?P<number>\d+(?:[.,]\d+)?)\s*(?P<unit>[kKmMgGtTpPeE]?)(?P<binary>i?)(?:[bB](?:ytes)?)?\s*$")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def size_in_bytes(text: str, decimal: bool = False) -> int | None:
    """Bytes of ``64g``, ``7.3 GB``, ``196592 MB``, ``16Gi``; None for what is no size.

    A unit without ``i`` is binary too, as Docker, df -h and the GPU tools mean it; ``decimal`` for
    Kubernetes, where ``1G`` is 10^9.

    >>> size_in_bytes("64g")
    68719476736
    >>> size_in_bytes("-1") is None
    True
    """
    match = _SIZE.match(text)
    if match is None:
        return None
    base = 1000 if decimal and not match["binary"] else 1024
    return int(float(match["number"].replace(",", ".")) * base ** _POWER[match["unit"].upper()])
