"""What one request gave, and what one run is: the raw material of every figure."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from rocsteady.model import InputError

SCHEMA = "rocsteady.bench-run/1"
MOST_BYTES = 2 << 30
Failure = Literal[
    "refused", "timeout-first-token", "timeout-between-tokens", "timeout-total", "rate-limited", "client-error",
    "server-error", "stream-cut", "stream-error", "malformed",
]  # fmt: skip
"""How a request failed.

refused: no connection. rate-limited: HTTP 429. client-error: another 4xx. server-error: 5xx. stream-cut: the stream
ended without its end mark or finish reason. stream-error: an error event inside the stream. malformed: no JSON.
"""


class Sample(msgspec.Struct, kw_only=True):
    """One request. Times are seconds after the start of the run.

    due: when the schedule wanted it sent. sent: when it was sent. first, last: first and last token, None without one.
    ended: when it was over. gaps: seconds between tokens that came apart (a chunk with several tokens is one gap).
    input_tokens, output_tokens: the server's own count (``usage``), None where it gave none. wanted_output: asked for.
    stage: the stage of a gateway that answered, where it says so.
    """

    due: float
    sent: float
    ended: float
    first: float | None = None
    last: float | None = None
    gaps: list[float] = msgspec.field(default_factory=list)
    input_tokens: int | None = None
    output_tokens: int | None = None
    wanted_output: int | None = None
    failure: Failure | None = None
    detail: str = ""
    finish: str | None = None
    stage: str | None = None

    @property
    def good(self) -> bool:
        """Whether it was answered whole."""
        return self.failure is None

    @property
    def ttft(self) -> float | None:
        """Time to first token, from when it was due: a late start of ours is waiting time of the user's."""
        return None if self.first is None else self.first - self.due

    @property
    def e2e(self) -> float:
        """Whole latency, from when it was due."""
        return self.ended - self.due

    @property
    def tpot(self) -> float | None:
        """Time per output token behind the first; None for fewer than two tokens."""
        if self.first is None or self.last is None or self.output_tokens is None or self.output_tokens < 2:
            return None
        return (self.last - self.first) / (self.output_tokens - 1)


class Energy(msgspec.Struct, kw_only=True, frozen=True):
    """Energy of the GPUs over the steady window, in joules; ``idle_watts`` measured before the load, None if not.

    valid False: ``why`` says what was missing, and no figure is made of it.
    """

    valid: bool
    why: str = ""
    joules: float | None = None
    seconds: float | None = None
    gpus: int = 0
    idle_watts: float | None = None
    source: str = ""


class Reading(msgspec.Struct, kw_only=True, frozen=True):
    """Memory in use at one time of the run, in bytes: of the GPUs, and of the engine's processes on the host."""

    at: float
    gpu_bytes: float | None = None
    host_bytes: float | None = None


class Run(msgspec.Struct, kw_only=True):
    """One run.

    started: RFC 3339. window: start and end of the steady part in seconds; warm-up and what comes after the last
    arrival are outside. load, lengths: as asked for. facts: what the user states about the system (precision, TP, ...).
    """

    schema: str = SCHEMA
    started: str
    target: str
    model: str
    endpoint: str
    load: str
    lengths: str
    seed: int | None
    window: tuple[float, float]
    samples: list[Sample]
    energy: Energy | None = None
    readings: list[Reading] = msgspec.field(default_factory=list)
    facts: dict[str, str] = msgspec.field(default_factory=dict)
    interrupted: bool = False
    lagging: int = 0
    """Requests that were sent more than 50 ms after they were due: the client itself was too slow."""

    @property
    def steady(self) -> list[Sample]:
        """Requests that were due inside the window."""
        start, end = self.window
        return [sample for sample in self.samples if start <= sample.due <= end]


def read_run(path: Path) -> Run:
    """A run that was saved.

    Raises:
        InputError: not there, or not a run.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than 2 GiB")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    return decode_run(data, str(path))


def decode_run(data: bytes, name: str) -> Run:
    """A run from JSON.

    Raises:
        InputError: it is none.
    """
    try:
        run = msgspec.json.decode(data, type=Run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name}: not a saved run ({error})") from error
    if run.schema != SCHEMA:
        raise InputError(f"{name}: schema {run.schema!r}, {SCHEMA} was wanted")
    return run
