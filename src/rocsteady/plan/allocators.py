"""Models of memory allocators: paged KV blocks, first fit, best fit, and one like PyTorch's caching allocator.

Each hands out byte ranges of one arena. ``allocate`` returns a handle or None when it cannot; ``free`` gives it back.
``taken`` counts bytes that are bound (asked for + waste by alignment), ``asked`` what the requests wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Allocator(Protocol):
    """What the simulator needs."""

    capacity: int
    asked: int
    taken: int

    def allocate(self, size: int) -> int | None:
        """A handle for ``size`` bytes, None when there is no room."""

    def free(self, handle: int) -> None:
        """Give a range back."""

    def largest_free(self) -> int:
        """Largest request that would succeed now, bytes."""

    def free_bytes(self) -> int:
        """Bytes not bound by a request."""

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Start and end of all bound ranges, for checking."""


class Paged:
    """vLLM's KV blocks: any free block serves any request, so there is no external fragmentation."""

    def __init__(self, capacity: int, block: int) -> None:
        self.block = block
        self.blocks = capacity // block
        self.capacity = self.blocks * block
        self.asked = self.taken = 0
        self._free = list(range(self.blocks))
        self._held: dict[int, tuple[list[int], int]] = {}
        self._next = 0

    def allocate(self, size: int) -> int | None:
        """Whole blocks, wherever they are."""
        need = -(-size // self.block)
        if size <= 0 or need > len(self._free):
            return None
        blocks = [self._free.pop() for _ in range(need)]
        self._next += 1
        self._held[self._next] = (blocks, size)
        self.asked += size
        self.taken += need * self.block
        return self._next

    def free(self, handle: int) -> None:
        """All blocks of the request."""
        blocks, size = self._held.pop(handle)
        self._free.extend(blocks)
        self.asked -= size
        self.taken -= len(blocks) * self.block

    def largest_free(self) -> int:
        """All free blocks together: they need not be neighbours."""
        return len(self._free) * self.block

    def free_bytes(self) -> int:
        """Free blocks."""
        return len(self._free) * self.block

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Each block by itself."""
        for blocks, _ in self._held.values():
            for b in blocks:
                yield b * self.block, (b + 1) * self.block


class Fit:
    """One contiguous range per request; ``best`` takes the smallest hole that is large enough, else the first."""

    def __init__(self, capacity: int, align: int = 512, best: bool = False) -> None:
        self.capacity = capacity
        self.align = align
        self.best = best
        self.asked = self.taken = 0
        self._holes: list[tuple[int, int]] = [(0, capacity)]
        self._held: dict[int, tuple[int, int, int]] = {}
        self._next = 0

    def allocate(self, size: int) -> int | None:
        """A range in a hole, aligned."""
        need = -(-size // self.align) * self.align
        fitting = [(end - start, i) for i, (start, end) in enumerate(self._holes) if end - start >= need]
        if size <= 0 or not fitting:
            return None
        index = min(fitting)[1] if self.best else fitting[0][1]
        start, end = self._holes[index]
        if start + need == end:
            del self._holes[index]
        else:
            self._holes[index] = (start + need, end)
        self._next += 1
        self._held[self._next] = (start, start + need, size)
        self.asked += size
        self.taken += need
        return self._next

    def free(self, handle: int) -> None:
        """Give it back and merge with the holes beside it."""
        start, end, size = self._held.pop(handle)
        self.asked -= size
        self.taken -= end - start
        low, high = 0, len(self._holes)
        while low < high:
            middle = (low + high) // 2
            if self._holes[middle][0] < start:
                low = middle + 1
            else:
                high = middle
        self._holes.insert(low, (start, end))
        if low + 1 < len(self._holes) and self._holes[low][1] == self._holes[low + 1][0]:
            self._holes[low] = (self._holes[low][0], self._holes.pop(low + 1)[1])
        if low and self._holes[low - 1][1] == self._holes[low][0]:
            self._holes[low - 1] = (self._holes[low - 1][0], self._holes.pop(low)[1])

    def largest_free(self) -> int:
        """The largest hole."""
        return max((end - start for start, end in self._holes), default=0)

    def free_bytes(self) -> int:
        """All holes."""
        return sum(end - start for start, end in self._holes)

    def compact(self) -> int:
        """Move everything to the start; returns the bytes that were copied."""
        moved = place = 0
        for handle, (start, end, size) in sorted(self._held.items(), key=lambda x: x[1][0]):
            if start != place:
                moved += end - start
            self._held[handle] = (place, place + end - start, size)
            place += end - start
        self._holes = [(place, self.capacity)] if place < self.capacity else []
        return moved

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Bound ranges."""
        for start, end, _ in self._held.values():
            yield start, end


MIB = 1 << 20
SMALL, SMALL_SEGMENT, LARGE_SEGMENT, LARGE, ROUND = MIB, 2 * MIB, 20 * MIB, 10 * MIB, 2 * MIB
"""PyTorch's sizes: requests up to 1 MiB come from 2 MiB segments, up to 10 MiB from 20 MiB ones, larger ones get a
segment of their own rounded up to 2 MiB; all are rounded to 512 bytes (c10/cuda/CUDACachingAllocator)."""


class Caching:
    """Segments taken from the device and kept; a request is cut from a cached segment by best fit.

    ``expandable``: one address range that grows in 2 MiB pages, so that a segment's edge is no border; freed pages at
    the end serve any larger request. When the device is full, segments that are wholly free go back to it first.
    """

    def __init__(self, capacity: int, expandable: bool = False) -> None:
        self.capacity = capacity
        self.expandable = expandable
        self.asked = self.taken = 0
        self._segments: dict[int, tuple[int, Fit]] = {}
        self._held: dict[int, tuple[int, int]] = {}
        self._reserved = 0
        self._next = self._segment = 0

    def allocate(self, size: int) -> int | None:
        """From a cached segment, else from a new one."""
        if size <= 0:
            return None
        pool = 0 if size <= SMALL else 1
        options = []
        for key, (kind, segment) in self._segments.items():
            room = segment.largest_free()
            if kind == pool and room >= -(-size // 512) * 512:
                options.append((room, key))
        handle = None
        if options:
            key = min(options)[1]
            handle = self._segments[key][1].allocate(size)
        if handle is None:
            new = self._new_segment(size, pool)
            if new is None:
                return None
            key = new
            handle = self._segments[key][1].allocate(size)
            if handle is None:
                return None
        self._next += 1
        self._held[self._next] = (key, handle)
        self.asked += size
        self._count()
        return self._next

    def _new_segment(self, size: int, pool: int) -> int | None:
        if self.expandable:
            key = next((k for k, (kind, _) in self._segments.items() if kind == pool), None)
            if key is None:
                self._segment += 1
                key = self._segment
                self._segments[key] = (pool, Fit(0, 512, best=True))
            segment = self._segments[key][1]
            tail = (
                segment._holes[-1]
                if segment._holes and segment._holes[-1][1] == segment.capacity
                else (segment.capacity, segment.capacity)
            )
            grow = -(-(-(-size // 512) * 512 - (tail[1] - tail[0])) // ROUND) * ROUND
            if self._reserved + grow > self.capacity and not self._release(grow):
                return None
            _extend(segment, grow)
            self._reserved += grow
            return key
        if size <= SMALL:
            want = SMALL_SEGMENT
        elif size < LARGE:
            want = LARGE_SEGMENT
        else:
            want = -(-size // ROUND) * ROUND
        if self._reserved + want > self.capacity and not self._release(want):
            return None
        self._segment += 1
        self._segments[self._segment] = (pool, Fit(want, 512, best=True))
        self._reserved += want
        return self._segment

    def _release(self, want: int) -> bool:
        """Give wholly free segments back to the device; with expandable segments also the free pages in between."""
        for key, (_, segment) in list(self._segments.items()):
            if not segment.taken:
                self._reserved -= segment.capacity
                del self._segments[key]
        return self._reserved + want <= self.capacity

    def _count(self) -> None:
        self.taken = sum(s.taken for _, s in self._segments.values())

    def free(self, handle: int) -> None:
        """Back to its segment, which stays reserved."""
        key, inner = self._held.pop(handle)
        segment = self._segments[key][1]
        self.asked -= segment._held[inner][2]
        segment.free(inner)
        self._count()

    def largest_free(self) -> int:
        """The best hole, or what the device still has."""
        holes = [s.largest_free() for _, s in self._segments.values()]
        empty = sum(s.capacity for _, s in self._segments.values() if not s.taken)
        device = (self.capacity - self._reserved + empty) // ROUND * ROUND
        return max([*holes, device])

    def free_bytes(self) -> int:
        """Everything that no request holds."""
        return self.capacity - self.taken

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Bound ranges; segments are laid end to end for checking."""
        base = 0
        for _, segment in self._segments.values():
            for start, end in segment.ranges():
                yield base + start, base + end
            base += segment.capacity


def _extend(segment: Fit, grow: int) -> None:
    """Add bytes at the end of a segment."""
    old = segment.capacity
    segment.capacity = old + grow
    if segment._holes and segment._holes[-1][1] == old:
        segment._holes[-1] = (segment._holes[-1][0], old + grow)
    else:
        segment._holes.append((old, old + grow))
