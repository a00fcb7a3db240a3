"""Keeps the C heap small."""

from __future__ import annotations

import contextlib
import ctypes

M_ARENA_MAX = -8
"""Number of this parameter of mallopt(3) in glibc's malloc.h."""


def one_arena() -> None:
    """Let all threads share one heap, before the first of them starts. glibc gives each thread a heap of its own, and
    with a thread for each collector those held 27 MiB and crept up by 140 bytes a scrape; one heap is flat (measured,
    docs/benchmarks.md). Threads seldom allocate at the same time here: the interpreter runs one at a time. Other C
    libraries do not have the parameter."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """Return freed memory of the C heap. Compiling the texts that are looked for in the kernel log takes 26 MB for a
    moment (measured), which glibc would keep. Docs: malloc_trim(3); other C libraries do not have it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
