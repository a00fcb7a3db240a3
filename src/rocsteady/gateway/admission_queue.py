"""Who is served next: a bounded queue with weighted fair shares, deadlines and shedding. Pure; time is an argument.

Order is that of start-time fair queueing (Goyal, Vin, Cheng 1996): each request gets a start tag, the larger of the virtual
time and the end of its key's previous one; its end is the start plus its tokens over the weight of the key. The smallest
start is served first, so that a key which sends much waits behind itself and not in front of others.

Nobody is starved: tags of later requests only grow, and a request that is next but finds no room keeps the workers that it
waits for from those behind it.

Where the queue is full, the least important request goes: largest ``priority`` number, then the key that has the most in
the queue for its weight, then the newest. It may be the one that just came.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
W = TypeVar("W")


class Entry(Generic[T, W]):
    """One waiting request. ``workers``: where it may go, best first."""

    __slots__ = ("deadline", "ids", "key", "number", "priority", "start", "tokens", "weight", "what", "workers")

    def __init__(
        self, what: T, *, key: str, weight: float, priority: int, tokens: int, deadline: float, workers: tuple[W, ...]
    ) -> None:
        self.what = what
        self.key, self.weight, self.priority = key, weight, priority
        self.tokens, self.deadline, self.workers = tokens, deadline, workers
        self.ids = frozenset(id(w) for w in workers)
        self.start, self.number = 0.0, 0


class FairQueue(Generic[T, W]):
    """The queue of one process."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: list[Entry[T, W]] = []
        self._virtual = 0.0
        self._ends: dict[str, float] = {}
        self._number = 0
        self._wanted: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, entry: Entry[T, W]) -> Entry[T, W] | None:
        """Add a request; returns the one that has to go for it, which may be itself."""
        self._number += 1
        entry.number = self._number
        entry.start = max(self._virtual, self._ends.get(entry.key, 0.0))
        self._ends[entry.key] = entry.start + max(1, entry.tokens) / entry.weight
        insort(self._entries, entry, key=_order)
        self._wanted.update(entry.ids)
        if len(self._entries) <= self.most:
            return None
        victim = self._victim()
        self.remove(victim)
        return victim

    def _victim(self) -> Entry[T, W]:
        counts: dict[str, float] = {}
        for entry in self._entries:
            counts[entry.key] = counts.get(entry.key, 0.0) + 1.0 / entry.weight
        return max(self._entries, key=lambda e: (e.priority, counts[e.key], e.number))

    def remove(self, entry: Entry[T, W]) -> bool:
        """Take a request out; False where it is not in."""
        if entry not in self._entries:
            return False
        self._entries.remove(entry)
        self._wanted.subtract(entry.ids)
        if not self._entries:
            self._wanted.clear()
            self._ends.clear()
            self._virtual = 0.0
        return True

    def ready(self, place: Callable[[Entry[T, W], frozenset[int]], W | None]) -> list[tuple[Entry[T, W], W]]:
        """Take out all that can start now, in order.

        ``place`` finds room, counts it in and returns the worker, or None; it gets the ids (``id()``) of the workers that
        an earlier request waits for.
        """
        started: list[tuple[Entry[T, W], W]] = []
        waited_for: frozenset[int] = frozenset()
        for entry in self._entries[:]:
            if entry.ids <= waited_for:
                continue
            worker = place(entry, waited_for)
            if worker is None:
                waited_for |= entry.ids
                continue
            self._virtual = max(self._virtual, entry.start)
            self.remove(entry)
            started.append((entry, worker))
        return started

    def expired(self, now: float) -> list[Entry[T, W]]:
        """Take out all whose deadline has passed."""
        late = [e for e in self._entries if e.deadline <= now]
        for entry in late:
            self.remove(entry)
        return late

    def take_if(self, wanted: Callable[[Entry[T, W]], bool]) -> list[Entry[T, W]]:
        """Take out all that fulfil a condition."""
        found = [e for e in self._entries if wanted(e)]
        for entry in found:
            self.remove(entry)
        return found

    def ahead_of(self, workers: Iterable[W]) -> bool:
        """Whether somebody waits for one of these workers."""
        return bool(self._entries) and any(self._wanted[id(w)] > 0 for w in workers)


def _order(entry: Entry[T, W]) -> tuple[float, int]:
    return entry.start, entry.number
