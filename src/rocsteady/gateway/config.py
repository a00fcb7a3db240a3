"""The configuration file of the gateway: TOML, strict, documented in docs/gateway.md.

Defaults that are more than taste name where they come from.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from rocsteady.gateway.health import Rules
from rocsteady.gateway.interfaces import Key
from rocsteady.gateway.scheduler import PoolRule
from rocsteady.gateway.worker import Tier, WorkerSpec
from rocsteady.model import InputError

Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Stage = Literal["gpu", "node", "precision", "model", "cpu"]
LADDER: tuple[Stage, ...] = ("gpu", "node", "precision", "model", "cpu")
LONGEST_SECRET = 4096


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client may send. ``body_bytes``: a million tokens of text and a few images fit into 32 MiB.

    ``head_seconds``: from the connection to the whole head; ``body_seconds`` for the body. 30 s each is what nginx
    and Apache (mod_reqtimeout: 20 to 40 s) take for slow clients. ``head_bytes``: longest line, as nginx (8 KiB).
    """

    body_bytes: Count = 33_554_432
    head_bytes: Count = 8190
    head_count: Count = 100
    head_seconds: Positive = 30.0
    body_seconds: Positive = 30.0
    idle_seconds: Positive = 75.0
    connections: Count = 10_000
    answer_bytes: Count = 67_108_864


class Timeouts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds. ``suspect``: without a byte for so long, a worker has to prove that it is alive; ``verdict``: how long
    it has for that. Together with the 0.25 s of the ticker they stay below the 5 s in which a frozen engine must be
    out. ``first_token`` and ``between_tokens`` end a try whatever the engine proves.
    """

    connect: Positive = 2.0
    suspect: Positive = 1.5
    verdict: Positive = 1.5
    first_token: Positive = 120.0
    between_tokens: Positive = 30.0
    total: Positive = 3600.0
    prefill_tokens_per_second: Positive = 2000.0


class Retry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tries of one request and the budget of all: at most ``ratio`` of recent requests, as Finagle and Envoy (20 %),
    with a floor of ``least`` a second. Pauses grow from ``base`` to ``cap`` with full jitter; the first retry on
    another worker does not wait.
    """

    attempts: Count = 4
    continuations: Annotated[int, msgspec.Meta(ge=0)] = 3
    ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    least: Positive = 3.0
    base: Positive = 0.025
    cap: Positive = 1.0


class Probing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds between looks. ``canary``: a one-token request to an idle worker (0: never); it is the only thing that
    sees an engine that froze while idle. ``canary_first``: limit of the first one, which may compile kernels.
    """

    every: Positive = 5.0
    timeout: Positive = 2.0
    busy: Positive = 1.0
    canary: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    canary_timeout: Positive = 5.0
    canary_first: Positive = 120.0


class KeyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One API key: the SHA-256 of the secret in hexadecimal, or a file that holds the secret."""

    name: str
    sha256: str = ""
    file: str = ""
    priority: int = 1
    weight: Positive = 1.0


class Bind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which node and GPUs stand behind one address of a name."""

    address: str
    node: str = ""
    gpus: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where more workers come from: ``file`` (TOML with [[worker]], read again when it changes) or ``dns`` (every
    address of a name is a worker, as with a headless Kubernetes service).
    """

    kind: Literal["file", "dns"]
    path: str = ""
    host: str = ""
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 8000
    scheme: Literal["http", "https"] = "http"
    every: Positive = 5.0
    model: str = ""
    served: str = ""
    precision: str = ""
    tier: Tier = "gpu"
    context: int | None = None
    max_concurrency: int | None = None
    kv_tokens: int | None = None
    canary: Literal["completion", "embedding", "none"] = "completion"
    token_file: str = ""
    bind: tuple[Bind, ...] = ()


class GpuHealth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Agent or exporter of a node. ``node``: as in the workers; without it the name in the document."""

    url: str
    node: str = ""
    token_file: str = ""
    stale_seconds: Positive = 60.0


class ModelRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one model is served: its ladder, what may stand in for it, its precision pools in order of quality."""

    name: str
    ladder: tuple[Stage, ...] = LADDER
    smaller: tuple[str, ...] = ()
    pool: tuple[PoolRule, ...] = ()


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    listen: str = "127.0.0.1:8080"
    processes: Count = 1
    state: str = ""
    access_log: str = ""
    admin_token_file: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    continuation: bool = True
    drain_seconds: Positive = 60.0
    bytes_per_token: Positive = 4.0
    limits: Limits = Limits()
    timeouts: Timeouts = Timeouts()
    retry: Retry = Retry()
    health: Rules = Rules()
    probe: Probing = Probing()
    admission: dict[str, Any] = {}
    key: tuple[KeyFile, ...] = ()
    worker: tuple[WorkerSpec, ...] = ()
    source: tuple[Source, ...] = ()
    gpu_health: tuple[GpuHealth, ...] = ()
    model: tuple[ModelRule, ...] = ()


class WorkerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a source of kind ``file`` holds."""

    worker: tuple[WorkerSpec, ...] = ()


def load(path: Path) -> Config:
    """Read and check a configuration.

    Raises:
        InputError: with the file, the key and what is wrong.
    """
    try:
        config = msgspec.toml.decode(path.read_bytes(), type=Config)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    try:
        _check(config)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return config


def load_workers(path: Path) -> tuple[WorkerSpec, ...]:
    """Read a file of workers.

    Raises:
        InputError: it cannot be used.
    """
    try:
        workers = msgspec.toml.decode(path.read_bytes(), type=WorkerFile).worker
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    check_workers(workers)
    return workers


def check_workers(workers: tuple[WorkerSpec, ...]) -> None:
    """Names are unique, addresses can be used.

    Raises:
        InputError: one is not.
    """
    seen: set[str] = set()
    for worker in workers:
        _check_url(worker.url, f"worker {worker.name!r}: url")
        if not worker.name or not worker.name.isprintable() or not worker.name.isascii():
            raise InputError(f"worker {worker.name!r}: a name is printable ASCII")
        if worker.name in seen:
            raise InputError(f"worker {worker.name!r} is there twice")
        if not worker.model:
            raise InputError(f"worker {worker.name!r}: model is empty")
        seen.add(worker.name)


def _check_url(url: str, what: str) -> None:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine or parts.query or parts.fragment or parts.username or not url.isprintable() or " " in url:
        raise InputError(f"{what}: {url!r}: http://HOST[:PORT][/PREFIX] was wanted")


def _check(config: Config) -> None:
    check_workers(config.worker)
    if not config.worker and not config.source:
        raise InputError("no [[worker]] and no [[source]]: nothing would answer")
    for source in config.source:
        if source.kind == "file" and not source.path:
            raise InputError("source of kind file: path is missing")
        if source.kind == "dns" and not (source.host and source.model):
            raise InputError("source of kind dns: host and model are needed")
    for health in config.gpu_health:
        _check_url(health.url, "gpu_health: url")
    names = [rule.name for rule in config.model]
    if len(set(names)) < len(names):
        raise InputError("a [[model]] is there twice")
    for rule in config.model:
        if rule.name in rule.smaller:
            raise InputError(f"model {rule.name!r}: it cannot stand in for itself")
    spare = config.timeouts.suspect + config.timeouts.verdict
    if spare > 4.5:
        raise InputError(f"timeouts: suspect + verdict is {spare:g} s; a frozen engine must be out within 5 s, so 4.5")
    if len({key.name for key in config.key}) < len(config.key):
        raise InputError("two keys have one name")


def read_secret(path: str) -> str:
    """A secret from a file, without the line end.

    Raises:
        InputError: it cannot be read, or is empty.
    """
    try:
        secret = Path(path).read_bytes()[:LONGEST_SECRET].decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not secret or not secret.isascii() or not secret.isprintable():
        raise InputError(f"{path}: no secret in it (printable ASCII was wanted)")
    return secret


def keys(config: Config) -> dict[bytes, Key]:
    """SHA-256 of each secret -> who calls with it. Empty: nobody needs a key.

    Raises:
        InputError: a file cannot be read, or a digest is none.
    """
    found: dict[bytes, Key] = {}
    for entry in config.key:
        if bool(entry.sha256) == bool(entry.file):
            raise InputError(f"key {entry.name!r}: either sha256 or file")
        if entry.file:
            digest = hashlib.sha256(read_secret(entry.file).encode()).digest()
        else:
            try:
                digest = bytes.fromhex(entry.sha256)
            except ValueError:
                digest = b""
            if len(digest) != 32:
                raise InputError(f"key {entry.name!r}: sha256 has to be 64 hexadecimal digits")
        found[digest] = Key(name=entry.name, priority=entry.priority, weight=entry.weight)
    return found
