"""All event kinds, from one module per log format. A new module is added here and nowhere else."""

from __future__ import annotations

from rocsteady.events import (
    kmsg_faults,
)
from rocsteady.events.kinds import Kind

KINDS: tuple[Kind, ...] = (*kmsg_faults.KINDS,)
