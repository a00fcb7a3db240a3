"""Rows of device files, PCI functions and RDMA devices."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts.device_nodes import read_device_nodes, read_groups
from rocsteady.facts.infiniband import read_rdma_devices
from rocsteady.facts.pci import PciFunction, read_pci
from rocsteady.facts.tree_rows import Row, from_file, known, worth_listing
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap

GPU_CLASSES = ("0300", "0302", "0380", "1200")
"""Display controllers and processing accelerators."""
NETWORK = ("0200", "0207")
AMD = "1002"
WORDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")
TEXT = (
    ("driver", "driver"), ("iommu_group", "iommu_group"), ("parent", ""), ("is_bridge", "class"),
    ("numa_node", "numa_node"), ("power_state", "power_state"), ("runtime_status", "power/runtime_status"),
    ("aer_correctable", "aer_dev_correctable"), ("aer_nonfatal", "aer_dev_nonfatal"), ("aer_fatal", "aer_dev_fatal"),
    ("bars", "resource"), ("acs", "config"), ("atomics_routing", "config"), ("atomics_completer", "config"),
    ("atomics_requester", "config"),
)  # fmt: skip


def device_rows(fs: HostFS) -> Iterator[Row]:
    """Rows of /dev and of the groups that own it."""
    rows, gaps = read_device_nodes(fs)
    for row in rows:
        yield from known(f"devices[{row.node.path}]", row.node, row.evidence)
    yield from gaps
    groups = read_groups(fs)
    if isinstance(groups, dict):
        for name, number in groups.items():
            if name in ("render", "video", "docker", "rdma", "kvm"):
                yield from known(f"groups[{name}]", number, Evidence("etc/group", None, f"{name}:x:{number}:"))


def pci_rows(fs: HostFS) -> tuple[dict[str, PciFunction], Iterator[Row]]:
    """All functions, and the rows of those that matter: GPUs, NICs, and the bridges above them."""
    functions = read_pci(fs)
    if isinstance(functions, Gap):
        return {}, worth_listing(functions)
    return functions, _rows(functions)


def _rows(functions: dict[str, PciFunction]) -> Iterator[Row]:
    wanted: dict[str, None] = {}
    for bdf, function in functions.items():
        code = (function.device.class_code or "").zfill(6)
        if code[:4] in GPU_CLASSES or code[:4] in NETWORK or (function.device.vendor == AMD and code[:2] != "04"):
            here: str | None = bdf
            while here is not None and here in functions and here not in wanted:
                wanted[here] = None
                here = functions[here].device.parent
    for bdf in sorted(wanted):
        yield from function_rows(functions[bdf])


def function_rows(function: PciFunction) -> Iterator[Row]:
    """Rows of one function."""
    device, folder = function.device, function.folder
    base = f"pci[{device.bdf}]"
    for name in WORDS:
        yield from from_file(f"{base}.{name}", folder, name, getattr(device, name))
    yield from from_file(f"{base}.class_code", folder, "class", device.class_code)
    for field, name in TEXT:
        yield from from_file(f"{base}.{field}", folder, name, getattr(device, field))
    for field, name in (
        ("speed", "current_link_speed"), ("width", "current_link_width"), ("max_speed", "max_link_speed"),
        ("max_width", "max_link_width"),
    ):  # fmt: skip
        yield from from_file(f"{base}.link.{field}", folder, name, getattr(device.link, field))
    yield from folder.gaps


def rdma_rows(fs: HostFS) -> Iterator[Row]:
    """Rows of RDMA devices, each by its first port."""
    devices = read_rdma_devices(fs)
    if isinstance(devices, Gap):
        yield from worth_listing(devices)
        return
    for device in devices:
        base, folder = f"rdma[{device.name}]", device.folder
        yield from from_file(f"{base}.firmware", folder, "fw_ver", device.firmware)
        yield from known(f"{base}.driver", device.driver, Evidence(folder.path, None, device.name))
        yield from known(f"{base}.bdf", device.bdf, Evidence(folder.path, None, device.name))
        for port in device.ports[:1]:
            place = f"ports/{port.number}"
            yield from from_file(f"{base}.state", folder, f"{place}/state", port.state)
            yield from from_file(f"{base}.physical_state", folder, f"{place}/phys_state", port.physical_state)
            yield from from_file(f"{base}.rate", folder, f"{place}/rate", port.rate)
            yield from from_file(f"{base}.link_layer", folder, f"{place}/link_layer", port.link_layer)
        yield from folder.gaps
