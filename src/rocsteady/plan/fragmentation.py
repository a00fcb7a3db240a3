"""Replay of request mixes against allocator models: fragmentation, waste by alignment, when it ends in out-of-memory."""

from __future__ import annotations

import csv
import heapq
import math
import random
from pathlib import Path

import msgspec

from rocsteady.model import InputError
from rocsteady.plan.allocators import Allocator, Caching, Fit, Paged
from rocsteady.plan.budget import GIB, Budget

REQUESTS = 2000
MIXES: dict[str, tuple[float, float, float, float]] = {
    "chat": (6.2, 0.9, 5.3, 0.7),
    "long": (9.2, 0.7, 6.0, 0.6),
    "mixed": (7.2, 1.6, 5.5, 1.0),
}
"""Log-normal parameters (mean and sigma of the logarithm) of prompt and answer tokens: synthetic shapes, not measured."""


class Ask(msgspec.Struct, frozen=True):
    """One request: arrival in steps, tokens that it needs in the end, steps that it stays."""

    at: float
    tokens: int
    stay: float


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One allocator. Ratios 0 to 1, means over all requests.

    external: 1 - largest free range / free bytes (after each allocation).
    alignment_waste: bytes bound beyond what was asked / bytes bound, over the requests that were served.
    failed_by_fragmentation: requests refused although so many bytes were free.
    first_failure: index of the first of them, None where there was none.
    """

    allocator: str
    external: float
    external_max: float
    alignment_waste: float
    refused: int
    failed_by_fragmentation: int
    first_failure: int | None
    bytes_moved: int = 0


class Fragmentation(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    schema: str = "rocsteady.plan-fragmentation/1"
    mix: str
    requests: int
    kv_cache_gib: float
    token_bytes: float
    outcomes: tuple[Outcome, ...]
    closed_form_paged_waste: float
    answers: tuple[str, ...]


def requests_of(mix: str, longest: int, capacity_tokens: int, count: int = REQUESTS, seed: int = 1) -> list[Ask]:
    """A built-in mix, or a trace: JSON lines or CSV with ``prompt`` and ``output`` tokens, optional ``arrival`` and ``stay``.

    Raises:
        InputError: neither a built-in mix nor a readable trace.
    """
    shape = MIXES.get(mix) or _given(mix)
    if shape is not None:
        rng = random.Random(seed)
        a, b, c, d = shape
        draws = [
            (min(longest, int(rng.lognormvariate(a, b)) + 1), min(longest, int(rng.lognormvariate(c, d)) + 1))
            for _ in range(count)
        ]
        asks = [(min(longest, p + o), float(o)) for p, o in draws]
        mean = sum(t * s for t, s in asks) / count
        step = max(1e-9, mean / (0.95 * capacity_tokens))  # offered load: 95 % of the cache on average
        at = 0.0
        out = []
        for tokens, stay in asks:
            at += rng.expovariate(1 / step)
            out.append(Ask(at, tokens, stay))
        return out
    return _trace(Path(mix), longest)


def _given(text: str) -> tuple[float, float, float, float] | None:
    """``lognormal:PROMPT,SIGMA,OUTPUT,SIGMA`` with median tokens and sigmas of the logarithm; None for another text.

    Raises:
        InputError: not four sensible numbers.
    """
    name, colon, rest = text.partition(":")
    if name != "lognormal" or not colon:
        return None
    try:
        prompt, a, output, b = (float(word) for word in rest.split(","))
    except ValueError:
        prompt = a = output = b = math.nan
    if not (1 <= prompt <= 1e7 and 1 <= output <= 1e7 and 0 <= a <= 5 and 0 <= b <= 5):
        raise InputError(
            f"--fragmentation {text}: expected lognormal:PROMPT,SIGMA,OUTPUT,SIGMA, medians in tokens and sigmas 0 to 5"
        )
    return math.log(prompt), a, math.log(output), b


def _trace(path: Path, longest: int) -> list[Ask]:
    try:
        if path.stat().st_size > 256 << 20:
            raise InputError(f"{path}: a trace of more than 256 MiB")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--fragmentation {path}: no built-in mix ({', '.join(MIXES)}) and no readable trace: {error}"
        ) from error
    try:
        if text.lstrip().startswith("{"):
            rows = [msgspec.json.decode(line, type=dict[str, float]) for line in text.splitlines() if line.strip()]
        else:
            rows = [{k: float(v) for k, v in r.items() if k and v} for r in csv.DictReader(text.splitlines())]
        out = [
            Ask(r.get("arrival", float(i)), min(longest, int(r["prompt"] + r["output"])), r.get("stay", r["output"]))
            for i, r in enumerate(rows)
        ]
    except (msgspec.MsgspecError, KeyError, ValueError) as error:
        raise InputError(f"{path}: each row needs numbers prompt and output: {error}") from error
    if not out or any(a.tokens < 1 or a.stay < 0 for a in out):
        raise InputError(f"{path}: no rows, or a request without tokens")
    return sorted(out, key=lambda a: a.at)


def replay(allocator: Allocator, name: str, asks: list[Ask], token_bytes: float, compact_every: int = 0) -> Outcome:
    """All requests in order of arrival; one that gets no room is refused and not tried again."""
    leaving: list[tuple[float, int]] = []
    external: list[float] = []
    waste = bound = 0
    refused = broken = moved = 0
    first: int | None = None
    for index, ask in enumerate(asks):
        while leaving and leaving[0][0] <= ask.at:
            allocator.free(heapq.heappop(leaving)[1])
        if compact_every and index and index % compact_every == 0 and isinstance(allocator, Fit):
            moved += allocator.compact()
        size = max(1, int(ask.tokens * token_bytes))
        taken, asked = allocator.taken, allocator.asked
        handle = allocator.allocate(size)
        if handle is None:
            refused += 1
            if allocator.free_bytes() >= size and not isinstance(allocator, Paged):
                broken += 1
                first = index if first is None else first
        else:
            heapq.heappush(leaving, (ask.at + ask.stay, handle))
            bound += allocator.taken - taken
            waste += (allocator.taken - taken) - (allocator.asked - asked)
        free = allocator.free_bytes()
        external.append(1 - allocator.largest_free() / free if free > 0 else 0.0)
    return Outcome(
        allocator=name, external=sum(external) / max(1, len(external)), external_max=max(external, default=0.0),
        alignment_waste=waste / bound if bound else 0.0, refused=refused, failed_by_fragmentation=broken,
        first_failure=first, bytes_moved=moved,
    )  # fmt: skip


def simulate(b: Budget, mix: str, count: int = REQUESTS) -> Fragmentation:
    """The plan's KV cache under every allocator model.

    Raises:
        InputError: no KV cache to simulate, or an unusable trace.
    """
    capacity = int(b.per_gpu.kv_cache_gib * GIB)
    each = b.cache.block_bytes * b.per_request / b.limits.length
    if capacity <= 0 or each <= 0 or capacity < each * 64:
        raise InputError("the plan leaves no KV cache to simulate")
    asks = requests_of(mix, b.limits.length, int(capacity / each), count)
    block = max(1, int(each * b.cache.block_size))
    outcomes = [
        replay(Paged(capacity, max(1, int(each * size))), f"paged KV, {size} tokens", asks, each)
        for size in dict.fromkeys((b.cache.block_size, 16, 128, 256))
    ]
    outcomes.append(replay(Fit(capacity), "first fit", asks, each))
    outcomes.append(replay(Fit(capacity, best=True), "best fit", asks, each))
    outcomes.append(replay(Fit(capacity, 2 << 20), "first fit, 2 MiB alignment", asks, each))
    outcomes.append(replay(Fit(capacity), "first fit, compacted every 100", asks, each, compact_every=100))
    outcomes.append(replay(Caching(capacity), "caching", asks, each))
    outcomes.append(replay(Caching(capacity, expandable=True), "caching, expandable segments", asks, each))
    longest = [Ask(a.at, b.limits.length, a.stay) for a in asks]
    outcomes.append(replay(Fit(capacity), "pre-allocated to max_model_len", longest, each))
    return Fragmentation(
        mix=mix, requests=len(asks), kv_cache_gib=b.per_gpu.kv_cache_gib, token_bytes=each, outcomes=tuple(outcomes),
        closed_form_paged_waste=paged_waste(asks, each, block), answers=tuple(_answers(outcomes)),
    )  # fmt: skip


def paged_waste(asks: list[Ask], token_bytes: float, block: int) -> float:
    """Share of bound bytes lost in last blocks, without a simulation: sum of ceil(size / block) x block - size."""
    sizes = [max(1, int(a.tokens * token_bytes)) for a in asks]
    bound = [-(-s // block) * block for s in sizes]
    return (sum(bound) - sum(sizes)) / sum(bound)


def _answers(outcomes: list[Outcome]) -> list[str]:
    by = {o.allocator: o for o in outcomes}
    paged, first, compacted, before = (
        outcomes[0],
        by["first fit"],
        by["first fit, compacted every 100"],
        by["pre-allocated to max_model_len"],
    )
    out = [
        f"paged KV has no external fragmentation; {paged.alignment_waste:.2%} is lost in last blocks, so no allowance of 15 % is due"
    ]
    saved = first.failed_by_fragmentation - compacted.failed_by_fragmentation
    if saved > 0:
        out.append(
            f"a defragmentation step every 100 requests would save {saved} of {first.failed_by_fragmentation} failures of a contiguous cache and copy {compacted.bytes_moved / GIB:.0f} GiB; vLLM's paged cache needs none"
        )
    else:
        out.append("a defragmentation step every 100 requests does not help here")
    out.append(
        f"pre-allocation to max_model_len refuses {before.refused} requests where paged KV refuses {paged.refused}: {'it does not help' if before.refused >= paged.refused else 'it helps'}"
    )
    out.append(
        f"expandable segments: {by['caching, expandable segments'].failed_by_fragmentation} failures by fragmentation against {by['caching'].failed_by_fragmentation} without"
    )
    return out


def report(f: Fragmentation) -> str:
    """As text."""
    lines = [
        f"{f.requests} requests ({f.mix}), KV cache {f.kv_cache_gib:.2f} GiB, {f.token_bytes:,.0f} bytes a token",
        "",
    ]
    lines.append(
        f"{'allocator':34}{'external':>10}{'at most':>9}{'waste':>8}{'refused':>9}{'by fragmentation':>18}{'first at':>10}"
    )
    lines.extend(
        f"{o.allocator:34}{o.external:10.1%}{o.external_max:9.1%}{o.alignment_waste:8.2%}{o.refused:9}{o.failed_by_fragmentation:18}{'-' if o.first_failure is None else o.first_failure + 1:>10}"
        for o in f.outcomes
    )
    return (
        "\n".join([*lines, "", f"closed form of the paged waste: {f.closed_form_paged_waste:.2%}", *f.answers]) + "\n"
    )
