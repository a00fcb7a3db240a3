"""Address and event loop of the CPU worker."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable

from rocsteady.cpu_worker.server import CpuWorker, serve
from rocsteady.model import InputError


def parse_listen(text: str) -> tuple[str, int]:
    """``127.0.0.1:8090``, ``[::1]:8090``, ``:8090`` (all addresses).

    Raises:
        InputError: it is not an address and a port.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise InputError(f"--listen {text}: HOST:PORT was wanted")
    if host and host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError:
            raise InputError(f"--listen {text}: {host!r} is no address") from None
    return host or "0.0.0.0", int(port)


def run(worker: CpuWorker, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until a signal, on uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(serve(worker, host, port, ready))
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(worker, host, port, ready))
