"""Which workers a request may go to, best first, and which stage of the ladder each one is. Pure but for the dice.

Home is where the request would go if all was well. While home works the answer is ``primary``. If it does not, the
ladder goes: another GPU of home's node, another node, another precision of the model, a smaller model, the CPU. When
every step is out, workers that are out for their health are tried all the same (``last``): the last capacity is never
dropped. A worker that a person drained is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from rocsteady.gateway.config import LADDER, ModelRule
from rocsteady.gateway.interfaces import Call
from rocsteady.gateway.scheduler import PoolState, choose_pool
from rocsteady.gateway.worker import Worker

USUAL_CONCURRENCY = 256
"""Requests at which a worker counts as full where nothing better is known: vLLM's default for --max-num-seqs."""

LOOK_AT = 8
"""Workers whose load is compared for one request; beyond two, more choices gain little (power of two choices)."""


class Pick(msgspec.Struct, frozen=True):
    """One candidate: its stage of the ladder, and why not an earlier one ('' for ``primary``)."""

    worker: Worker
    stage: str
    reason: str


class _Group:
    """Workers of one model."""

    __slots__ = ("cpu", "pools")

    def __init__(self) -> None:
        self.pools: dict[str, list[Worker]] = {}
        self.cpu: list[Worker] = []


class Router:
    """All workers of this process, by model."""

    def __init__(self, rules: Iterable[ModelRule], random: Callable[[], float]) -> None:
        self._rules = {rule.name: rule for rule in rules}
        self._random = random
        self._groups: dict[str, _Group] = {}
        self.workers: dict[str, Worker] = {}

    def replace(self, workers: Iterable[Worker], rules: Iterable[ModelRule] | None = None) -> None:
        """Take a new set of workers (and rules). Requests on their way keep the ones they have."""
        if rules is not None:
            self._rules = {rule.name: rule for rule in rules}
        self.workers = {worker.name: worker for worker in workers}
        self._groups = {}
        for worker in self.workers.values():
            group = self._groups.setdefault(worker.spec.model, _Group())
            if worker.spec.tier == "cpu":
                group.cpu.append(worker)
            else:
                group.pools.setdefault(worker.spec.precision, []).append(worker)
        for group in self._groups.values():
            if not group.pools:  # a model that only CPUs serve has no ladder to go down
                for worker in group.cpu:
                    group.pools.setdefault(worker.spec.precision, []).append(worker)
                group.cpu = []

    def models(self) -> list[str]:
        """Names that clients may ask for."""
        return sorted({*self._groups, *self._rules})

    def candidates(
        self, call: Call, failed: Sequence[tuple[Worker, str]] = (), *, whole: bool = False
    ) -> Sequence[Pick]:
        """Workers that may answer, best first. ``failed``: tried for this call, with why it did not work.

        While home works only its pool is given, unless ``whole`` asks for the rest of the ladder too.
        """
        model = call.view.model
        group = self._groups.get(model)
        rule = self._rules.get(model)
        if not failed and not whole and group is not None and len(group.pools) == 1:
            quick = self._quick(next(iter(group.pools.values())))
            if quick is not None:
                return quick
        return self._full(call, group, rule, failed)

    def _quick(self, pool: list[Worker]) -> list[Pick] | None:
        """All of a single pool are well: the usual case, without building the ladder."""
        for worker in pool:
            if worker.health.state != "healthy" or worker.blocked:
                return None
        if len(pool) == 1:
            return [Pick(pool[0], "primary", "")]
        if len(pool) <= LOOK_AT:
            ordered = sorted(pool, key=self._key)
        else:  # of many workers some are compared, from a random place on
            start = int(self._random() * len(pool)) % len(pool)
            turned = pool[start:] + pool[:start]
            ordered = sorted(turned[:LOOK_AT], key=self._key) + turned[LOOK_AT:]
        return [Pick(worker, "primary", "") for worker in ordered]

    def _key(self, worker: Worker) -> tuple[int, float, float]:
        return worker.health.rank, worker.score, self._random()

    def _full(
        self, call: Call, group: _Group | None, rule: ModelRule | None, failed: Sequence[tuple[Worker, str]]
    ) -> list[Pick]:
        ladder = LADDER if rule is None else rule.ladder
        tried = {worker.name for worker, _ in failed}
        picks: list[Pick] = []
        reason = failed[0][1] if failed else ""
        spare: list[Worker] = []
        if group is not None:
            order, why = self._pools(call, group, rule)
            for place, precision in enumerate(order):
                pool = group.pools[precision]
                spare += pool
                if place == 0:
                    found, trouble = self._home(pool, failed, tried, ladder, why)
                    picks += found
                    reason = reason or trouble
                elif call.degrade and "precision" in ladder:
                    picks += self._step(pool, tried, "precision", reason or why or "no room")
        if call.degrade:
            for other in rule.smaller if rule is not None and "model" in ladder else ():
                below = self._groups.get(other)
                for pool in below.pools.values() if below is not None else ():
                    if pool[0].spec.tier == "gpu":
                        picks += self._step(pool, tried, "model", reason or f"no worker for {call.view.model}")
            if "cpu" in ladder:
                picks += self._step(self._cpus(group, rule), tried, "cpu", reason or f"no GPU for {call.view.model}")
        if not picks:
            picks = self._last(spare, failed)
        return picks

    def _pools(self, call: Call, group: _Group, rule: ModelRule | None) -> tuple[Sequence[str], str]:
        if len(group.pools) == 1:
            return tuple(group.pools), ""
        states = [pool_state(precision, pool) for precision, pool in group.pools.items()]
        choice = choose_pool(
            rule.pool if rule is not None else (), states, call.prompt_tokens, call.output_tokens, degrade=call.degrade
        )
        return choice.order, choice.reason

    def _home(
        self, pool: list[Worker], failed: Sequence[tuple[Worker, str]], tried: set[str], ladder: Sequence[str], why: str
    ) -> tuple[list[Pick], str]:
        """Candidates of the first pool, and why home is out."""
        blocked = [(worker, worker.blocked) for worker in pool if worker.blocked]
        home: tuple[Worker, str] | None = None
        if failed:
            home = failed[0]
        elif blocked and self._random() < len(blocked) / len(pool):
            home = blocked[int(self._random() * len(blocked)) % len(blocked)]
        free = sorted((w for w in pool if not w.blocked and w.name not in tried), key=self._key)
        if home is None:
            stage = "precision" if why else "primary"
            trouble = blocked[0][1] if blocked else ""
            return [Pick(worker, stage, why) for worker in free], trouble
        reason = f"{home[0].name}: {home[1]}"
        node = home[0].spec.node
        near = [w for w in free if node and w.spec.node == node]
        far = [w for w in free if not (node and w.spec.node == node)]
        steps: list[Pick] = []
        if "gpu" in ladder:
            steps += [Pick(worker, "gpu", reason) for worker in near]
        if "node" in ladder:
            steps += [Pick(worker, "node", reason) for worker in far]
        return steps, reason

    def _step(self, pool: Iterable[Worker], tried: set[str], stage: str, reason: str) -> list[Pick]:
        free = sorted((w for w in pool if not w.blocked and w.name not in tried), key=self._key)
        return [Pick(worker, stage, reason) for worker in free]

    def _cpus(self, group: _Group | None, rule: ModelRule | None) -> list[Worker]:
        found = list(group.cpu) if group is not None else []
        for other in rule.smaller if rule is not None else ():
            below = self._groups.get(other)
            if below is not None:
                found += below.cpu
                found += [w for pool in below.pools.values() for w in pool if w.spec.tier == "cpu"]
        return found

    def _last(self, pool: list[Worker], failed: Sequence[tuple[Worker, str]]) -> list[Pick]:
        """The last capacity: what is out, but not by a person's wish."""
        times: dict[str, int] = {}
        for worker, _ in failed:
            times[worker.name] = times.get(worker.name, 0) + 1
        left = [w for w in pool if not w.drained and times.get(w.name, 0) < 2]
        left.sort(key=lambda w: (times.get(w.name, 0), *self._key(w)))
        return [Pick(w, "last", f"nothing else is left; {w.name}: {w.blocked or 'failed before'}") for w in left]

    def same(self, worker: Worker, tried: Sequence[Worker]) -> list[Worker]:
        """Where a broken answer of ``worker`` may go on: same model and precision; itself last."""
        group = self._groups.get(worker.spec.model)
        pool = group.pools.get(worker.spec.precision, []) if group is not None else []
        names = {w.name for w in tried}
        others = sorted((w for w in pool if not w.blocked and w.name not in names), key=self._key)
        return others + [w for w in pool if w is worker and not w.drained]


def pool_state(precision: str, pool: Sequence[Worker]) -> PoolState:
    """What the scheduler wants to know about a pool."""
    usable = [worker for worker in pool if not worker.blocked]
    shown = usable or pool
    loads = []
    for worker in shown:
        by_count = worker.inflight / (worker.spec.max_concurrency or USUAL_CONCURRENCY)
        kv = worker.load.kv_usage if worker.load is not None and worker.load.kv_usage is not None else 0.0
        loads.append(max(by_count, kv))
    measured = [worker.ttft for worker in usable if worker.ttft is not None]
    contexts = [worker.spec.context for worker in pool]
    return PoolState(
        precision=precision, load=sum(loads) / len(loads), ttft=min(measured) if measured else None,
        context=None if any(c is None for c in contexts) else max(c for c in contexts if c is not None),
        usable=bool(usable),
    )  # fmt: skip
