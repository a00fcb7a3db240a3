"""A range of a query from Prometheus' HTTP API (https://prometheus.io/docs/prometheus/latest/querying/api/)."""

from __future__ import annotations

import http.client
import math
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import msgspec

from rocsteady.alerts.forecast.series import Point
from rocsteady.model import InputError

MOST_BYTES = 16 << 20
"""Of an answer; 1,440 points are about 40 kB."""
Transport = Callable[[urllib.request.Request, float], bytes]
"""A request and seconds to wait, the body of the answer; errors are ``OSError``."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Where Prometheus answers. ``token`` goes into a header and is never shown."""

    url: str
    token: str | None = None
    timeout: float = 10.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is not carried to another place."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


def over_http(request: urllib.request.Request, timeout: float) -> bytes:
    """The transport of the product: no redirects, a bounded body."""
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=timeout) as answer:
            body: bytes = answer.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        with error:
            body = error.read(65536)
        if not body.lstrip().startswith(b"{"):
            raise OSError(f"HTTP {error.code}") from None
    except http.client.HTTPException as error:
        raise OSError(f"no HTTP answer ({type(error).__name__})") from None
    if len(body) > MOST_BYTES:
        raise OSError(f"the answer is larger than {MOST_BYTES >> 20} MiB")
    return body


def checked(url: str) -> str:
    """The address without a trailing slash.

    Raises:
        InputError: it is no http or https address, or holds a password.
    """
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise InputError(f"--prometheus {url!r}: an address like http://localhost:9090 was wanted")
    if "@" in parts.netloc:
        raise InputError("--prometheus: no user or password in the address; use --token-file")
    return url.rstrip("/")


def query_range(
    server: Server, query: str, start: float, end: float, step: float, transport: Transport = over_http
) -> list[Point]:
    """The points of the one series that the query gives. NaN and infinities are kept: the guards count them.

    Raises:
        InputError: no answer, an error of Prometheus, or more than one series.
    """
    fields = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
    request = urllib.request.Request(
        f"{server.url}/api/v1/query_range", data=urllib.parse.urlencode(fields).encode(), method="POST"
    )
    if server.token:
        request.add_header("Authorization", f"Bearer {server.token}")
    try:
        body = transport(request, server.timeout)
    except OSError as error:
        why = getattr(error, "reason", None) or error
        raise InputError(f"{server.url}: {getattr(why, 'strerror', None) or why}") from None
    return points_of(body, server.url)


def points_of(body: bytes, where: str) -> list[Point]:
    """The points in an answer of ``query_range``.

    Raises:
        InputError: it is no such answer, says an error, or holds more than one series.
    """
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{where}: the answer is not JSON; is this Prometheus?") from None
    if not isinstance(answer, dict) or answer.get("status") not in ("success", "error"):
        raise InputError(f"{where}: not an answer of Prometheus' query API")
    if answer["status"] == "error":
        raise InputError(f"{where}: {str(answer.get('error', 'error without a text'))[:300]}")
    data = answer.get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        raise InputError(f"{where}: the answer holds no result")
    if len(result) > 1:
        labels = [_labels(row) for row in result[:3]]
        raise InputError(
            f"{where}: {len(result)} series ({'; '.join(labels)}...): make the query give one, as max(...)"
        )
    if not result:
        return []
    try:
        return [(float(at), _number(value)) for at, value in result[0]["values"]]
    except (KeyError, TypeError, ValueError, IndexError):
        raise InputError(f"{where}: the result is not a range of numbers") from None


def _number(text: object) -> float:
    if not isinstance(text, str):
        raise ValueError(text)
    value = float(text)
    return value if math.isfinite(value) else math.nan


def _labels(row: object) -> str:
    metric = row.get("metric") if isinstance(row, dict) else None
    if not isinstance(metric, dict):
        return "?"
    return "{" + ", ".join(f'{key}="{value}"' for key, value in list(metric.items())[:4]) + "}"
