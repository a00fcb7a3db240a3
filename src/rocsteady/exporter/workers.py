"""Runs each collector in a thread of its own, so that a read that never returns costs that collector only."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from rocsteady.exporter.batch import Batch, usable
from rocsteady.exporter.exposition import Samples
from rocsteady.metrics import own
from rocsteady.model import Gap

DEADLINE = 4.0
"""Seconds that a scrape waits for its collectors. Prometheus gives a scrape 10 s by default (``scrape_timeout``); what
is late must still be reported, and a firmware query of a busy GPU takes tens of milliseconds."""


class Collector(Protocol):
    """One group of metrics that is read together."""

    name: str

    def collect(self, batch: Batch) -> None:
        """Read everything once."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


class Worker:
    """One collector and its thread. The thread is a daemon: one that hangs in the kernel does not keep us from ending."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.cpu = 0.0
        self.duration = 0.0
        self.last_success: float | None = None
        self._asked = threading.Event()
        self._done = threading.Event()
        self._done.set()
        self._started = 0.0
        self._batch = Batch()
        self._failed = False
        self._ending = False
        self._thread: threading.Thread | None = None

    def ask(self) -> bool:
        """Start a run; False where the last one still hangs."""
        if not self._done.is_set():
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name=self.collector.name, daemon=True)
            self._thread.start()
        self._done.clear()
        self._started = time.monotonic()
        self._asked.set()
        return True

    def answer(self, until: float) -> Batch | None:
        """The batch of the run that was asked for; None when it is not there by ``until`` (monotonic time)."""
        if not self._done.wait(max(0.0, until - time.monotonic())):
            return None
        return self._batch

    @property
    def failed(self) -> bool:
        """Whether the last run ended in an error of ours."""
        return self._failed

    @property
    def seconds(self) -> float:
        """Duration of the last run, or the time that the present one has taken so far."""
        return self.duration if self._done.is_set() else time.monotonic() - self._started

    def close(self) -> None:
        """End the thread when it is idle; a thread that hangs is left behind."""
        self._ending = True
        self._asked.set()
        if self._done.is_set():
            if self._thread is not None:
                self._thread.join(1.0)
            self.collector.close()

    def _loop(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._ending:
                return
            batch = Batch()
            cpu, start = time.thread_time(), time.monotonic()
            failed = False
            try:
                self.collector.collect(batch)
            except Exception as error:  # one broken collector must not take the others along
                failed = True
                batch = Batch()
                batch.gap(Gap(self.collector.name, f"failed: {type(error).__name__}: {error}"))
            self.cpu += time.thread_time() - cpu
            self.duration = time.monotonic() - start
            self._batch, self._failed = batch, failed
            if not failed:
                self.last_success = time.monotonic()
            self._done.set()


class Workers:
    """All collectors of one exporter."""

    def __init__(self, collectors: Sequence[Collector], deadline: float = DEADLINE) -> None:
        self.workers = [Worker(c) for c in collectors]
        self.deadline = deadline
        self.notes: list[Gap] = []

    def collect(self) -> Samples:
        """One run of all collectors: their samples, and series about the collectors themselves."""
        until = time.monotonic() + self.deadline
        asked = [worker.ask() for worker in self.workers]
        merged: Samples = {}
        notes: list[Gap] = []
        about = Batch()
        for worker, started in zip(self.workers, asked, strict=True):
            name = worker.collector.name
            batch = worker.answer(until) if started else None
            if batch is None:
                notes.append(Gap(name, f"timeout: no answer for {worker.seconds:.1f} s"))
                about.add(own.COLLECTOR_UNREADABLE, 1, name, "timeout")
            else:
                _merge(merged, batch.samples)
                notes += batch.notes
                for reason, count in batch.reasons.items():
                    about.add(own.COLLECTOR_UNREADABLE, count, name, reason)
            about.add(own.COLLECTOR_SUCCESS, int(batch is not None and not worker.failed), name)
            about.add(own.COLLECTOR_DURATION, round(worker.seconds, 6), name)
            about.add(own.COLLECTOR_CPU, round(worker.cpu, 6), name)
            if worker.last_success is not None:
                about.add(own.COLLECTOR_AGE, round(max(0.0, time.monotonic() - worker.last_success), 6), name)
        _merge(merged, about.samples)
        self.notes = notes
        return merged

    def run(self, name: str) -> None:
        """Run one collector alone, for what it remembers; its samples are dropped."""
        for worker in self.workers:
            if worker.collector.name == name and worker.ask():
                worker.answer(time.monotonic() + self.deadline)

    def close(self) -> None:
        """Let go of everything."""
        for worker in self.workers:
            worker.close()


def _merge(into: Samples, new: Samples) -> None:
    for metric, series in new.items():
        known = into.setdefault(metric, {})
        for labels, value in series.items():
            if usable(value):
                known.setdefault(labels, value)
