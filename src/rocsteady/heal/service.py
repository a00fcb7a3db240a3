"""``heal run``: puts the parts together and keeps them going until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from rocsteady.heal.actuators.base import Actuator, Workers
from rocsteady.heal.actuators.containers import Containers
from rocsteady.heal.actuators.external import External, Runtime, run_command
from rocsteady.heal.actuators.gateway import Gateway, http_call
from rocsteady.heal.actuators.helper import Helper, unix_socket
from rocsteady.heal.actuators.people import Notifier, People, Sender, mail, webhook
from rocsteady.heal.actuators.systemd import Systemd
from rocsteady.heal.config import HealConfig, read_secret
from rocsteady.heal.follow import Follower
from rocsteady.heal.healer import Healer
from rocsteady.heal.journal import Journal, only_one
from rocsteady.heal.published import Published, workers_toml
from rocsteady.heal.report import status
from rocsteady.heal.state import HealthSeen
from rocsteady.heal.supervisor.supervisor import Supervisor
from rocsteady.heal.supervisor.surroundings import Documents
from rocsteady.heal.supervisor.vitals import HttpProber
from rocsteady.heal.view import NodeView
from rocsteady.heal.webhook import Receiver, application
from rocsteady.model import InputError

NOTIFY_EVERY = 2.0
"""Seconds between two attempts to tell people."""
SETTLE = 1.0
"""Seconds that systemd gets to begin what it was asked for, before it is asked what runs."""
Log = Callable[[float, str, str, str], None]


class Service:
    """All parts of one ``heal run``."""

    def __init__(self, config: HealConfig, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        self.config = config
        self.journal = journal
        self._clock = clock
        self._seen: dict[str, NodeView] = {}
        self._wake: Callable[[], None] = lambda: None
        actuators: dict[str, Actuator] = {"people": People(journal, clock)}
        workers: list[Workers] = []
        specs = tuple(w for w in config.worker if w.executor == "supervisor")
        self.supervisor: Supervisor | None = None
        if specs:
            surroundings = Documents(lambda: self._seen, clock, config.document_max_age)
            self.supervisor = Supervisor(
                specs, journal, journal.instance(), journal.path.with_name("workers"), HttpProber(time.monotonic),
                surroundings, clock, dict(os.environ),
            )  # fmt: skip
            actuators["supervisor"] = self.supervisor
            workers.append(self.supervisor)
        if config.gateway is not None:
            token = read_secret(config.gateway.token_file, "gateway.token_file")
            actuators["gateway"] = Gateway(http_call(config.gateway.url, token), clock)
        self._outside(workers, actuators)
        self.healer = Healer(journal, actuators, tuple(workers), config.policy(), clock)
        self._published = Published(Path(config.workers_file)) if config.workers_file else None
        self._notifier = Notifier(journal, _senders(config), clock)

    def _outside(self, workers: list[Workers], actuators: dict[str, Actuator]) -> None:
        """Executors of workers that somebody else runs, and the privileged helpers."""
        config, clock = self.config, self._clock
        asks = {node.name: unix_socket(Path(node.helper)) for node in config.node if node.helper}
        if asks:
            actuators["helper"] = Helper(asks)
        surroundings = Documents(lambda: self._seen, clock, config.document_max_age)
        for name in ("systemd", "docker", "podman"):
            specs = tuple(w for w in config.worker if w.executor == name)
            if not specs:
                continue
            runtime: Runtime = (
                Systemd(run_command, next(iter(asks.values()), None), lambda: time.sleep(SETTLE))
                if name == "systemd"
                else Containers(name, run_command)
            )
            made = External(name, specs, self.journal, runtime, HttpProber(time.monotonic), surroundings, clock)
            actuators[name] = made
            workers.append(made)

    async def run(self, ready: Callable[[str], None]) -> None:
        """Until SIGINT or SIGTERM. A second signal does not wait for workers to end."""
        loop = asyncio.get_running_loop()
        wake, end = asyncio.Event(), asyncio.Event()

        def awaken() -> None:
            loop.call_soon_threadsafe(wake.set)

        self._wake = awaken
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end.set)
        runner, address = await self._listen()
        tasks = [
            asyncio.create_task(self._follower(node.name, node.health, node.token_file).run())
            for node in self.config.node
        ]
        tasks.append(asyncio.create_task(self._notify()))
        ready(address)
        try:
            while not end.is_set():
                wake.clear()
                await asyncio.to_thread(self._safe_round)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(_first(wake, end), self.config.every)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if runner is not None:
                await runner.cleanup()
            if self.supervisor is not None and self.config.on_exit == "stop":
                while not await asyncio.to_thread(self.supervisor.stop_all):
                    await asyncio.sleep(0.1)

    def _safe_round(self) -> None:
        """A database that cannot be written (disk full) stops all acts until it can; it does not end the healer."""
        try:
            self._round()
        except sqlite3.Error as error:
            self.journal.follow(
                self._clock(), "journal", str(self.journal.path), f"{error}: nothing is done without it"
            )
            with contextlib.suppress(sqlite3.Error):
                self.healer.reload()

    def _round(self) -> None:
        for view in list(self._seen.values()):
            known = self.healer.state.nodes.get(view.node)
            if known is not view:
                self.healer.take(HealthSeen(view))
        self.healer.tick()
        if self._published is not None:
            try:
                self._published.write(workers_toml(self.config.worker, self.healer.state.workers))
            except OSError as error:
                self.journal.audit(self._clock(), "workers-file", self.config.workers_file or "", str(error))

    def _taken(self, view: NodeView) -> None:
        before = self._seen.get(view.node)
        self._seen[view.node] = view
        if before is None or [(d.state, d.reasons) for d in before.devices] != [
            (d.state, d.reasons) for d in view.devices
        ]:
            self._wake()

    def _follower(self, name: str, url: str, token_file: str | None) -> Follower:
        token = read_secret(token_file, f"node {name}: token_file") if token_file else None
        return Follower(name, url, token, self.config.poll, self._taken, self._clock)

    async def _notify(self) -> None:
        while True:
            with contextlib.suppress(sqlite3.Error):
                await asyncio.to_thread(self._notifier.send)
            await asyncio.sleep(NOTIFY_EVERY)

    async def _listen(self) -> tuple[web.AppRunner | None, str]:
        if self.config.token_file is None:
            return None, "no webhook: token_file is not set"
        token = read_secret(self.config.token_file, "token_file")
        receiver = Receiver(
            self.config.node_of, lambda events: self.journal.post(events, self._clock()), self._wake,
            lambda: status(self.healer.state, True, self._clock()), self._clock,
        )  # fmt: skip
        runner = web.AppRunner(application(receiver, token), access_log=None, handle_signals=False)
        await runner.setup()
        host, _, port = self.config.listen.rpartition(":")
        try:
            site = web.TCPSite(
                runner, host.strip("[]") or "127.0.0.1", int(port), ssl_context=_tls(self.config), shutdown_timeout=2.0
            )  # fmt: skip
            await site.start()
        except (OSError, ValueError) as error:
            await runner.cleanup()
            raise InputError(f"listen {self.config.listen}: {getattr(error, 'strerror', None) or error}") from error
        shown = runner.addresses[0]
        return runner, f"{'https' if self.config.tls_cert else 'http'}://{shown[0]}:{shown[1]}/v1/alerts"


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _tls(config: HealConfig) -> ssl.SSLContext | None:
    if config.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"tls_cert {config.tls_cert}: {error}") from error
    return context


def _senders(config: HealConfig) -> tuple[Sender, ...]:
    found: list[Sender] = []
    notify = config.notify
    if notify.webhook is not None:
        token = (
            read_secret(notify.webhook_token_file, "notify.webhook_token_file") if notify.webhook_token_file else None
        )
        found.append(webhook(notify.webhook, token))
    if notify.mail_command:
        found.append(mail(notify.mail_command))
    return tuple(found)


def run(config: HealConfig, ready: Callable[[str], None], log: Log) -> None:
    """Run until a signal comes.

    Raises:
        InputError: the state, a token or the address cannot be used.
    """
    path = Path(config.state)
    journal = Journal(path)
    try:
        with only_one(path):
            journal.follow = log
            asyncio.run(Service(config, journal).run(ready))
    finally:
        journal.close()
