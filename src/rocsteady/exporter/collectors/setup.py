"""What hardly changes: identity, firmware, limits, modes, features. Read anew every few scrapes only."""

from __future__ import annotations

import time
from collections.abc import Callable

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.cards import Cards, key
from rocsteady.exporter.collectors.errors import text
from rocsteady.facts import dpm
from rocsteady.facts.drm_device import AmdgpuCard, read_card
from rocsteady.hostfs import HostFS
from rocsteady.metrics import gpu_sensors
from rocsteady.metrics import gpu_setup as m

EVERY = 60.0
"""Seconds between two readings. These files cost as much as all others together, and some ask the firmware; a minute
is the interval at which AMD's own device plugin learns of a change at worst."""
DOMAINS = {"sclk": "gfx", "mclk": "memory", "socclk": "soc", "fclk": "fabric", "vclk": "vclk", "dclk": "dclk",
           "vclk1": "vclk1", "dclk1": "dclk1", "dcefclk": "display"}  # fmt: skip
ONLY_LEVELS = ("fclk", "vclk", "dclk", "vclk1", "dclk1", "dcefclk")
MEGA = 1e6


class SetupCollector:
    """Samples from the whole card. Between two readings the last values stand; their age is never above ``EVERY``."""

    name = "gpu_setup"

    def __init__(self, fs: HostFS, clock: Callable[[], float] = time.monotonic) -> None:
        self._fs = fs
        self._cards = Cards()
        self._clock = clock
        self._read_at: float | None = None
        self._known: tuple[str, ...] = ()
        self._last = Batch()

    def collect(self, batch: Batch) -> None:
        """All GPUs."""
        places = self._cards.places(self._fs, batch)
        known = tuple(key(place) for place in places)
        now = self._clock()
        if self._read_at is None or now - self._read_at >= EVERY or known != self._known:
            fresh = Batch()
            for place in places:
                gpu = key(place)
                add_card(fresh, gpu, read_card(self._fs, place))
            self._last, self._read_at, self._known = fresh, now, known
        batch.samples.update(self._last.samples)
        batch.gaps(self._last.notes)

    def close(self) -> None:
        """Nothing is held."""


def add_card(batch: Batch, gpu: str, card: AmdgpuCard) -> None:
    """All samples of one card."""
    device = card.pci.device
    batch.add(
        m.INFO, 1, gpu, str(card.place.card), text(card.unique_id), text(card.serial), text(card.product_name),
        text(card.product_number), text(card.gfx), text(device.device), text(device.subsystem_device),
        text(card.place.render_minor), text(device.numa_node),
    )  # fmt: skip
    if card.vbios is not None:
        batch.add(m.VBIOS, 1, gpu, text(card.vbios))
    for block, version in card.firmware.items():
        batch.add(m.FIRMWARE, 1, gpu, block, f"0x{version:08x}")
    if card.compute_mode is not None or card.memory_mode is not None:
        batch.add(m.MODE, 1, gpu, text(card.compute_mode), text(card.memory_mode))
    for kind, resource in card.partition_resources.items():
        batch.add(m.PARTITION_RESOURCE, resource.instances, gpu, kind)
        batch.add(m.PARTITION_SHARED, resource.shared, gpu, kind)
    for partition, state in enumerate(card.isolation or ()):
        batch.add(m.ISOLATION, int(state > 0), gpu, str(partition))
    batch.add(
        m.PERFORMANCE, 1, gpu, text(card.performance_level), text(card.power_profile),
        text(card.soc_pstate.active if card.soc_pstate else None),
        text(card.xgmi_plpd.active if card.xgmi_plpd else None), text(card.dpm_state),
    )  # fmt: skip
    batch.add(m.RUNTIME, 1, gpu, text(device.runtime_status), text(card.runtime_control), text(device.power_state))
    for block, kinds in card.resets.items():
        for kind in ("soft", "queue", "pipe", "full"):
            batch.add(m.RESET_SUPPORTED, int(kind in kinds), gpu, block, kind)
    for feature, enabled in (card.features or {}).items():
        batch.add(gpu_sensors.POWER_FEATURE, int(enabled), gpu, feature.lower())
    _clocks(batch, gpu, card)
    for name, value in card.board.items():
        if name != "global_ppt_resid":
            batch.add(gpu_sensors.BOARD_POWER, value, gpu, name)
    batch.gaps(card.gaps)


def _clocks(batch: Batch, gpu: str, card: AmdgpuCard) -> None:
    for name, levels in card.clocks.items():
        numbered = [level.mhz for level in levels if level.index is not None]
        domain = DOMAINS[name]
        if numbered:
            batch.add(gpu_sensors.CLOCK_LIMIT, min(numbered) * MEGA, gpu, domain, "min")
            batch.add(gpu_sensors.CLOCK_LIMIT, max(numbered) * MEGA, gpu, domain, "max")
        active = dpm.active_mhz(levels)
        if active is not None and name in ONLY_LEVELS:
            batch.add(gpu_sensors.CLOCK, active * MEGA, gpu, domain)
