"""A real vLLM worker on the CPU, on the loopback interface: how it is started, hurt and ended.

The Python that has vLLM is named by ``ROCSTEADY_VLLM_PYTHON``; ``tools/vllm_env.sh`` makes such an environment. Measured on
two cores: ready 25 to 32 s after the start on an idle machine (more than 100 s at load 9), 2.6 GB with 1 GiB of KV cache.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from rocsteady.model import InputError

PYTHON_VARIABLE = "ROCSTEADY_VLLM_PYTHON"
DEFAULT_PYTHON = Path(".venv-vllm/bin/python")
START_LIMIT_S = 300.0
"""Longest wait for a start: the slowest one measured on a busy machine took above 120 s."""
ENGINE = "VLLM::EngineCore"
"""Title that vLLM gives to the process of the engine."""
STOP_LIMIT_S = 15.0


def vllm_python() -> Path | None:
    """The Python with vLLM: of the environment variable, else of ``.venv-vllm`` here; None where there is none."""
    named = os.environ.get(PYTHON_VARIABLE)
    path = Path(named) if named else DEFAULT_PYTHON
    return path if path.is_file() else None


def free_port() -> int:
    """A port of the loopback interface that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class VllmOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is started."""

    python: Path
    model_dir: Path
    log: Path
    served_name: str = "tiny"
    port: int = 0
    max_model_len: int = 1024
    max_num_seqs: int = 16
    kv_gib: int = 1
    threads: int = 1
    more: tuple[str, ...] = ()
    """Further arguments of vLLM, as they are."""


def command(options: VllmOptions, port: int) -> list[str]:
    """Arguments of the process. The ``vllm`` script is not used: it asks for a distribution of another name and dies."""
    return [
        str(options.python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(options.model_dir),
        "--served-model-name", options.served_name, "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32",
        "--enforce-eager", "--max-model-len", str(options.max_model_len), "--max-num-seqs", str(options.max_num_seqs),
        *options.more,
    ]  # fmt: skip


def environment(options: VllmOptions) -> dict[str, str]:
    """Variables of the process: nothing is looked up in a network, and its queues stay on the loopback interface."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return kept | {
        "VLLM_HOST_IP": "127.0.0.1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": str(options.kv_gib), "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": str(options.threads),
    }  # fmt: skip


class VllmWorker:
    """One worker and its process group. A context manager: what was started is ended."""

    def __init__(
        self,
        options: VllmOptions,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.options = options
        self.port = options.port or free_port()
        self._now, self._sleep = now, sleep
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Base address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the API server.

        Raises:
            InputError: it was not started.
        """
        if self._process is None:
            raise InputError("the worker was not started")
        return self._process.pid

    def start(self) -> None:
        """Start the process; see :meth:`wait_ready`.

        Raises:
            InputError: the program or the log cannot be opened.
        """
        try:
            with self.options.log.open("ab") as log:
                self._process = subprocess.Popen(
                    command(self.options, self.port), env=environment(self.options), stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from error

    def wait_ready(self, limit: float = START_LIMIT_S) -> float:
        """Seconds until ``/health`` said 200.

        Raises:
            InputError: the process ended, or the limit passed; the end of its log is in the message.
        """
        start = self._now()
        while (took := self._now() - start) < limit:
            if self._process is None or self._process.poll() is not None:
                raise InputError(f"the worker ended before it was ready: {self.last_words()}")
            if self.health() == 200:
                return took
            self._sleep(0.25)
        raise InputError(f"the worker was not ready after {limit:.0f} s: {self.last_words()}")

    def health(self, limit: float = 2.0) -> int | None:
        """Status of ``/health``; None where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def running(self) -> bool:
        """Whether the API server is still there."""
        return self._process is not None and self._process.poll() is None

    def engine_pid(self) -> int:
        """Process id of the engine.

        Raises:
            InputError: there is none.
        """
        for pid in _group(self.pid):
            if _title(pid).startswith(ENGINE):
                return pid
        raise InputError("no engine process found")

    def kill(self) -> None:
        """End everything at once, as a crash does."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(STOP_LIMIT_S)

    def kill_engine(self) -> None:
        """``kill -9`` of the engine alone."""
        os.kill(self.engine_pid(), signal.SIGKILL)

    def freeze_engine(self) -> int:
        """Stop the engine while the API server goes on; returns the process id."""
        pid = self.engine_pid()
        os.kill(pid, signal.SIGSTOP)
        return pid

    def thaw_engine(self) -> None:
        """Let a stopped engine go on."""
        with contextlib.suppress(InputError, ProcessLookupError):
            os.kill(self.engine_pid(), signal.SIGCONT)

    def stop(self) -> None:
        """End the worker, gently first."""
        if self._process is None:
            return
        self.thaw_engine()
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_LIMIT_S)
        self._signal(signal.SIGKILL)
        self._process.wait(STOP_LIMIT_S)
        self._process = None

    def last_words(self, lines: int = 3) -> str:
        """The end of the log, in one line."""
        try:
            return " | ".join(self.options.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        except OSError:
            return "no log"

    def __enter__(self) -> VllmWorker:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _group(leader: int) -> list[int]:
    """Processes of a process group (field 5 of /proc/PID/stat)."""
    members: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                if int(stat.rpartition(")")[2].split()[2]) == leader:
                    members.append(int(entry.name))
    return members


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""
