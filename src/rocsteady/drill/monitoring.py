"""The real Prometheus and Alertmanager as processes on loopback, for tests, benchmarks and drills."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from rocsteady.model import InputError

LOOPBACK = "127.0.0.1"
READY_WITHIN = 60.0
"""Seconds for a server to answer; it takes one or two on an idle machine."""
STOPS_WITHIN = 20.0


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def process(command: Sequence[str], log: Path, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server while the block runs; ``ready`` is an address that answers 200 when it is up.

    Raises:
        InputError: it is not installed, ended, or did not get ready in time; the message says what it logged last.
    """
    with log.open("wb") as output:
        try:
            running = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        except OSError as error:
            raise InputError(f"{command[0]}: {error.strerror}") from error
        try:
            _wait(running, ready, log)
            yield running
        finally:
            running.terminate()
            try:
                running.wait(STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def _wait(running: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    end = time.monotonic() + READY_WITHIN
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < end:
        if running.poll() is not None:
            break
        with contextlib.suppress(OSError), opener.open(ready, timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["nothing logged"]
    raise InputError(f"{Path(str(running.args[0])).name} did not get ready: {last[0]}")  # type: ignore[index]


@contextlib.contextmanager
def prometheus(config: Path, storage: Path, port: int, retention: str = "15d") -> Iterator[subprocess.Popen[bytes]]:
    """Prometheus on loopback.

    Raises:
        InputError: as ``process``.
    """
    command = [
        "prometheus", f"--config.file={config}", f"--storage.tsdb.path={storage}",
        f"--web.listen-address={LOOPBACK}:{port}", f"--storage.tsdb.retention.time={retention}",
    ]  # fmt: skip
    with process(command, config.parent / "prometheus.log", f"http://{LOOPBACK}:{port}/-/ready") as running:
        yield running


@contextlib.contextmanager
def alertmanager(config: Path, storage: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Alertmanager on loopback, alone (no cluster).

    Raises:
        InputError: as ``process``.
    """
    command = [
        "prometheus-alertmanager", f"--config.file={config}", f"--storage.path={storage}",
        f"--web.listen-address={LOOPBACK}:{port}", "--cluster.listen-address=",
    ]  # fmt: skip
    with process(command, config.parent / "alertmanager.log", f"http://{LOOPBACK}:{port}/-/ready") as running:
        yield running
