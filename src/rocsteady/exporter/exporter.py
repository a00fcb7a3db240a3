"""One exporter: its collectors, and the text of a scrape."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rocsteady import __version__
from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.engine_processes import EngineProcessCollector
from rocsteady.exporter.collectors.engines import EngineCollector
from rocsteady.exporter.collectors.errors import PcieCollector, RasCollector, XgmiCollector
from rocsteady.exporter.collectors.kernel_log import KernelLogCollector
from rocsteady.exporter.collectors.kfd import KfdCollector
from rocsteady.exporter.collectors.node import NodeCollector
from rocsteady.exporter.collectors.rdma import RdmaCollector
from rocsteady.exporter.collectors.sensors import SensorCollector
from rocsteady.exporter.collectors.setup import SetupCollector
from rocsteady.exporter.collectors.tables import TableCollector
from rocsteady.exporter.exposition import Samples, TextWriter
from rocsteady.exporter.health import Health
from rocsteady.exporter.memory import give_back, one_arena
from rocsteady.exporter.workers import DEADLINE, Collector, Workers
from rocsteady.hostfs.kernel_log import KernelLog
from rocsteady.hostfs.pinned import PinnedFS
from rocsteady.hostfs.store import Opener, open_regular
from rocsteady.metrics import own
from rocsteady.model import Gap, InputError, ReadError

HOST_NAME = "proc/sys/kernel/hostname"
GIVE_BACK_EVERY = 240
"""Scrapes between two returns of freed memory: an hour at 15 s. One costs about a millisecond."""
Factory = Callable[[PinnedFS, "Options", Opener], Collector]


def _simple(made: Callable[[PinnedFS], Collector]) -> Factory:
    return lambda fs, _options, _opener: made(fs)


def _node(fs: PinnedFS, options: Options, _opener: Opener) -> Collector:
    return NodeCollector(fs, options.model_dirs)


def _log(fs: PinnedFS, options: Options, opener: Opener) -> Collector:
    return KernelLogCollector(fs, KernelLog(options.root, opener))


def _engines(_fs: PinnedFS, options: Options, _opener: Opener) -> Collector:
    return EngineCollector(options.engines)


FACTORIES: dict[str, Factory] = {
    TableCollector.name: _simple(TableCollector),
    SensorCollector.name: _simple(SensorCollector),
    RasCollector.name: _simple(RasCollector),
    PcieCollector.name: _simple(PcieCollector),
    XgmiCollector.name: _simple(XgmiCollector),
    SetupCollector.name: _simple(SetupCollector),
    KfdCollector.name: _simple(KfdCollector),
    NodeCollector.name: _node,
    RdmaCollector.name: _simple(RdmaCollector),
    KernelLogCollector.name: _log,
    EngineProcessCollector.name: _simple(EngineProcessCollector),
    EngineCollector.name: _engines,
}
"""Collectors by name. Each gets a reader of its own."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What an exporter reads. ``only`` and ``without`` are names of collectors.

    ``model_dirs``: directories whose file systems are watched; ``engines``: ``/metrics`` addresses of engines here;
    ``find_engines``: ask those too whose processes are found in our own network namespace.
    """

    root: Path = Path("/")
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    deadline: float = DEADLINE
    model_dirs: tuple[Path, ...] = ()
    engines: tuple[str, ...] = ()
    find_engines: bool = True


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

    def __init__(
        self,
        options: Options,
        opener: Opener = open_regular,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock``: seconds since 1970, by which the states of the GPUs are judged; ``steady``: by which the time
        without a token of an engine is measured."""
        one_arena()
        self._clock = clock
        self._steady = steady
        self.options = options
        self._names = chosen(options)
        self._opener = opener
        self._writer = TextWriter()
        self._lock = threading.Lock()
        self._workers: Workers | None = None
        self._scrapes = 0
        self._log: KernelLogCollector | None = None
        self._found: EngineProcessCollector | None = None
        self._health = Health()
        self._last: Samples = {}
        self._last_at = 0.0
        self.paused = False
        self.streams = 0

    @property
    def workers(self) -> Workers:
        """The collectors, started when first wanted."""
        if self._workers is None:
            self._workers = Workers([self._made(name) for name in self._names], self.options.deadline)
        return self._workers

    def _made(self, name: str) -> Collector:
        if name == EngineCollector.name:
            return EngineCollector(self.options.engines, self._steady, self._addresses)
        made = FACTORIES[name](PinnedFS(self.options.root, self._opener), self.options, self._opener)
        if isinstance(made, KernelLogCollector):
            made.clock = self._clock
            self._log = made
        if isinstance(made, EngineProcessCollector):
            self._found = made
        return made

    def _addresses(self) -> tuple[str, ...]:
        return self._found.addresses if self._found is not None and self.options.find_engines else ()

    def samples(self) -> Samples:
        """One scrape as samples."""
        start = time.monotonic()
        with self._lock:
            samples: Samples = {} if self.paused else self.workers.collect()
            self._scrapes += 1
            if self._scrapes % GIVE_BACK_EVERY == 0:
                give_back()
            batch = Batch()
            batch.add(own.EXPORTER_INFO, 1, __version__)
            batch.add(own.EXPORTER_PAUSED, int(self.paused))
            batch.add(own.EXPORTER_CPU, round(time.process_time(), 6))
            batch.add(own.EXPORTER_MEMORY, _resident())
            batch.add(own.EXPORTER_FILES, _open_files())
            batch.add(own.SCRAPES, self._scrapes)
            batch.add(own.SCRAPE_DURATION, round(time.monotonic() - start, 6))
            if not self.paused:
                events = tuple(self._log.recent) if self._log is not None else ()
                self._health.update(samples, events, self._clock())
            samples.update(batch.samples)
            self._last, self._last_at = samples, time.monotonic()
            return samples

    def health(self, younger: float = 0.0) -> dict[str, Any]:
        """The document about the GPUs, from a scrape that is at most ``younger`` seconds old."""
        if not self._last or time.monotonic() - self._last_at > younger:
            self.samples()
        with self._lock:
            return self._health.document(self._last, self._node_name(), self._clock())

    def glance(self) -> int:
        """Read what is new in the kernel log, and nothing else: how many events it has told so far."""
        with self._lock:
            if not self.paused:
                self.workers.run(KernelLogCollector.name)
            return self._log.taken if self._log is not None else 0

    def _node_name(self) -> str:
        try:
            return PinnedFS(self.options.root, self._opener).line(HOST_NAME)
        except ReadError:
            return ""

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
