"""Processes of engines: which there are, their state, and the addresses at which they can be asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.errors import text
from rocsteady.facts.engine_processes import (
    STATES,
    EngineProcess,
    read_command,
    read_network,
    read_pids,
    read_state,
)
from rocsteady.hostfs import HostFS
from rocsteady.metrics import engine as m
from rocsteady.model import Gap

EVERY = 60.0
"""Seconds between two looks at the command lines of all processes; new ones are looked at in each scrape. A process
changes its title while it starts, and a number may be used again."""
INIT = 1
"""Every user sees this process, unless /proc hides those of others (mount option hidepid, proc(5))."""
PAGE = os.sysconf("SC_PAGE_SIZE")
KINDS = tuple(dict.fromkeys((*STATES.values(), "other")))


class EngineProcessCollector:
    """Samples of the processes of engines. The engine collector asks it for addresses."""

    name = "engine_processes"

    def __init__(self, fs: HostFS, clock: Callable[[], float] = time.monotonic) -> None:
        self._fs = fs
        self._clock = clock
        self._looked_at = float("-inf")
        self._seen: frozenset[int] = frozenset()
        self._hidden: set[int] = set()
        self._engines: dict[int, EngineProcess] = {}
        self.addresses: tuple[str, ...] = ()

    def collect(self, batch: Batch) -> None:
        """Find them, and read how they are."""
        pids = read_pids(self._fs)
        if isinstance(pids, Gap):
            self._engines, self._seen, self.addresses = {}, frozenset(), ()
            batch.gap(pids)
            return
        self._find(frozenset(pids), batch)
        for pid, process in sorted(self._engines.items()):
            self._process(batch, pid, process)
        # /proc mounted with hidepid shows our own processes only: then 0 would say more than was seen
        if self._engines or (INIT in pids and not self._hidden):
            batch.add(m.PROCESSES, len(self._engines))
        self.addresses = tuple(sorted(self._asked(batch)))

    def close(self) -> None:
        """Nothing is held."""

    def _find(self, pids: frozenset[int], batch: Batch) -> None:
        """Look at what is new, at times at all."""
        now = self._clock()
        if now - self._looked_at >= EVERY:
            self._looked_at, self._seen, self._engines, self._hidden = now, frozenset(), {}, set()
        self._engines = {pid: process for pid, process in self._engines.items() if pid in pids}
        for pid in pids - self._seen:
            found = read_command(self._fs, pid)
            if isinstance(found, EngineProcess):
                self._engines[pid] = found
            elif isinstance(found, Gap) and not found.why.startswith("absent"):
                self._hidden.add(pid)
                batch.gap(found)
        self._hidden &= pids
        self._seen = pids

    def _process(self, batch: Batch, pid: int, process: EngineProcess) -> None:
        state = read_state(self._fs, pid)
        if isinstance(state, Gap):
            if not state.why.startswith("absent"):
                batch.gap(state)
            return
        label = str(pid)
        batch.add(m.PROCESS_INFO, 1, label, process.engine, process.role, text(process.port))
        for kind in KINDS:
            batch.add(m.PROCESS_STATE, int(state.state == kind), label, kind)
        batch.add(m.PROCESS_CPU, state.cpu_seconds, label)
        batch.add(m.PROCESS_MEMORY, state.resident_pages * PAGE, label)
        batch.add(m.PROCESS_THREADS, state.threads, label)

    def _asked(self, batch: Batch) -> set[str]:
        """Addresses of servers that share our network. In a namespace of its own, loopback is another one."""
        ours = network_of_ours()
        addresses = set()
        for pid, process in self._engines.items():
            if process.role != "server" or process.port is None:
                continue
            theirs = read_network(self._fs, pid)
            if theirs is not None and theirs == ours:
                addresses.add(f"http://127.0.0.1:{process.port}/metrics")
            else:
                why = "network namespace not visible" if theirs is None else "in a network namespace of its own"
                batch.skipped(f"proc/{pid}/ns/net", f"{process.engine} server {why}; name it with --engine")
        return addresses


def network_of_ours() -> str | None:
    """Our own network namespace. The kernel numbers them over the whole machine, so a mounted /proc shows the same."""
    try:
        return str(Path("/proc/self/ns/net").readlink())
    except OSError:
        return None
