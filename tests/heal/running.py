"""``heal run`` as a process of its own, with an exporter that says what a test wants. Synthetic."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rocsteady.heal.journal import Journal
from rocsteady.heal.supervisor import processes
from rocsteady.heal.view import Device
from tests.heal.made import document, gpu, node

STUB = Path(__file__).with_name("stub_worker.py")
PATIENCE = 90.0
"""Seconds after which a test gives up; nothing is asserted about time."""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def until(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if done():
            return
        time.sleep(0.05)
    pytest.fail(f"not reached: {what}")


class FakeExporter:
    """Serves the document of ``devices`` at the present time."""

    def __init__(self) -> None:
        self.devices: tuple[Device, ...] = (gpu(0), gpu(1))
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                if self.path != "/v1/gpu-health":
                    self.send_error(404)
                    return
                body = document(node(time.time(), *outer.devices))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Healing:
    """One state folder, and the process that works on it."""

    def __init__(self, folder: Path, exporter: FakeExporter, extra: str = "") -> None:
        self.folder, self.port, self.listen = folder, free_port(), free_port()
        self.state = folder / "heal.sqlite"
        (folder / "token").write_text("s3cret-token\n")
        self.config = folder / "heal.toml"
        self.config.write_text(
            f"""
state = "{self.state}"
listen = "127.0.0.1:{self.listen}"
token_file = "{folder / "token"}"
dry_run = false
every = 0.2
poll = 0.3
cooldown = 1.0
{extra}
[[node]]
name = "n1"
health = "{exporter.url}"
[[worker]]
name = "w0"
url = "http://127.0.0.1:{self.port}"
devices = ["{gpu(0).bdf}"]
command = ["{sys.executable}", "{STUB}", "{self.port}"]
stop = 5.0
[worker.probe]
every = 0.3
idle_canary = 0.5
canary_answer = 1.0
[classes]
move = {{mode = "auto"}}
restart = {{mode = "auto"}}
reset = {{mode = "off"}}
"""
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = (self.folder / "heal.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rocsteady", "heal", "run", "--config", str(self.config)], stdout=log, stderr=log
            )

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    @contextlib.contextmanager
    def journal(self) -> Iterator[Journal]:
        made = Journal(self.state)
        try:
            yield made
        finally:
            made.close()

    def marked(self) -> list[processes.Marked]:
        if not self.state.is_file():
            return []
        with self.journal() as journal:
            return processes.find(journal.instance())

    def clean(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for one in self.marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
