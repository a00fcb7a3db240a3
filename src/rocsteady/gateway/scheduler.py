"""Mixed precision: which pool of replicas (FP16, FP8, AWQ ...) a request belongs to. Pure.

A pool is all workers of one model with one precision. The configuration lists the pools of a model best quality first;
a request takes the first one that its length fits into, that has room, and that meets the wanted time to first token.
Without a list there is one order: pools as they are first seen among the workers, none preferred by length.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class PoolRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One pool in the configuration.

    ``shortest``, ``longest``: estimated prompt tokens it takes. ``full``: load (0 to 1) from which new work goes to the
    next pool. ``ttft_seconds``: wanted time to first token; work goes on where the measured one is above.
    """

    precision: str
    shortest: int = 0
    longest: int | None = None
    full: float = 0.85
    ttft_seconds: float | None = None


class PoolState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a pool now. ``load``: 0 idle, 1 full. ``ttft``: seconds, None: nothing measured.

    ``context``: the longest request (prompt and answer) any of its workers takes; None: not known.
    """

    precision: str
    load: float
    ttft: float | None = None
    context: int | None = None
    usable: bool = True


class Choice(msgspec.Struct, frozen=True):
    """Pools in the order of trying, and why the first one is not the best in quality ('' if it is)."""

    order: tuple[str, ...]
    reason: str


def choose_pool(
    rules: Sequence[PoolRule], pools: Sequence[PoolState], prompt: int, output: int | None, *, degrade: bool
) -> Choice:
    """Order the pools for one request.

    ``degrade`` False: only pools of the best precision that the length fits into. ``output`` None: not limited by the
    client, so only the prompt has to fit.
    """
    by_name = {rule.precision: rule for rule in rules}
    rank = {rule.precision: place for place, rule in enumerate(rules)}
    states = sorted(pools, key=lambda pool: rank.get(pool.precision, len(rank)))
    need = prompt + (output or 0)
    fitting: list[PoolState] = []
    why: list[str] = []
    for pool in states:
        rule = by_name.get(pool.precision)
        if pool.context is not None and need > pool.context:
            why.append(f"{pool.precision or 'pool'} takes {pool.context} tokens, about {need} are needed")
        elif rule is not None and prompt < rule.shortest:
            why.append(f"prompt of about {prompt} tokens is short for {pool.precision}")
        elif rule is not None and rule.longest is not None and prompt > rule.longest:
            why.append(f"prompt of about {prompt} tokens is long for {pool.precision}")
        else:
            fitting.append(pool)
    if not fitting:  # estimates may be wrong: the engine decides
        return Choice(tuple(pool.precision for pool in states[: len(states) if degrade else 1]), "")
    if not degrade:
        return Choice((fitting[0].precision,), why[0] if why else "")
    good: list[PoolState] = []
    late: list[PoolState] = []
    for pool in fitting:
        rule = by_name.get(pool.precision)
        trouble = ""
        if not pool.usable:
            trouble = f"no worker of {pool.precision or 'the pool'} is usable"
        elif rule is not None and pool.load >= rule.full:
            trouble = f"load of {pool.precision} is {pool.load:.2f}"
        elif rule is not None and rule.ttft_seconds is not None and (pool.ttft or 0.0) > rule.ttft_seconds:
            trouble = f"time to first token of {pool.precision} is {pool.ttft:.2f} s"
        if trouble:
            late.append(pool)
            why.append(trouble)
        else:
            good.append(pool)
    late.sort(key=lambda pool: (not pool.usable, pool.load))
    order = tuple(pool.precision for pool in (*good, *late))
    best = states[0].precision
    return Choice(order, "" if order[0] == best or not why else why[0])
