"""Several gateway processes on one port, and what keeps them running.

Each process has a socket of its own on the shared port (SO_REUSEPORT). The supervisor opens the sockets and keeps them:
when a process dies, connections that the kernel gives to its socket wait for its successor instead of being refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from rocsteady.gateway.config import Config, load
from rocsteady.gateway.listening import Serving, listen, open_socket, serve
from rocsteady.gateway.runtime import Runtime
from rocsteady.gateway.siblings import Board, Siblings
from rocsteady.model import RocsteadyError

Say = Callable[[str], None]
SHORT_LIFE = 5.0
"""A process that lives shorter is started again with a growing pause: it would spin otherwise."""
PAUSE = 0.2
LONGEST_PAUSE = 10.0
GRACE = 5.0
"""Seconds beyond the drain time before a process is killed."""


def sockets(config: Config) -> list[socket.socket]:
    """One listening socket for each process; port 0 takes a free port for all."""
    host, port = listen(config)
    made = [open_socket(host, port)]
    port = int(made[0].getsockname()[1])
    made += [open_socket(host, port) for _ in range(config.processes - 1)]
    return made


def address(made: socket.socket, config: Config) -> str:
    """Where clients go."""
    host, port = made.getsockname()[:2]
    return f"{'https' if config.tls_cert else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(work)
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work)


def run(path: Path, say: Say) -> None:
    """Serve until told to stop: alone, or with a supervisor over ``processes``."""
    config = load(path)
    made = sockets(config)
    where = address(made[0], config)
    if config.processes == 1:
        run_loop(_alone(config, path, made, lambda: say(f"serving {where}"), say))
    else:
        run_loop(Supervisor(path, config, made, say).run(where))


async def _alone(config: Config, path: Path, made: list[socket.socket], ready: Callable[[], None], say: Say) -> None:
    await serve(Serving(Runtime(config, path=path)), made, ready, say)


def run_child(path: Path, what: str, say: Say) -> None:
    """One process of several. ``what``: NUMBER:PROCESSES:DESCRIPTOR:FOLDER, as the supervisor gives it."""
    number, processes, descriptor, folder = what.split(":", 3)
    config = load(path)
    made = socket.socket(fileno=int(descriptor))

    def reload() -> str:
        try:
            load(path)
        except RocsteadyError as error:
            return str(error)
        import os  # noqa: PLC0415

        os.kill(os.getppid(), signal.SIGHUP)  # every process reads it
        return ""

    async def work() -> None:
        siblings = Siblings(Path(folder), int(number), int(processes))
        serving = Serving(Runtime(config, path=path, siblings=siblings), reload)
        await serve(serving, [made], lambda: None, lambda text: say(f"process {number}: {text}"))

    run_loop(work())


class Supervisor:
    """Keeps the processes running."""

    def __init__(self, path: Path, config: Config, made: list[socket.socket], say: Say) -> None:
        self._path = path
        self._config = config
        self._sockets = made
        self._say = say
        self._children: dict[int, asyncio.subprocess.Process] = {}
        self._stopping = asyncio.Event()

    async def run(self, where: str) -> None:
        """Until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stopping.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        with tempfile.TemporaryDirectory(prefix="rocsteady-gateway-") as folder:
            board = Board(Path(folder) / "board", len(self._sockets))
            keepers = [
                loop.create_task(self._keep(number, Path(folder), board)) for number in range(len(self._sockets))
            ]
            self._say(f"serving {where} with {len(self._sockets)} processes")
            await self._stopping.wait()
            self._signal(signal.SIGTERM)
            _, late = await asyncio.wait(keepers, timeout=self._config.drain_seconds + GRACE)
            if late:
                self._signal(signal.SIGKILL)
                await asyncio.wait(late)
            for keeper in keepers:
                keeper.result()
            board.close()
        for made in self._sockets:
            made.close()

    def _reload(self) -> None:
        try:
            load(self._path)
        except RocsteadyError as error:
            self._say(f"configuration not taken: {error}")
            return
        self._signal(signal.SIGHUP)
        self._say("configuration read again")

    def _signal(self, number: signal.Signals) -> None:
        for child in list(self._children.values()):
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)

    async def _keep(self, number: int, folder: Path, board: Board) -> None:
        """Start one process as often as needed."""
        loop = asyncio.get_running_loop()
        pause = PAUSE
        while not self._stopping.is_set():
            descriptor = self._sockets[number].fileno()
            what = f"{number}:{len(self._sockets)}:{descriptor}:{folder}"
            command = [sys.executable, "-m", "rocsteady", "gateway", "--config", str(self._path), "--child", what]
            born = loop.time()
            child = await asyncio.create_subprocess_exec(*command, pass_fds=(descriptor,))
            self._children[number] = child
            if self._stopping.is_set():
                child.terminate()
            code = await child.wait()
            del self._children[number]
            if self._stopping.is_set():
                return
            broken = board.died(number)
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._say(
                f"process {number} (pid {child.pid}) ended with {how}; {broken} open requests broke; starting again"
            )
            pause = PAUSE if loop.time() - born > SHORT_LIFE else min(LONGEST_PAUSE, pause * 2)
            if pause > PAUSE:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
