"""What the engines on this node say of themselves in their own /metrics. Only on loopback."""

from __future__ import annotations

import ipaddress
import re
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from urllib.parse import urlsplit

from rocsteady.exporter.batch import Batch
from rocsteady.metrics import engine as m
from rocsteady.model import Gap, InputError

SECONDS = 2.0
"""An engine under load answers /metrics in tens of milliseconds; what takes longer is stuck or starting."""
LARGEST = 8 << 20
LINE = re.compile(r"^((?:vllm|sglang):[a-z_]+)(?:\{[^}\n]*\})? (\S+)", re.MULTILINE)
KV = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage")
"""vLLM's new and old name (V1 and V0), a share from 0 to 1 in spite of the name; SGLang's
(https://docs.sglang.io/references/production_metrics.html)."""
REQUESTS = (
    ("vllm:num_requests_running", "running"), ("vllm:num_requests_waiting", "waiting"),
    ("sglang:num_running_reqs", "running"), ("sglang:num_queue_reqs", "waiting"),
)  # fmt: skip
TOKENS = (
    ("vllm:prompt_tokens_total", "prompt"), ("vllm:generation_tokens_total", "generated"),
    ("sglang:prompt_tokens_total", "prompt"), ("sglang:generation_tokens_total", "generated"),
)  # fmt: skip


def check_address(url: str) -> str:
    """The address, if it is one of this machine.

    Raises:
        InputError: it is not HTTP, or not loopback.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if parts.scheme != "http" or not local:
        raise InputError(
            f"--engine {url}: http on a loopback address was wanted, such as http://127.0.0.1:8000/metrics"
        )
    return url


class EngineCollector:
    """Samples of the engines that were named, and of those that ``found`` gives at the time."""

    name = "engines"

    def __init__(
        self,
        urls: tuple[str, ...],
        clock: Callable[[], float] = time.monotonic,
        found: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._urls = tuple(check_address(url) for url in urls)
        self._clock = clock
        self._found = found
        self._moved: dict[str, tuple[float, float]] = {}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())

    def collect(self, batch: Batch) -> None:
        """Ask each engine."""
        for url in dict.fromkeys((*self._urls, *self._found())):
            name = urlsplit(url).netloc
            try:
                with self._opener.open(url, timeout=SECONDS) as answer:
                    text = answer.read(LARGEST).decode(errors="replace")
            except (OSError, ValueError) as error:
                batch.add(m.ENGINE_UP, 0, name)
                batch.gap(Gap(url, f"failed: {getattr(error, 'reason', error)}"))
                continue
            batch.add(m.ENGINE_UP, 1, name)
            batch.add(m.ENGINE_AGE, 0, name)
            add_engine(batch, name, parse_engine(text), self._moved, self._clock())

    def close(self) -> None:
        """Nothing is held."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object, **_more: object) -> None:
        return None


def parse_engine(text: str) -> dict[str, list[float]]:
    """Values by metric name. Sample: ``vllm:num_requests_running{model_name="m",engine="0"} 3.0``."""
    values: dict[str, list[float]] = defaultdict(list)
    for name, word in LINE.findall(text):
        try:
            values[name].append(float(word))
        except ValueError:
            continue
    return values


def add_engine(
    batch: Batch, name: str, values: dict[str, list[float]], moved: dict[str, tuple[float, float]], now: float
) -> None:
    """Samples of one engine. ``moved``: token count and the time at which it last changed or nothing ran."""
    for metric, kind in REQUESTS:
        if metric in values:
            batch.add(m.ENGINE_REQUESTS, sum(values[metric]), name, kind)
    for metric in KV:
        if values.get(metric):
            batch.add(m.ENGINE_KV, max(values[metric]), name)
    tokens = 0.0
    for metric, kind in TOKENS:
        if metric in values:
            batch.add(m.ENGINE_TOKENS, sum(values[metric]), name, kind)
            tokens += sum(values[metric])
    counts = [sum(values[metric]) for metric, kind in REQUESTS if kind == "running" and metric in values]
    running = sum(counts)
    last = moved.get(name)
    if last is None or last[0] != tokens or running == 0:
        moved[name] = last = (tokens, now)
    if counts:
        batch.add(m.ENGINE_STALLED, max(0.0, now - last[1]), name)
