"""The real time."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Monotonic time, wall time, sleeping on the event loop."""

    now = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
