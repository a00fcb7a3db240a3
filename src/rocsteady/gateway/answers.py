"""Headers and errors of the answers that the gateway writes."""

from __future__ import annotations

import msgspec

from rocsteady.gateway.http1 import Head
from rocsteady.gateway.interfaces import Call
from rocsteady.gateway.routing import Pick

JSON = "application/json"
EVENTS = "text/event-stream"
HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "content-length", "server", "date", "x-request-id",
})  # fmt: skip
"""Headers of a worker that end at the gateway."""


def answer_headers(head: Head | None, call: Call, pick: Pick, tries: int) -> list[tuple[str, str]]:
    """Headers of an answer: those of the worker that are its own, and which worker and stage it was."""
    headers = [("Content-Type", EVENTS), ("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no")]
    if head is not None:
        headers = [(name, value) for name, value in head.headers if name not in HOP]
    headers += [
        ("X-Request-Id", call.id), ("X-Rocsteady-Worker", pick.worker.name), ("X-Rocsteady-Stage", pick.stage),
        ("X-Rocsteady-Tries", str(tries)),
    ]  # fmt: skip
    spec = pick.worker.spec
    if pick.reason:
        headers.append(("X-Rocsteady-Stage-Reason", _clean(pick.reason)))
    if spec.precision:
        headers.append(("X-Rocsteady-Precision", _clean(spec.precision)))
    if spec.model != call.view.model:
        headers.append(("X-Rocsteady-Model", _clean(spec.model)))
    return headers


def problem(message: str, code: str, call_id: str) -> bytes:
    """An error in the shape that OpenAI clients read."""
    error = {"message": message[:600], "type": "gateway_error", "param": None, "code": code, "request_id": call_id}
    return msgspec.json.encode({"error": error})


def _clean(text: str) -> str:
    """Text that may stand in a header."""
    return "".join(c if " " <= c <= "~" else "?" for c in text[:200])
