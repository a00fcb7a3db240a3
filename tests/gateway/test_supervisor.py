"""Several real processes on one port."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rocsteady.gateway.siblings import Board


class Handler(BaseHTTPRequestHandler):
    """A worker of a few lines."""

    def do_GET(self) -> None:
        self._say(b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._say(b'{"choices": [{"text": "well"}]}')

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def ask(port: int) -> int:
    body = json.dumps({"model": "m", "prompt": "x"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(answer.status)


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def test_a_killed_process_refuses_nobody_and_comes_back(tmp_path: Path, upstream: str) -> None:
    port = free_port()
    config = tmp_path / "gateway.toml"
    config.write_text(
        f'listen = "127.0.0.1:{port}"\nprocesses = 2\nstate = "{tmp_path}/state.sqlite"\n'
        f'[[worker]]\nname = "a"\nurl = "{upstream}"\nmodel = "m"\nmetrics = false\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "rocsteady", "gateway", "--config", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "serving" in process.stderr.readline()
            assert ask(port) == 200
            while len(children(process.pid)) < 2:
                time.sleep(0.05)
            first = children(process.pid)
            os.kill(first[0], signal.SIGKILL)
            assert [ask(port) for _ in range(12)] == [200] * 12, "none refused: they wait for the successor"
            assert "ended with signal 9" in process.stderr.readline()
            process.send_signal(signal.SIGHUP)
            assert "read again" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_check_and_errors(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text('[[worker]]\nname = "a"\nurl = "http://h:1"\nmodel = "m"\n', encoding="utf-8")
    command = [sys.executable, "-m", "rocsteady", "gateway", "--config", str(config), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 worker" in done.stdout
    config.write_text("[[worker]]\nname = 3\n", encoding="utf-8")
    for extra in (command, command[:-1]):
        done = subprocess.run(extra, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "name" in done.stderr


def test_the_board_counts_what_broke(tmp_path: Path) -> None:
    board = Board(tmp_path / "board", 2)
    other = Board(tmp_path / "board", 2)
    other.write_open(1, 7)
    assert board.died(1) == 7
    assert board.rows() == {"0": (0, 0), "1": (1, 7)}
    other.write_open(1, 2)
    assert board.died(1) == 2
    assert other.rows()["1"] == (2, 9)
    board.close()
    other.close()
