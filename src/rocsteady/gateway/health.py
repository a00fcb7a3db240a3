"""The health of one worker: a state machine over probe, heartbeat, canary and passive results. Pure; time is passed in.

::

    new ──proof──> healthy <──proof── half-open <──pause over── ejected
     │                │  ▲                │                        ▲
     │             doubt │proof           └── any failure ─────────┤
     │                ▼  │                                         │
     └────────────> suspect ── enough or decisive failures ────────┘

*Proof* is an answer to a request, a canary token, or tokens that moved; a 200 of ``/health`` is none (vLLM answers it
with a frozen engine). Half-open lets one trial out at a time. Ejections of a worker that keeps failing grow longer.
"""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["new", "healthy", "suspect", "ejected", "half-open"]
Failure = Literal["connect", "frozen", "reset", "status", "stream-error", "timeout", "probe", "misconfigured"]
DECISIVE: frozenset[str] = frozenset({"connect", "frozen", "misconfigured"})
"""One of these is enough: nothing listens there, no token moves, or it refuses our token or model."""
RANK: dict[State, int] = {"healthy": 0, "new": 1, "suspect": 2, "half-open": 3, "ejected": 4}


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Thresholds. ``failures``, ``pause``, ``factor`` and ``longest`` follow the circuit breaker of ROCm Infera 0.1
    (3 failures in a row, 5 s doubled up to 60 s; read August 2026); ``probe_failures`` and ``probe_successes`` the
    Kubernetes defaults of three and a margin of one; ``ratio`` over ``least`` results is ours: half of all requests
    failing is worse than no worker as soon as another is there.
    """

    failures: int = 3
    pause: float = 5.0
    factor: float = 2.0
    longest: float = 60.0
    forget: float = 120.0
    probe_failures: int = 3
    probe_successes: int = 2
    ratio: float = 0.5
    least: int = 10


class Change(msgspec.Struct, frozen=True):
    """One change of state."""

    at: float
    before: State
    after: State
    reason: str


class Health:
    """State of one worker.

    ``reason``: why it is not healthy. ``until``: end of the pause of an ejected one. ``trial``: the one request of the
    half-open state is out. All times are monotonic seconds.
    """

    __slots__ = (
        "_failing", "_failures", "_pause", "_probes_bad", "_probes_good", "_results", "_rules", "changes", "reason",
        "since", "state", "trial", "until",
    )  # fmt: skip

    def __init__(self, rules: Rules, now: float = 0.0) -> None:
        self._rules = rules
        self.state: State = "new"
        self.reason = "not proven yet"
        self.since = now
        self.until = 0.0
        self.trial = False
        self.changes: list[Change] = []
        self._pause = rules.pause
        self._failures = 0
        self._failing = 0.0
        self._results = 0
        self._probes_bad = 0
        self._probes_good = 0

    @property
    def usable(self) -> bool:
        """Whether requests may go there without need."""
        return self.state in ("healthy", "new", "suspect")

    @property
    def rank(self) -> int:
        """Smaller is better."""
        return RANK[self.state]

    def _move(self, after: State, reason: str, now: float) -> None:
        if after != self.state:
            self.changes.append(Change(now, self.state, after, reason))
            self.state, self.since = after, now
        self.reason = reason

    def proof(self, now: float) -> None:
        """It did what it is there for: a request was answered, a canary token came, or tokens moved."""
        if self.state == "ejected":
            return  # the end of an old answer proves nothing about now; the trial after the pause does
        self._failures = 0
        self._failing *= 0.9
        self._results += 1
        if self.state == "healthy":  # the hot path
            return
        self._probes_bad = 0
        self.trial = False
        self._move("healthy", "", now)

    def failure(self, kind: Failure, reason: str, now: float) -> None:
        """A request failed by the worker's fault."""
        rules = self._rules
        self._failures += 1
        self._results += 1
        self._failing = 0.9 * self._failing + 0.1
        if self.state == "ejected":
            return
        if self.state == "half-open":
            self._eject(reason, now, longer=True)
        elif kind in DECISIVE or self._failures >= rules.failures:
            self._eject(reason, now, longer=False)
        elif self._results >= rules.least and self._failing >= rules.ratio:
            self._eject(f"more than {rules.ratio:.0%} of requests failed; last: {reason}", now, longer=False)
        else:
            self._move("suspect", reason, now)

    def doubt(self, reason: str, now: float) -> None:
        """Something is late. Not counted as a failure."""
        if self.state in ("healthy", "new"):
            self._move("suspect", reason, now)

    def probe(self, good: bool, reason: str, now: float) -> None:
        """A probe of ``/health`` came back. A good one never proves anything; enough bad ones eject."""
        if good:
            self._probes_bad = 0
            self._probes_good += 1
            if self.state == "new" and self._probes_good >= self._rules.probe_successes:
                self._move("healthy", "", now)
            return
        self._probes_good = 0
        self._probes_bad += 1
        if self.state == "half-open":
            self._eject(reason, now, longer=True)
        elif self._probes_bad >= self._rules.probe_failures and self.state != "ejected":
            self._eject(reason, now, longer=False)
        else:
            self.doubt(reason, now)

    def _eject(self, reason: str, now: float, *, longer: bool) -> None:
        rules = self._rules
        recent = longer or (self.state != "new" and bool(self.until) and now - self.until < rules.forget)
        self._pause = min(rules.longest, self._pause * rules.factor) if recent else rules.pause
        self.until = now + self._pause
        self.trial = False
        self._failures = 0
        self._failing = 0.0
        self._results = 0
        self._move("ejected", reason, now)

    def tick(self, now: float) -> None:
        """Let time pass: an ejected worker whose pause is over becomes half-open."""
        if self.state == "ejected" and now >= self.until:
            self._move("half-open", self.reason, now)

    def take_trial(self) -> bool:
        """Take the one trial of the half-open state; False where it is out already."""
        if self.state != "half-open" or self.trial:
            return False
        self.trial = True
        return True

    def untried(self) -> None:
        """The trial ended without a verdict (the client went away)."""
        self.trial = False
