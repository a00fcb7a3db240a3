"""What the healer may do: modes by class, budgets, breaker, windows, limits. Defaults change nothing: dry run."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec

from rocsteady.heal.records import Mode

HOUR = 3600.0


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[budget]``: disruptive actions within ``window`` seconds, and how many nodes may be worked on at once.

    AMD's operator gives up after 3 runs on a node within its window, and its default has no limit of nodes at once; ours
    is one node or a tenth of the fleet. The other figures are a choice of ours.
    """

    window: float = HOUR
    per_subject: int = 3
    per_node: int = 6
    fleet: int = 12
    nodes_at_once: int = 1
    nodes_share: float = 0.1


class Breaker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[breaker]``: opens when ``share`` of the fleet's GPUs and workers, and at least ``fewest``, fail within ``window``.

    Half of the nodes within five minutes is NVSentinel's limit; ``fewest`` keeps one of two GPUs from opening it.
    """

    share: float = 0.5
    window: float = 300.0
    fewest: int = 3


class Maintenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[maintenance]]``: people hold these nodes; nothing is done on them. No nodes = all."""

    start: datetime
    end: datetime
    reason: str
    nodes: tuple[str, ...] = ()

    def holds(self, node: str, now: float) -> bool:
        """It covers the node now."""
        return (not self.nodes or node in self.nodes) and self.start.timestamp() <= now < self.end.timestamp()


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hours in which a class may act by itself: days (mon ... sun; none = all), HH:MM to HH:MM, time zone."""

    days: tuple[str, ...] = ()
    start: str
    end: str
    zone: str = "UTC"

    def holds(self, now: float) -> bool:
        """It is open now. A window over midnight belongs to the day on which it starts."""
        local = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(self.zone))
        minute = local.hour * 60 + local.minute
        start, end = (int(t[:2]) * 60 + int(t[3:5]) for t in (self.start, self.end))
        today = local.weekday()
        if start <= end:
            return self._day(today) and start <= minute < end
        return (self._day(today) and minute >= start) or (self._day((today - 1) % 7) and minute < end)

    def _day(self, number: int) -> bool:
        return not self.days or DAYS[number] in self.days


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class ClassPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[classes.NAME]``: off, approve (a person says yes first) or auto; ``windows`` limit auto in time."""

    mode: Mode
    windows: tuple[Window, ...] = ()


class Thermal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[thermal]``: shares of the default power limit and of the highest clock, and the fan curve (degrees, percent).

    A fifth less power costs little speed on parts that run at their limit; the figures are a choice of ours.
    """

    power_share: float = 0.8
    clock_share: float = 0.8
    fan_curve: tuple[tuple[int, int], ...] = ((40, 30), (60, 50), (75, 80), (85, 100))


class Recycle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[recycle]``: when a worker is restarted for its own good. None = not.

    ``fragmentation``: share of the memory that the allocator holds and cannot use. ``requests``: answered since its start.
    """

    fragmentation: float | None = None
    requests: int | None = None


class Watermark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[watermark]``: GPU memory in use as a share; over ``high`` for ``hold`` seconds is a fault, below ``low`` ends it."""

    high: float
    low: float
    hold: float = 60.0


class Timer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[schedule]]``: a systemd timer that may be moved, how often it runs, and what the crash timeline calls it."""

    timer: str
    every: float
    activities: tuple[str, ...]


DEFAULT_MODES: dict[str, Mode] = {"watch": "auto", "stop-new": "auto", "people": "auto", "restore": "auto"}
"""What may act by itself where the configuration says nothing; every other class waits for approval."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that ``decide`` needs to know beside the state."""

    dry_run: bool = True
    classes: dict[str, ClassPolicy] = {}
    budget: Budget = Budget()
    breaker: Breaker = Breaker()
    maintenance: tuple[Maintenance, ...] = ()
    thermal: Thermal = Thermal()
    recycle: Recycle = Recycle()
    watermark: Watermark | None = None
    schedules: tuple[Timer, ...] = ()
    cooldown: float = 120.0
    """Seconds after an action before the next one on the same thing: AMD's operator wants 2 minutes of steady Ready."""
    document_max_age: float = 30.0
    """Seconds after which a gpu-health document says nothing any more: as in the health thresholds."""
    evidence_max_age: float = 600.0
    """Seconds after which evidence that was not seen again is too old to act on. A choice of ours."""
    approval_expires: float = 4 * HOUR
    restore_after: float = 300.0
    """Seconds that a fault must be gone before what was lowered is put back: the five minutes of the health thresholds."""
    repeat_window: float = 24 * HOUR
    repeats: int = 3
    """How often a rung is tried for the same trouble within the window; AMD's operator gives up after 3. Reset, reload and
    reboot are tried once."""
    drain_seconds: float = 60.0
    """How long running requests may go on before a worker is stopped for its own good (NVSentinel: 60 s of grace)."""
    has_gateway: bool = False
    helpers: tuple[str, ...] = ()
    """Nodes with a privileged helper."""
    spares: tuple[str, ...] | None = None
    """Devices that workers may be moved to; None = every device that no worker is configured for."""

    spare_idle_bytes: int = 1 << 30
    """GPU memory that processes may hold on a device which still counts as free: a monitor, an idle context (a HIP context
    alone takes some hundred MiB). A choice of ours."""

    def mode(self, kind: str) -> Mode:
        """Mode of a class."""
        found = self.classes.get(kind)
        return found.mode if found is not None else DEFAULT_MODES.get(kind, "approve")

    def in_window(self, kind: str, now: float) -> bool:
        """The class may act by itself at this hour."""
        found = self.classes.get(kind)
        return found is None or not found.windows or any(window.holds(now) for window in found.windows)
