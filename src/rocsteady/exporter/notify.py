"""Tells systemd that the service is ready, alive or ending. Docs: sd_notify(3). Without NOTIFY_SOCKET nothing happens."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send ``READY=1``, ``WATCHDOG=1``, ``STOPPING=1`` or ``STATUS=...``."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
        to.sendto(state.encode(), address)


def watchdog_seconds() -> float | None:
    """How often systemd wants to hear of us: half of its limit."""
    micros = os.environ.get("WATCHDOG_USEC", "")
    return int(micros) / 2e6 if micros.isascii() and micros.isdigit() and int(micros) > 0 else None
