"""How a worker is, from its own routes: ready, answering, making tokens. A pure judge, and threads that ask.

vLLM's /health says 200 while its engine is frozen, and its /metrics goes on as well. So: tokens must move while requests
run, and where they do not, or where nothing runs, the engine must answer a request for one token.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from rocsteady.heal.supervisor.spec import WorkerSpec
from rocsteady.heal.supervisor.supervisor import Vital

LARGEST = 8 << 20
LINE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{[^\n]*?\})? ([-+0-9.eEinfNa]+)", re.MULTILINE)
RUNNING = ("vllm:num_requests_running", "sglang:num_running_reqs")
TOKENS = (
    "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:iteration_tokens_total_count",
    "sglang:prompt_tokens_total", "sglang:generation_tokens_total",
)  # fmt: skip
FINISHED = ("vllm:request_success_total", "sglang:num_requests_total")


class Reading(NamedTuple):
    """What /metrics said; None = not there."""

    running: float | None
    tokens: float | None
    requests: float | None
    reserved: float | None = None
    allocated: float | None = None


def parse_metrics(text: str, spec: WorkerSpec) -> Reading:
    """Sums over all series of the names we know."""
    sums: dict[str, float] = {}
    for name, value in LINE.findall(text):
        try:
            sums[name] = sums.get(name, 0.0) + float(value)
        except ValueError:
            continue

    def total(names: tuple[str, ...]) -> float | None:
        found = [sums[name] for name in names if name in sums]
        return sum(found) if found else None

    return Reading(
        total(RUNNING), total(TOKENS), total(FINISHED),
        total((spec.reserved_metric,)) if spec.reserved_metric else None,
        total((spec.allocated_metric,)) if spec.allocated_metric else None,
    )  # fmt: skip


class Judge(msgspec.Struct):
    """Follows one worker. ``wants_canary`` says when to ask for a token; times are any clock's seconds."""

    spec: WorkerSpec
    since: float
    ready: bool = False
    failures: int = 0
    silent: bool = False
    tokens: float | None = None
    moved_at: float = 0.0
    canary_at: float = 0.0
    reading: Reading | None = None
    detail: str = ""

    def became_ready(self, now: float) -> None:
        """The health route answered 200 for the first time."""
        self.ready, self.moved_at, self.canary_at = True, now, now

    def saw(self, reading: Reading | None, now: float) -> None:
        """/metrics answered, or did not (None): then the canary decides."""
        self.silent = reading is None
        if reading is None:
            return
        if reading.tokens is not None and reading.tokens != self.tokens:
            self.tokens, self.moved_at, self.failures, self.detail = reading.tokens, now, 0, ""
        self.reading = reading

    def wants_canary(self, now: float) -> bool:
        """Requests run and no token came, nothing runs for a while, /metrics is silent, or the last canary failed."""
        if not self.ready or now - self.canary_at < self.spec.probe.every:
            return False
        if self.silent or self.failures:
            return True
        busy = self.reading is not None and bool(self.reading.running)
        quiet = now - max(self.moved_at, self.canary_at)
        return quiet >= (self.spec.probe.stalled if busy else self.spec.probe.idle_canary)

    def canary(self, good: bool, why: str, began: float, now: float) -> None:
        """The canary was answered, or not. A token that came meanwhile says that the engine lives and is busy."""
        self.canary_at = now
        if good or self.moved_at > began:
            self.failures, self.detail = 0, ""
        else:
            self.failures += 1
            self.detail = f"a token was asked for {self.failures} times: {why}"

    def vital(self) -> Vital:
        """The verdict."""
        reading = self.reading
        fragmentation = None
        if reading is not None and reading.reserved and reading.allocated is not None:
            fragmentation = max(0.0, 1.0 - reading.allocated / reading.reserved)
        return Vital(
            ready=self.ready, responsive=self.failures < self.spec.probe.failures if self.ready else None,
            requests=reading.requests if reading is not None else None, fragmentation=fragmentation, detail=self.detail,
        )  # fmt: skip


class HttpProber:
    """One thread per worker that asks it; ``vital`` never waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._threads: dict[str, threading.Event] = {}
        self._vitals: dict[str, Vital] = {}
        self._lock = threading.Lock()
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def watch(self, spec: WorkerSpec, generation: str) -> None:
        """Begin anew with a worker that was started."""
        del generation
        self.unwatch(spec.name)
        end = threading.Event()
        with self._lock:
            self._threads[spec.name] = end
            self._vitals[spec.name] = Vital()
        threading.Thread(target=self._follow, args=(spec, end), name=f"probe {spec.name}", daemon=True).start()

    def unwatch(self, name: str) -> None:
        """Stop asking it; an answer that is on its way is dropped."""
        with self._lock:
            end = self._threads.pop(name, None)
            self._vitals.pop(name, None)
        if end is not None:
            end.set()

    def vital(self, name: str) -> Vital:
        """The newest answer."""
        with self._lock:
            return self._vitals.get(name, Vital())

    def _follow(self, spec: WorkerSpec, end: threading.Event) -> None:
        judge = Judge(spec=spec, since=self._clock())
        while not end.wait(spec.probe.every if judge.ready else min(0.5, spec.probe.every)):
            self._round(spec, judge)
            with self._lock:
                if self._threads.get(spec.name) is not end:
                    return
                self._vitals[spec.name] = judge.vital()

    def _round(self, spec: WorkerSpec, judge: Judge) -> None:
        if not judge.ready:
            if self._get(spec.url + "/health", spec.probe.answer) is not None:
                judge.became_ready(self._clock())
            return
        self._read(spec, judge)
        if judge.wants_canary(began := self._clock()):
            good, why = self._canary(spec)
            if not good:
                self._read(spec, judge)
            judge.canary(good, why, began, self._clock())

    def _read(self, spec: WorkerSpec, judge: Judge) -> None:
        text = self._get(spec.url + "/metrics", spec.probe.answer)
        judge.saw(None if text is None else parse_metrics(text, spec), self._clock())

    def _get(self, url: str, seconds: float) -> str | None:
        try:
            with self._opener.open(url, timeout=seconds) as answer:
                return str(answer.read(LARGEST).decode(errors="replace"))
        except (OSError, ValueError, urllib.error.HTTPError):
            return None

    def _canary(self, spec: WorkerSpec) -> tuple[bool, str]:
        body = json.dumps({"model": spec.served_model or spec.model, "prompt": "a", "max_tokens": 1}).encode()
        ask = urllib.request.Request(
            spec.url + "/v1/completions", data=body, headers={"Content-Type": "application/json"}
        )  # fmt: skip
        try:
            with self._opener.open(ask, timeout=spec.probe.canary_answer) as answer:
                answer.read(LARGEST)
                return True, ""
        except urllib.error.HTTPError as error:
            error.close()
            # 4xx and 429 are answers of a living front; only the engine can say 200, so 5xx counts
            return error.code < 500, f"HTTP {error.code}"
        except (OSError, ValueError) as error:
            return False, str(getattr(error, "reason", error))


def check_url(url: str) -> str:
    """The base address of a worker without a slash at the end.

    Raises:
        ValueError: it is no http address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url}: an http address was wanted")
    return url.rstrip("/")
