"""Rules that the closed words cannot say. Each is a pure function of the world and the subject.

Add one only when a word would not do; if several modes need the same thing, add a word to
``catalog.conditions`` instead.
"""

from __future__ import annotations

from rocsteady.diagnose import (
    probes_compat,
    probes_container,
    probes_driver,
    probes_engine_memory,
    probes_faults,
    probes_gfx_target,
    probes_host,
    probes_host_memory,
    probes_notes,
    probes_power,
    probes_ras,
    probes_settings,
    probes_visible_devices,
)
from rocsteady.diagnose.evaluate import Probe

PROBES: dict[str, Probe] = {
    **probes_compat.PROBES,
    **probes_container.PROBES,
    **probes_driver.PROBES,
    **probes_engine_memory.PROBES,
    **probes_faults.PROBES,
    **probes_gfx_target.PROBES,
    **probes_host.PROBES,
    **probes_host_memory.PROBES,
    **probes_power.PROBES,
    **probes_ras.PROBES,
    **probes_notes.PROBES,
    **probes_settings.PROBES,
    **probes_visible_devices.PROBES,
}
