"""A worker for tests: answers /health, /metrics and completions; says on which devices it was started. Synthetic."""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DEVICES = os.environ.get("HIP_VISIBLE_DEVICES", "")


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return

    def _send(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._send("vllm:num_requests_running 0\nvllm:prompt_tokens_total 1\nvllm:request_success_total 3\n")
        else:
            self._send(DEVICES)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(json.dumps({"choices": [{"text": "a"}]}))


if __name__ == "__main__":
    deadline = time.monotonic() + 20
    while True:
        try:
            server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
            break
        except OSError:  # the port of the process that this one follows
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    server.serve_forever()
