"""Memory, sensors and use of each GPU, from its text files."""

from __future__ import annotations

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.cards import Cards, key
from rocsteady.facts.hwmon import Hwmon, read_hwmon
from rocsteady.facts.parse_file import Folder
from rocsteady.hostfs import HostFS
from rocsteady.metrics import gpu_sensors as m

MEMORY = (
    (m.MEMORY_USED, "mem_info_vram_used", "vram"), (m.MEMORY_USED, "mem_info_vis_vram_used", "visible"),
    (m.MEMORY_USED, "mem_info_gtt_used", "gtt"), (m.MEMORY_USED, "mem_info_preempt_used", "preempt"),
    (m.MEMORY_TOTAL, "mem_info_vram_total", "vram"), (m.MEMORY_TOTAL, "mem_info_vis_vram_total", "visible"),
    (m.MEMORY_TOTAL, "mem_info_gtt_total", "gtt"),
)  # fmt: skip
BUSY = (("gpu_busy_percent", "gfx"), ("mem_busy_percent", "memory"), ("vcn_busy_percent", "media"))
SENSOR_NAMES = {"mem": "memory"}
RAILS = {"vddgfx": "gfx", "vddnb": "northbridge"}
MILLI, PERCENT, MEGA = 1e-3, 100, 1e6


class SensorCollector:
    """Samples of the text files."""

    name = "gpu_sensors"

    def __init__(self, fs: HostFS) -> None:
        self._fs = fs
        self._cards = Cards()

    def collect(self, batch: Batch) -> None:
        """All GPUs."""
        for place in self._cards.places(self._fs, batch):
            gpu = key(place)
            folder = Folder(self._fs, place.path)
            for metric, file, kind in MEMORY:
                batch.add(metric, folder.integer(file), gpu, kind)
            for file, domain in BUSY:
                percent = folder.integer(file)
                if percent is not None:
                    batch.add(m.ACTIVITY, percent / PERCENT, gpu, domain)
            hwmon = read_hwmon(self._fs, place.path)
            if hwmon is not None:
                _hwmon(batch, gpu, hwmon)
                batch.gaps(hwmon.folder.gaps)
            batch.gaps(folder.gaps)

    def close(self) -> None:
        """Nothing is held."""


def _hwmon(batch: Batch, gpu: str, hwmon: Hwmon) -> None:
    for label, sensor in hwmon.temperatures.items():
        name = SENSOR_NAMES.get(label, label)
        batch.add(m.TEMPERATURE, sensor.now, gpu, name)
        batch.add(m.TEMPERATURE_LIMIT, sensor.crit, gpu, name, "critical")
        batch.add(m.TEMPERATURE_LIMIT, sensor.emergency, gpu, name, "emergency")
    for power in list(hwmon.powers.values())[:1]:
        batch.add(m.POWER, power.instant, gpu, "instant")
        batch.add(m.POWER, power.average, gpu, "average")
        for kind, value in (
            ("current", power.cap), ("default", power.cap_default), ("min", power.cap_min), ("max", power.cap_max),
        ):  # fmt: skip
            batch.add(m.POWER_LIMIT, value, gpu, kind)
    for label, millivolt in hwmon.voltages.items():
        batch.add(m.VOLTAGE, millivolt * MILLI, gpu, RAILS.get(label, label))
    if hwmon.fan is not None:
        batch.add(m.FAN, hwmon.fan.rpm, gpu)
        if hwmon.fan.pwm is not None and hwmon.fan.pwm_max:
            batch.add(m.FAN_DUTY, hwmon.fan.pwm / hwmon.fan.pwm_max, gpu)
    for label, megahertz in hwmon.clocks.items():
        batch.add(m.CLOCK, megahertz * MEGA, gpu, {"sclk": "gfx", "mclk": "memory"}.get(label, label))
