"""Event loop of the CPU worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rocsteady.cpu_worker.server import CpuWorker, serve


def run(worker: CpuWorker, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until a signal, on uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(serve(worker, host, port, ready))
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(worker, host, port, ready))
