"""What moves around the GPUs: uptime, load, memory, pressure, RDMA counters."""

from __future__ import annotations

from rocsteady.lab.live.disk import Disk
from rocsteady.lab.shapes import Shape
from rocsteady.lab.state import UPTIME
from rocsteady.lab.tree import Tree

RATES = {
    "port_rcv_data": 12_000_000, "port_xmit_data": 11_500_000, "port_rcv_packets": 12_000,
    "port_xmit_packets": 11_500, "unicast_rcv_packets": 12_000, "unicast_xmit_packets": 11_500,
    "multicast_rcv_packets": 1, "rx_write_requests": 3000, "rx_read_requests": 40,
}  # fmt: skip
"""Per second at full load: light traffic of one replica; data counters count words of four bytes."""
PRESSURE = {"cpu": 4000.0, "io": 900.0, "memory": 0.0}
"""Microseconds of stall a second."""


class Surroundings:
    """Host values. Counters are kept as floats and shown as whole numbers."""

    def __init__(self, shape: Shape, tree: Tree, disk: Disk) -> None:
        self._shape = shape
        self._disk = disk
        self._counters: dict[str, tuple[float, float]] = {}
        for path, data in tree.files.items():
            name = path.rpartition("/")[2]
            if "/infiniband/" in path and name in RATES:
                self._counters[path] = (float(data), RATES[name])
        self._pressure = {kind: [8_123_456.0, 2_345_678.0] for kind in PRESSURE}
        self._memory = tree.files["proc/meminfo"].decode()
        self._free = _kib(self._memory, "MemFree")
        self._available = _kib(self._memory, "MemAvailable")
        self._hits = {path: data.decode() for path, data in tree.files.items() if path.endswith("/numastat")}
        self._hit = 912_345_678.0
        self.average = 5.12

    def step(self, load: float, seconds: float) -> None:
        """Let time pass."""
        for path, (value, rate) in self._counters.items():
            self._counters[path] = (value + rate * load * seconds, rate)
        for kind, rate in PRESSURE.items():
            self._pressure[kind][0] += rate * load * seconds
            self._pressure[kind][1] += rate * load * seconds / 4
        self._hit += 12_000 * load * seconds
        self.average += (1 + 12 * load - self.average) * min(1.0, seconds / 60)

    def write(self, now: float, load: float) -> None:
        """Show it."""
        disk, up = self._disk, UPTIME + now
        cores = self._shape.host.cores * self._shape.host.sockets
        disk.text("proc/uptime", f"{up:.2f} {up * cores * 0.93:.2f}")
        disk.text("proc/loadavg", f"{self.average:.2f} {self.average:.2f} {self.average:.2f} 6/2401 51234")
        for path, (value, _) in self._counters.items():
            disk.text(path, str(int(value)))
        for kind, (some, full) in self._pressure.items():
            share = PRESSURE[kind] / 10_000 * load
            lines = [
                f"{name} avg10={part:.2f} avg60={part:.2f} avg300={part:.2f} total={int(total)}"
                for name, part, total in (("some", share, some), ("full", share / 4, full))
            ]
            disk.text(f"proc/pressure/{kind}", "\n".join(lines))
        used = int(load * 4_000_000)
        text = self._memory.replace(f"{self._free} kB", f"{self._free - used} kB", 1)
        disk.text("proc/meminfo", text.replace(f"{self._available} kB", f"{self._available - used} kB", 1))
        for path, before in self._hits.items():
            disk.text(path, before.replace("912345678", str(int(self._hit)), 1))


def _kib(text: str, name: str) -> int:
    line = next(line for line in text.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])
