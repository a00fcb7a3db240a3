"""Moves periodic jobs apart, so that no two of them run within the same minutes. Pure."""

from __future__ import annotations

from rocsteady.heal.policy import Timer

DAY, HOUR, MINUTE = 86400, 3600, 60


def spread(timers: tuple[Timer, ...]) -> tuple[tuple[str, str], ...]:
    """Timer and systemd calendar expression for each: starts as far apart as the shortest period allows.

    Jobs of a minute or less are left alone: nothing can be moved away from them. Daily jobs go to different hours of the
    night as well (from 02:00 on), jobs that run every hour or oftener keep their period and get an offset.
    """
    movable = sorted((t for t in timers if t.every > MINUTE), key=lambda t: (t.every, t.timer))
    if not movable:
        return ()
    shortest = min(int(t.every) for t in movable)
    gap = max(MINUTE, min(shortest, HOUR) // len(movable) // MINUTE * MINUTE)
    return tuple((t.timer, _calendar(int(t.every), index * gap, index)) for index, t in enumerate(movable))


def _calendar(every: int, offset: int, index: int) -> str:
    minute = offset % HOUR // MINUTE
    if every >= DAY:
        return f"*-*-* {(2 + index) % 24:02d}:{minute:02d}:00"
    if every >= HOUR:
        hours = max(1, every // HOUR)
        return f"*-*-* {'*' if hours == 1 else f'0/{hours}'}:{minute:02d}:00"
    step = max(1, every // MINUTE)
    return f"*-*-* *:{minute % step}/{step}:00"
