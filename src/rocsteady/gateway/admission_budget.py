"""What one worker may still be given: requests and tokens, less where it runs full. Pure; time is an argument.

The limit of requests moves. A report (KV usage, memory of the GPU) at or above a watermark closes the worker and shrinks
its limit; a report clearly below opens it, and the limit grows back. A closed worker is used only where every other one is
closed too, up to its shrunken limit: a service with a full worker is better than none.
"""

from __future__ import annotations

from rocsteady.gateway.admission_rules import AdmissionRules, Limits


class Budget:
    """Room on one worker, as this process sees it."""

    __slots__ = ("_rules", "_seen", "closed", "limit", "limits", "reason", "requests", "tokens")

    def __init__(self, limits: Limits, rules: AdmissionRules) -> None:
        self.limits = limits
        self.limit = float(limits.requests)
        """Requests that it may have now."""
        self.requests = 0
        self.tokens = 0
        self.closed = False
        self.reason = ""
        self._rules = rules
        self._seen: float | None = None

    def report(self, at: float, kv_usage: float | None, memory: float | None) -> bool:
        """Take in what engine and GPU say; returns whether it was new. Unknown figures close and open nothing."""
        if self._seen is not None and at <= self._seen:
            return False
        self._seen = at
        over = [
            f"{name} at {value:.0%}, watermark {mark:.0%}"
            for name, value, mark in self._watched(kv_usage, memory)
            if value >= mark
        ]
        if over:
            self.closed, self.reason = True, "; ".join(over)
            self.limit = max(1.0, min(self.limit, float(max(self.requests, 1))) * self._rules.shrink)
            return True
        watched = self._watched(kv_usage, memory)
        if all(value < mark - self._rules.release_margin for _, value, mark in watched):
            if watched or not self.closed:
                self.closed, self.reason = False, ""
            if not self.closed:
                self.limit = min(
                    float(self.limits.requests), self.limit + max(1.0, self._rules.grow * self.limits.requests)
                )
        return True

    def _watched(self, kv_usage: float | None, memory: float | None) -> list[tuple[str, float, float]]:
        pairs = (("KV cache", kv_usage, self.limits.kv_watermark), ("GPU memory", memory, self.limits.memory_watermark))
        return [(name, value, mark) for name, value, mark in pairs if value is not None]

    def forget_stale(self, now: float) -> None:
        """A worker that was closed by a report and reports no more is open again: its other limits still hold."""
        if self.closed and self._seen is not None and now - self._seen > self._rules.stale_seconds:
            self.closed, self.reason = False, ""
            self.limit = float(self.limits.requests)

    def reconfigure(self, limits: Limits, rules: AdmissionRules) -> None:
        """The configuration was read again."""
        self.limits, self._rules = limits, rules
        self.limit = min(self.limit, float(limits.requests)) if self.closed else float(limits.requests)

    def room(self, tokens: int, *, even_closed: bool = False) -> bool:
        """Whether a request of so many tokens may go there now.

        One that is larger than the whole budget may go to an empty worker: whether it fits is the engine's to say.
        """
        if self.closed and not even_closed:
            return False
        if self.requests == 0:
            return True
        if self.requests + 1 > int(self.limit):
            return False
        return self.limits.tokens is None or self.tokens + tokens <= self.limits.tokens

    def take(self, tokens: int) -> None:
        """Count a request in."""
        self.requests += 1
        self.tokens += tokens

    def give(self, tokens: int) -> None:
        """Count it out."""
        self.requests -= 1
        self.tokens -= tokens
