"""What every command that serves takes: an address, a token in a file; and where it says that it serves."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path

from rocsteady.model import InputError


def parse_listen(text: str) -> tuple[str, int]:
    """``127.0.0.1:9945``, ``[::1]:9945``, ``:9945`` (all addresses).

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


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        InputError: the file cannot be read or is empty.
    """
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', error)}") from error
    if not token:
        raise InputError(f"{path}: empty, a token was wanted")
    return token


def print_ready(url: str) -> None:
    """Say where we serve, on standard error."""
    sys.stderr.write(f"serving {url}\n")
    sys.stderr.flush()
