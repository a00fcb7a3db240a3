"""RDMA NICs."""

from __future__ import annotations

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.errors import text
from rocsteady.facts.infiniband import OCTETS_PER_COUNT, RdmaDevice, RdmaPort, read_rdma_devices
from rocsteady.hostfs import HostFS
from rocsteady.metrics import node as m
from rocsteady.model import Gap

BYTES = {"port_rcv_data": "receive", "port_xmit_data": "transmit"}
PACKETS = {
    "port_rcv_packets": ("receive", "all"), "port_xmit_packets": ("transmit", "all"),
    "unicast_rcv_packets": ("receive", "unicast"), "unicast_xmit_packets": ("transmit", "unicast"),
    "multicast_rcv_packets": ("receive", "multicast"), "multicast_xmit_packets": ("transmit", "multicast"),
}  # fmt: skip
GIGABIT_IN_BYTES = 1e9 / 8


class RdmaCollector:
    """Samples of all RDMA ports."""

    name = "rdma"

    def __init__(self, fs: HostFS) -> None:
        self._fs = fs

    def collect(self, batch: Batch) -> None:
        """All devices."""
        devices = read_rdma_devices(self._fs)
        if isinstance(devices, Gap):
            if not devices.why.startswith("absent"):
                batch.gap(devices)
            return
        for device in devices:
            self._device(batch, device)
            batch.gaps(device.folder.gaps)

    def close(self) -> None:
        """Nothing is held."""

    def _device(self, batch: Batch, device: RdmaDevice) -> None:
        batch.add(
            m.RDMA_INFO, 1, device.name, text(device.hca_type), text(device.firmware), text(device.driver),
            text(device.bdf),
        )  # fmt: skip
        for port in device.ports:
            _port(batch, device.name, port)


def _port(batch: Batch, device: str, port: RdmaPort) -> None:
    where = (device, str(port.number))
    if port.state is not None:
        batch.add(m.RDMA_UP, int(port.state == "ACTIVE"), *where, "logical")
    if port.physical_state is not None:
        batch.add(m.RDMA_UP, int(port.physical_state == "LinkUp"), *where, "physical")
    if port.rate is not None:
        batch.add(m.RDMA_RATE, port.rate * GIGABIT_IN_BYTES, *where)
    for name, count in port.counters.items():
        if name in BYTES:
            batch.add(m.RDMA_BYTES, count * OCTETS_PER_COUNT, *where, BYTES[name])
        elif name in PACKETS:
            batch.add(m.RDMA_PACKETS, count, *where, *PACKETS[name])
        else:
            batch.add(m.RDMA_COUNTER, count, *where, "port", name)
    for name, count in port.hw_counters.items():
        batch.add(m.RDMA_COUNTER, count, *where, "hardware", name)
