"""What the processes of one gateway know of each other: a shared board of open requests, a socket each for figures.

The board is a small memory-mapped file that the supervisor makes: when a process is killed, what it had open can still
be read there, counted and said.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

SLOT = struct.Struct("<qqq")
"""Open requests now, deaths, requests that were open at a death."""
MOST_FIGURES = 16_777_216
WAIT = 1.0


class Board:
    """The shared board. One slot for each process; only its own process writes the first number, the supervisor the rest."""

    def __init__(self, path: Path, processes: int) -> None:
        self._processes = processes
        size = SLOT.size * processes
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(number).st_size < size:
                os.ftruncate(number, size)
            self._map = mmap.mmap(number, size)
        finally:
            os.close(number)

    def write_open(self, process: int, count: int) -> None:
        """Requests that a process has open."""
        struct.pack_into("<q", self._map, process * SLOT.size, count)

    def died(self, process: int) -> int:
        """A process is gone: count its death. Returns what it had open."""
        left, deaths, broken = SLOT.unpack_from(self._map, process * SLOT.size)
        SLOT.pack_into(self._map, process * SLOT.size, 0, deaths + 1, broken + left)
        return int(left)

    def rows(self) -> dict[str, tuple[int, int]]:
        """Process -> deaths, and requests that were open then."""
        found = {}
        for process in range(self._processes):
            _, deaths, broken = SLOT.unpack_from(self._map, process * SLOT.size)
            found[str(process)] = (int(deaths), int(broken))
        return found

    def close(self) -> None:
        """Let go of the memory."""
        self._map.close()


class Siblings:
    """One process among ``processes``; ``folder`` is the supervisor's, readable by its user only."""

    def __init__(self, folder: Path, process: int, processes: int) -> None:
        self._folder = folder
        self.process = process
        self._processes = processes
        self._board = Board(folder / "board", processes)
        self._server: asyncio.Server | None = None

    def _socket(self, process: int) -> Path:
        return self._folder / f"{process}.sock"

    async def listen(self, figures: Callable[[], dict[str, object]]) -> None:
        """Answer the other processes."""
        path = self._socket(self.process)
        path.unlink(missing_ok=True)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            del reader
            writer.write(msgspec.json.encode(figures()))
            try:
                await writer.drain()
            except ConnectionError:
                pass
            finally:
                writer.close()

        self._server = await asyncio.start_unix_server(answer, str(path))

    def write_open(self, count: int) -> None:
        """Requests that this process has open."""
        self._board.write_open(self.process, count)

    def board(self) -> dict[str, tuple[int, int]]:
        """Deaths of processes."""
        return self._board.rows()

    async def figures(self, own: dict[str, object]) -> dict[str, dict[str, Any]]:
        """Figures of every process that answers."""
        others = [number for number in range(self._processes) if number != self.process]
        rows = await asyncio.gather(*(self._ask(number) for number in others))
        found: dict[str, dict[str, Any]] = {str(self.process): own}
        found |= {str(number): row for number, row in zip(others, rows, strict=True) if row is not None}
        return dict(sorted(found.items()))

    async def _ask(self, process: int) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(WAIT):
                reader, writer = await asyncio.open_unix_connection(str(self._socket(process)), limit=MOST_FIGURES)
                try:
                    row: dict[str, Any] = msgspec.json.decode(await reader.read(-1))
                finally:
                    writer.close()
        except (OSError, TimeoutError, msgspec.DecodeError):
            return None  # it is just being started again
        return row

    def close(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.close()
        self._socket(self.process).unlink(missing_ok=True)
        self._board.close()
