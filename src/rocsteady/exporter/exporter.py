"""One exporter: its collectors, and the text of a scrape."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from rocsteady import __version__
from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.errors import PcieCollector, RasCollector, XgmiCollector
from rocsteady.exporter.collectors.kfd import KfdCollector
from rocsteady.exporter.collectors.node import NodeCollector
from rocsteady.exporter.collectors.rdma import RdmaCollector
from rocsteady.exporter.collectors.sensors import SensorCollector
from rocsteady.exporter.collectors.setup import SetupCollector
from rocsteady.exporter.collectors.tables import TableCollector
from rocsteady.exporter.exposition import Samples, TextWriter
from rocsteady.exporter.workers import DEADLINE, Collector, Workers
from rocsteady.hostfs.pinned import PinnedFS
from rocsteady.hostfs.store import Opener, open_regular
from rocsteady.metrics import own
from rocsteady.model import Gap, InputError

FACTORIES: dict[str, Callable[[PinnedFS], Collector]] = {
    TableCollector.name: TableCollector,
    SensorCollector.name: SensorCollector,
    RasCollector.name: RasCollector,
    PcieCollector.name: PcieCollector,
    XgmiCollector.name: XgmiCollector,
    SetupCollector.name: SetupCollector,
    KfdCollector.name: KfdCollector,
    NodeCollector.name: NodeCollector,
    RdmaCollector.name: RdmaCollector,
}
"""Collectors by name. Each gets a reader of its own."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What an exporter reads. ``only`` and ``without`` are names of collectors."""

    root: Path = Path("/")
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    deadline: float = DEADLINE


def chosen(options: Options) -> list[str]:
    """Names of the collectors that run.

    Raises:
        InputError: a name is not one of a collector.
    """
    for name in (*options.only, *options.without):
        if name not in FACTORIES:
            raise InputError(f"collector {name!r}: one of {', '.join(FACTORIES)}")
    names = options.only or tuple(FACTORIES)
    return [name for name in FACTORIES if name in names and name not in options.without]


class Exporter:
    """Answers scrapes. Safe to call from several threads; one scrape at a time."""

    def __init__(self, options: Options, opener: Opener = open_regular) -> None:
        self.options = options
        self._names = chosen(options)
        self._opener = opener
        self._writer = TextWriter()
        self._lock = threading.Lock()
        self._workers: Workers | None = None
        self._scrapes = 0
        self.paused = False

    @property
    def workers(self) -> Workers:
        """The collectors, started when first wanted."""
        if self._workers is None:
            self._workers = Workers([self._made(name) for name in self._names], self.options.deadline)
        return self._workers

    def _made(self, name: str) -> Collector:
        return FACTORIES[name](PinnedFS(self.options.root, self._opener))

    def samples(self) -> Samples:
        """One scrape as samples."""
        start = time.monotonic()
        with self._lock:
            samples: Samples = {} if self.paused else self.workers.collect()
            self._scrapes += 1
            batch = Batch()
            batch.add(own.EXPORTER_INFO, 1, __version__)
            batch.add(own.EXPORTER_PAUSED, int(self.paused))
            batch.add(own.EXPORTER_CPU, round(time.process_time(), 6))
            batch.add(own.EXPORTER_MEMORY, _resident())
            batch.add(own.EXPORTER_FILES, _open_files())
            batch.add(own.SCRAPES, self._scrapes)
            batch.add(own.SCRAPE_DURATION, round(time.monotonic() - start, 6))
            samples.update(batch.samples)
            return samples

    def scrape(self) -> str:
        """One scrape as text."""
        samples = self.samples()
        with self._lock:
            return self._writer.text(samples)

    @property
    def notes(self) -> Sequence[Gap]:
        """What the last scrape could not read."""
        return self._workers.notes if self._workers is not None else ()

    def pause(self) -> None:
        """Let go of the node: no thread, no open file, no read until ``resume``."""
        with self._lock:
            self.paused = True
            self._drop()

    def resume(self) -> None:
        """Read again."""
        with self._lock:
            self.paused = False

    def close(self) -> None:
        """End all threads that can be ended."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._workers is not None:
            self._workers.close()
            self._workers = None


def _resident() -> int | None:
    try:
        with open("/proc/self/statm", "rb") as handle:  # noqa: PTH123
            return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _open_files() -> int | None:
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208
    except OSError:
        return None
