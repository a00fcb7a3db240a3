"""A line without end costs time in proportion to its length, and what stands in it is found."""

from __future__ import annotations

import io
import time

from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner


def test_a_very_long_line_with_a_word_everywhere() -> None:
    """Twice the bytes take about twice the time: the start of the line is not looked for again at every word."""
    took: list[float] = []
    for size in (2, 8):
        scanner = Scanner(KINDS, 2026)
        start = time.process_time()
        scanner.scan("log", io.BytesIO(b"a amdgpu error " * (size * 70_000)))
        took.append(time.process_time() - start)
    assert took[1] < 12 * took[0]


def test_a_message_inside_a_long_line_is_found() -> None:
    """The part around the needle is read."""
    scanner = Scanner(KINDS, 2026)
    line = b"x" * 100_000 + b" RuntimeError: No HIP GPUs are available " + b"y" * 100_000 + b"\n"
    scanner.scan("log", io.BytesIO(b"first\n" + line))
    assert [e.evidence.line for e in scanner.events()] == [2]
