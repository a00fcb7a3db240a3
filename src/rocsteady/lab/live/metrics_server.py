"""The engine's own ``/metrics``, on loopback only."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rocsteady.lab.live.engine import Engine
from rocsteady.model import InputError

TYPE = "text/plain; version=0.0.4; charset=utf-8"


def check_port(port: int) -> None:
    """Before anything is written: whether the port can be had.

    Raises:
        InputError: it is taken.
    """
    try:
        with socket.create_server(("127.0.0.1", port)):
            return
    except OSError as error:
        raise InputError(f"--engine-port {port}: {error.strerror}") from error


@contextlib.contextmanager
def serving(engine: Engine | None, port: int | None) -> Iterator[int | None]:
    """Serve while the block runs; gives the port (0 asks for a free one). Nothing without an engine or a port.

    Raises:
        InputError: the port is taken.
    """
    if engine is None or port is None:
        yield None
        return
    shown = engine

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/metrics":
                self.send_error(404)
            elif not shown.alive:
                self.send_error(503)
            else:
                body = shown.metrics().encode()
                self.send_response(200)
                self.send_header("Content-Type", TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            return

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise InputError(f"--engine-port {port}: {error.strerror}") from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="engine-metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
