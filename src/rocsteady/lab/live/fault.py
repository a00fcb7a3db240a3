"""One fault that runs on a living node: which of its steps are due, and what it holds."""

from __future__ import annotations

import msgspec

from rocsteady.lab.live.scenario import Hold, LivingScenario, Step


class Due(msgspec.Struct, frozen=True):
    """A step that happens. ``at``: simulated seconds; ``number``: how often it has happened, from 1; ``gpu``: to whom."""

    at: float
    step: Step
    number: int
    gpu: int


class Fault(msgspec.Struct, kw_only=True):
    """A scenario on a node.

    ``at``, ``ended``: simulated seconds since the node came alive; ``began``: wall clock at which its first effect was
    written, in seconds since 1970. Each is None until then.
    """

    number: int
    """Its place in the node's list of faults."""
    scenario: LivingScenario
    gpu: int
    peer: int
    members: tuple[int, ...]
    """GPUs of the hive, the fault's first."""
    at: float
    began: float | None = None
    ended: float | None = None
    fired: dict[int, int] = {}

    @property
    def until(self) -> float:
        """When it ends by itself."""
        return float("inf") if self.scenario.lasts is None else self.at + self.scenario.lasts

    def active(self, now: float) -> bool:
        """Whether it holds."""
        return self.ended is None and self.at <= now < self.until

    def next_due(self) -> float:
        """Simulated time of the next step, or of the end."""
        if self.ended is not None:
            return float("inf")
        times = [self._time(i, step) for i, step in enumerate(self.scenario.steps)]
        return min([*times, self.until])

    def _time(self, index: int, step: Step) -> float:
        done = self.fired.get(index, 0)
        per = len(self._targets(step))
        number, member = divmod(done, per)
        most = step.times if step.times is not None else (1 if step.every is None else None)
        if not (step.log or step.engine or step.append or step.count or step.pages or step.do) or (
            most is not None and number >= most
        ):
            return float("inf")
        return self.at + step.at + number * (step.every or 0.0) + member * step.apart

    def _targets(self, step: Step) -> tuple[int, ...]:
        if step.scope == "gpu":
            return (self.gpu,)
        return self.members if step.scope == "hive" else self.members[1:]

    def due(self, now: float) -> list[Due]:
        """Steps up to ``now``, in order of time; each is given once."""
        found: list[Due] = []
        for index, step in enumerate(self.scenario.steps):
            while (at := self._time(index, step)) <= now:
                number, member = divmod(self.fired.get(index, 0), len(self._targets(step)))
                found.append(Due(at, step, number + 1, self._targets(step)[member]))
                self.fired[index] = self.fired.get(index, 0) + 1
        return sorted(found, key=lambda due: due.at)

    def holds(self, gpu: int, now: float) -> dict[Hold, tuple[float, int]]:
        """Inputs held on one GPU: value and HBM stack."""
        found: dict[Hold, tuple[float, int]] = {}
        if not self.active(now):
            return found
        since = now - self.at
        for step in self.scenario.steps:
            start = step.at
            if not step.hold or since < start or (step.span is not None and since >= start + step.span):
                continue
            if gpu not in self._targets(step):
                continue
            share = 1.0 if step.over <= 0 else min(1.0, (since - start) / step.over)
            for name, value in step.hold.items():
                base = 1.0 if name in ("cooling", "fan") else 0.0
                found[name] = (base + (value - base) * share if step.over else value, step.stack)
        return found
