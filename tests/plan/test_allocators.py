"""Properties of the allocator models: no overlap, no lost bytes; paged KV agrees with the closed form."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocsteady.model import InputError
from rocsteady.plan.allocators import MIB, Allocator, Caching, Fit, Paged
from rocsteady.plan.fragmentation import Ask, paged_waste, replay, requests_of, simulate
from tests.plan.cases import planned

STEPS = st.lists(st.tuples(st.booleans(), st.integers(1, 30 * MIB), st.integers(0, 50)), max_size=60)
MAKERS = {
    "paged": lambda: Paged(256 * MIB, 48 * 1024),
    "first": lambda: Fit(256 * MIB),
    "best": lambda: Fit(256 * MIB, best=True),
    "aligned": lambda: Fit(256 * MIB, 2 * MIB),
    "caching": lambda: Caching(256 * MIB),
    "expandable": lambda: Caching(256 * MIB, expandable=True),
}


def check(a: Allocator) -> None:
    spans = sorted(a.ranges())
    assert all(x[1] <= y[0] for x, y in itertools.pairwise(spans)), "overlap"
    assert sum(end - start for start, end in spans) == a.taken, "lost bytes"
    assert a.taken + a.free_bytes() == a.capacity
    assert a.asked <= a.taken
    assert 0 <= a.largest_free() <= a.free_bytes()


@pytest.mark.parametrize("name", MAKERS)
@given(steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_no_overlap_and_no_lost_bytes(name: str, steps: list[tuple[bool, int, int]]) -> None:
    a = MAKERS[name]()
    held: list[int] = []
    for take, size, which in steps:
        if take or not held:
            handle = a.allocate(size)
            if handle is not None:
                held.append(handle)
        else:
            a.free(held.pop(which % len(held)))
        check(a)
    for handle in held:
        a.free(handle)
    check(a)
    assert a.taken == a.asked == 0


@given(steps=STEPS)
@settings(max_examples=40, deadline=None)
def test_compaction_keeps_everything_and_leaves_one_hole(steps: list[tuple[bool, int, int]]) -> None:
    a = Fit(256 * MIB)
    held = [h for _, size, _ in steps if (h := a.allocate(size)) is not None]
    for handle in held[::2]:
        a.free(handle)
    before = a.taken
    a.compact()
    check(a)
    assert a.taken == before
    assert a.largest_free() == a.free_bytes()


@given(sizes=st.lists(st.integers(1, 9000), min_size=1, max_size=200), block=st.sampled_from([1, 16, 128, 544]))
@settings(max_examples=60, deadline=None)
def test_paged_waste_is_the_closed_form(sizes: list[int], block: int) -> None:
    asks = [Ask(float(i), n, 1e9) for i, n in enumerate(sizes)]
    out = replay(Paged(10**9, block * 64), "paged", asks, 64.0)
    assert out.alignment_waste == pytest.approx(paged_waste(asks, 64.0, block * 64))
    assert out.external == out.failed_by_fragmentation == out.refused == 0


def test_paged_serves_as_long_as_blocks_are_free() -> None:
    a = Paged(100 * 64, 64)
    held = [a.allocate(64) for _ in range(100)]
    for handle in held[::2]:
        assert handle is not None
        a.free(handle)
    assert a.allocate(50 * 64) is not None
    assert a.allocate(1) is None


def test_contiguous_memory_fails_where_blocks_do_not() -> None:
    a = Fit(100 * 512)
    held = [a.allocate(512) for _ in range(100)]
    for handle in held[::2]:
        assert handle is not None
        a.free(handle)
    assert a.free_bytes() == 50 * 512
    assert a.allocate(1024) is None
    a.compact()
    assert a.allocate(50 * 512) is not None


def test_simulation_of_a_plan_is_deterministic() -> None:
    b = planned(max_model_len=8192)
    first = simulate(b, "chat", 1000)
    assert first == simulate(b, "chat", 1000)
    assert first.requests == 1000
    assert first.outcomes[0].failed_by_fragmentation == 0


def test_traces(tmp_path: pytest.TempPathFactory) -> None:
    file = tmp_path / "trace.csv"  # type: ignore[operator]
    file.write_text("arrival,prompt,output\n0,100,20\n1,300,40\n")
    assert [a.tokens for a in requests_of(str(file), 10_000, 10_000)] == [120, 340]
    file.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="prompt and output"):
        requests_of(str(file), 10_000, 10_000)
    with pytest.raises(InputError, match="no built-in mix"):
        requests_of("nothing-like-it", 10_000, 10_000)
