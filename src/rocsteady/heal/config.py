"""``heal.toml``: read, checked, turned into a policy. Every key is described in ``docs/heal.md``."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from rocsteady.heal.ladder import load_ladder
from rocsteady.heal.policy import (
    DAYS,
    DEFAULT_MODES,
    Breaker,
    Budget,
    ClassPolicy,
    Maintenance,
    Policy,
    Recycle,
    Thermal,
    Timer,
    Watermark,
)
from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.model import InputError

STATE = "/var/lib/rocsteady/heal.sqlite"
LISTEN = "127.0.0.1:9946"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DEVICE = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](/\d{1,3})?")
HHMM = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
EXECUTORS = ("supervisor", "systemd", "docker", "podman")


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[node]]``. ``health``: base address of its exporter or agent; ``instances``: what alerts call it.

    ``helper``: unix socket of its privileged helper; only of a node on whose machine heal runs.
    """

    name: str
    health: str
    token_file: str | None = None
    instances: tuple[str, ...] = ()
    helper: str | None = None


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[gateway]``: its admin API, for draining."""

    url: str
    token_file: str


class NotifyConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[notify]``: a webhook that gets JSON, a mail command that gets the text on standard input, or both."""

    webhook: str | None = None
    webhook_token_file: str | None = None
    mail_command: tuple[str, ...] = ()


class HealConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    state: str = STATE
    listen: str = LISTEN
    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    every: float = 1.0
    poll: float = 5.0
    on_exit: Literal["stop", "leave"] = "stop"
    dry_run: bool = True
    workers_file: str | None = None
    node: tuple[NodeConfig, ...] = ()
    worker: tuple[WorkerSpec, ...] = ()
    gateway: GatewayConfig | None = None
    notify: NotifyConfig = NotifyConfig()
    classes: dict[str, ClassPolicy] = {}
    budget: Budget = Budget()
    breaker: Breaker = Breaker()
    maintenance: tuple[Maintenance, ...] = ()
    thermal: Thermal = Thermal()
    recycle: Recycle = Recycle()
    watermark: Watermark | None = None
    schedule: tuple[Timer, ...] = ()
    spares: tuple[str, ...] | None = None
    spare_idle_bytes: int = Policy().spare_idle_bytes
    cooldown: float = Policy().cooldown
    document_max_age: float = Policy().document_max_age
    evidence_max_age: float = Policy().evidence_max_age
    approval_expires: float = Policy().approval_expires
    restore_after: float = Policy().restore_after
    repeat_window: float = Policy().repeat_window
    repeats: int = Policy().repeats
    drain_seconds: float = Policy().drain_seconds

    def policy(self) -> Policy:
        """What decisions need of it."""
        return Policy(
            dry_run=self.dry_run, classes=self.classes, budget=self.budget, breaker=self.breaker,
            maintenance=self.maintenance, thermal=self.thermal, recycle=self.recycle, watermark=self.watermark,
            schedules=self.schedule, cooldown=self.cooldown, document_max_age=self.document_max_age,
            evidence_max_age=self.evidence_max_age, approval_expires=self.approval_expires,
            restore_after=self.restore_after, repeat_window=self.repeat_window, repeats=self.repeats,
            drain_seconds=self.drain_seconds, has_gateway=self.gateway is not None,
            helpers=tuple(n.name for n in self.node if n.helper), spares=self.spares, spare_idle_bytes=self.spare_idle_bytes,
        )  # fmt: skip

    def node_of(self, name: str) -> str:
        """Our name of a node that an alert names by host, host:port or one of its ``instances``; '' for a stranger."""
        host = name.rpartition(":")[0].strip("[]") or name
        for node in self.node:
            if name in (node.name, *node.instances) or host in (node.name, *node.instances):
                return node.name
        return ""


def load_heal_config(path: Path) -> HealConfig:
    """Read and check.

    Raises:
        InputError: it cannot be read, says something unknown, or contradicts itself; the message names file and key.
    """
    try:
        config = msgspec.toml.decode(path.read_bytes(), type=HealConfig)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    if wrong := _wrong(config):
        raise InputError(f"{path}: {wrong}")
    here = config.node[0].name if config.node else socket.gethostname()
    workers = tuple(
        msgspec.structs.replace(w, node=w.node or here, url=w.url.rstrip("/")) for w in config.worker
    )  # fmt: skip
    return msgspec.structs.replace(config, worker=workers)


