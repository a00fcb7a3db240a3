"""The forecasts over HTTP: ``/metrics`` for Prometheus, ``/v1/forecast`` as JSON, ``/healthz``.

The standard library's server is enough for one scraper, and keeps the extra at numpy and statsmodels.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rocsteady.model import InputError

TIMEOUT = 10
"""Seconds after which a client that says nothing is let go."""
Page = tuple[str, bytes]
"""Content type and body."""


class Server:
    """Serves pages until it is closed. ``pages``: a function by path; ``token``: asked for but on ``/healthz``."""

    def __init__(self, host: str, port: int, pages: dict[str, Callable[[], Page]], token: str | None = None) -> None:
        wanted = f"Bearer {token}".encode() if token else None

        class Handler(BaseHTTPRequestHandler):
            timeout = TIMEOUT
            server_version = "rocsteady"
            sys_version = ""

            def do_GET(self) -> None:
                """Answer one request."""
                path = self.path.partition("?")[0]
                given = (self.headers.get("Authorization") or "").encode(errors="replace")
                if wanted is not None and path != "/healthz" and not hmac.compare_digest(given, wanted):
                    self._answer(401, "text/plain; charset=utf-8", b"a bearer token is wanted\n")
                elif path in pages:
                    self._answer(200, *pages[path]())
                else:
                    self._answer(404, "text/plain; charset=utf-8", (", ".join(pages) + "\n").encode())

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if status == 401:
                    self.send_header("WWW-Authenticate", "Bearer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """No access log."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise InputError(f"--listen {host}:{port}: {error.strerror}") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.2,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
