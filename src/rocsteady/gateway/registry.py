"""Which workers there are: from the configuration, from files, from DNS."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

from rocsteady.gateway.config import Config, Source, load_workers, read_secret
from rocsteady.gateway.health import Health, Rules
from rocsteady.gateway.routing import Router
from rocsteady.gateway.store import Store
from rocsteady.gateway.worker import Worker, WorkerSpec
from rocsteady.model import InputError

Resolve = Callable[[str, int], Awaitable[list[str]]]


async def resolve(host: str, port: int) -> list[str]:
    """Addresses of a name, sorted.

    Raises:
        OSError: the name cannot be resolved now.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return sorted({str(entry[4][0]) for entry in found})


def from_addresses(source: Source, addresses: list[str]) -> tuple[WorkerSpec, ...]:
    """One worker for each address of a name."""
    bound = {bind.address: bind for bind in source.bind}
    specs = []
    for address in addresses:
        host = f"[{address}]" if ":" in address else address
        bind = bound.get(address)
        specs.append(
            WorkerSpec(
                name=f"{source.host}/{address}", url=f"{source.scheme}://{host}:{source.port}", model=source.model,
                served=source.served, node=bind.node if bind else "", gpus=bind.gpus if bind else (),
                precision=source.precision, tier=source.tier, context=source.context,
                max_concurrency=source.max_concurrency, kv_tokens=source.kv_tokens, token_file=source.token_file,
                canary=source.canary, source="dns",
            )
        )  # fmt: skip
    return tuple(specs)


class Registry:
    """Keeps the router's workers in step with their sources. A worker whose entry did not change keeps its state."""

    def __init__(self, router: Router, store: Store, rules: Rules, now: Callable[[], float]) -> None:
        self._router = router
        self._store = store
        self._rules = rules
        self._now = now
        self._parts: dict[str, tuple[WorkerSpec, ...]] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        self.problems: dict[str, str] = {}

    def configure(self, config: Config) -> None:
        """Take the static workers and forget sources that are gone."""
        wanted = {_name(source) for source in config.source}
        self._rules = config.health
        self._parts = {name: specs for name, specs in self._parts.items() if name in wanted}
        self._stamps = {name: stamp for name, stamp in self._stamps.items() if name in wanted}
        self._parts["config"] = config.worker
        for source in config.source:
            if source.kind == "file":
                self.read_file(source)
        self._apply(config)

    def read_file(self, source: Source) -> bool:
        """Read a file of workers if it changed. A damaged one changes nothing and is a problem that shows."""
        name = _name(source)
        try:
            status = Path(source.path).stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if self._stamps.get(name) == stamp:
                return False
            specs = load_workers(Path(source.path))
        except (OSError, InputError) as error:
            self.problems[name] = str(error)
            return False
        self._stamps[name] = stamp
        self._parts[name] = specs
        self.problems.pop(name, None)
        return True

    async def refresh(self, config: Config, source: Source, ask: Resolve = resolve) -> None:
        """Look at one source again."""
        name = _name(source)
        if source.kind == "file":
            if self.read_file(source):
                self._apply(config)
            return
        try:
            addresses = await ask(source.host, source.port)
        except OSError as error:  # keep what was known: a resolver that fails says nothing about workers
            self.problems[name] = f"{source.host}: {error.strerror or error}"
            return
        self.problems.pop(name, None)
        specs = from_addresses(source, addresses)
        if specs and specs != self._parts.get(name):
            self._parts[name] = specs
            self._apply(config)

    def _apply(self, config: Config) -> None:
        old = self._router.workers
        drains, outs = self._store.drains(), self._store.outs()
        workers: dict[str, Worker] = {}
        for part in self._parts.values():
            for spec in part:
                if spec.name in workers:
                    self.problems[f"worker {spec.name}"] = "its name is there twice; the first counts"
                    continue
                known = old.get(spec.name)
                if known is None or known.spec != spec:
                    known = self._make(spec, outs)
                known.drained = drains.get(spec.name, "")
                workers[spec.name] = known
        for name, worker in old.items():
            worker.removed = workers.get(name) is not worker
        self._router.replace(workers.values(), config.model)

    def _make(self, spec: WorkerSpec, outs: dict[str, str]) -> Worker:
        token = ""
        if spec.token_file:
            try:
                token = read_secret(spec.token_file)
            except InputError as error:
                self.problems[f"worker {spec.name}"] = str(error)
        now = self._now()
        worker = Worker(spec, Health(self._rules, now), token)
        if spec.name in outs:
            worker.health.failure("frozen", f"before the restart: {outs[spec.name]}", now)
        return worker

    def redrain(self) -> None:
        """Take over drains that another process wrote."""
        drains = self._store.drains()
        for worker in self._router.workers.values():
            worker.drained = drains.get(worker.name, "")


def _name(source: Source) -> str:
    return f"{source.kind} {source.path or source.host}:{source.port}"