def _wrong(config: HealConfig) -> str:
    """The first thing that is wrong, '' for nothing."""
    kinds = set(load_ladder().kinds) | set(DEFAULT_MODES)
    for kind, found in config.classes.items():
        if kind not in kinds:
            return f"classes.{kind}: no class is called so; there are {', '.join(sorted(kinds))}"
        for window in found.windows:
            if not (HHMM.fullmatch(window.start) and HHMM.fullmatch(window.end)) or not set(window.days) <= set(DAYS):
                return f"classes.{kind}.windows: days are mon to sun, times HH:MM"
            try:
                ZoneInfo(window.zone)
            except (OSError, ValueError, KeyError):
                return f"classes.{kind}.windows: {window.zone!r} is no time zone"
    for held in config.maintenance:
        if held.start.tzinfo is None or held.end.tzinfo is None or held.end <= held.start:
            return "maintenance: start and end are times with a zone, and the end comes later"
    names = [n.name for n in config.node]
    if twice := _twice(names) or _twice([w.name for w in config.worker]):
        return f"{twice!r} is there twice"
    for node in config.node:
        if not _http(node.health):
            return f"node {node.name}: health: an http address was wanted, found {node.health!r}"
    if wrong := _wrong_workers(config, set(names)):
        return wrong
    if config.gateway is not None and not _http(config.gateway.url):
        return f"gateway.url: an http address was wanted, found {config.gateway.url!r}"
    if config.notify.webhook is not None and not _http(config.notify.webhook):
        return f"notify.webhook: an http address was wanted, found {config.notify.webhook!r}"
    return _wrong_numbers(config)


def _wrong_workers(config: HealConfig, nodes: set[str]) -> str:
    for worker in config.worker:
        where = f"worker {worker.name!r}"
        if not NAME.fullmatch(worker.name):
            return f"{where}: a name of letters, digits, '.', '_' and '-' was wanted"
        if worker.executor not in EXECUTORS:
            return f"{where}: executor: one of {', '.join(EXECUTORS)} was wanted"
        if worker.node and worker.node not in nodes:
            return f"{where}: no [[node]] is called {worker.node!r}"
        if not _http(worker.url):
            return f"{where}: url: an http address was wanted, found {worker.url!r}"
        if strange := [d for d in worker.devices if not DEVICE.fullmatch(d)]:
            return f"{where}: devices: {strange[0]!r} is no PCI address such as 0000:05:00.0, nor one with /partition"
        if worker.executor == "systemd" and not worker.unit:
            return f"{where}: unit is wanted for systemd"
        if worker.executor != "systemd" and not worker.command:
            return f"{where}: command is wanted"
    return ""


def _wrong_numbers(config: HealConfig) -> str:
    mark = config.watermark
    if mark is not None and not 0 < mark.low <= mark.high <= 1:
        return "watermark: 0 < low <= high <= 1 was wanted"
    if not 0 < config.thermal.power_share <= 1 or not 0 < config.thermal.clock_share <= 1:
        return "thermal: shares are above 0 and at most 1"
    curve = config.thermal.fan_curve
    if not curve or any(not 0 <= p <= 100 for _, p in curve) or list(curve) != sorted(set(curve)):
        return "thermal.fan_curve: rising temperatures, percent from 0 to 100"
    if [p for _, p in curve] != sorted(p for _, p in curve) or curve[-1][1] != 100:
        return "thermal.fan_curve: the speed rises with the temperature, up to 100"
    budget = config.budget
    if min(budget.per_subject, budget.per_node, budget.fleet, budget.nodes_at_once) < 1 or budget.window <= 0:
        return "budget: every figure is at least 1"
    if not 0 < config.breaker.share <= 1 or config.breaker.fewest < 1 or config.breaker.window <= 0:
        return "breaker: share is above 0 and at most 1, fewest at least 1"
    if min(config.every, config.poll, config.document_max_age, config.evidence_max_age) <= 0:
        return "every, poll, document_max_age and evidence_max_age are above 0"
    return ""


def _twice(names: list[str]) -> str:
    return next((name for name in names if names.count(name) > 1), "")


def _http(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def read_secret(path: str, key: str) -> str:
    """A token in a file.

    Raises:
        InputError: it cannot be read or is empty; what is in it is never shown.
    """
    try:
        secret = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(f"{key} {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(f"{key} {path}: no text") from None
    if not secret or "\n" in secret:
        raise InputError(f"{key} {path}: one line with a token was wanted")
    return secret
