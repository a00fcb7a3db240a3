"""Builds the tree of one synthetic node."""

from __future__ import annotations

import random

import msgspec

from rocsteady.lab.gpu import FIRST_RENDER, Slot, add_gpu, drm_step, has_console
from rocsteady.lab.host import add_device_listing, add_driver, add_host, cpu_list
from rocsteady.lab.kfd import add_kfd
from rocsteady.lab.logs import dmesg, engine_log, syslog
from rocsteady.lab.metrics import metrics_version
from rocsteady.lab.nics import add_nic
from rocsteady.lab.pci import IO_PORTS, MEM_32, MEM_64_PREFETCH, Function, add_function, bdf_of, root_port
from rocsteady.lab.shapes import METRICS_DRIVERS, Shape
from rocsteady.lab.state import GpuState, healthy_state
from rocsteady.lab.tree import NOTE, Tree

AMD, ASPEED = 0x1002, 0x1A03
SWITCH_UP, SWITCH_DOWN = 0x1478, 0x1479
"""The PCIe switch that Radeon boards hold."""
VRAM_WINDOW = 0x6000_0000_0000
MIB = 1 << 20


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A tree together with what was put into it."""

    shape: Shape
    seed: int
    metrics: str | None
    driver: str
    rocm: str
    slots: list[Slot]
    states: list[GpuState]
    tree: Tree


def build_node(shape: Shape, seed: int = 0, metrics: str | None = None) -> Node:
    """One healthy node; the same shape, seed and version give the same bytes.

    Raises:
        InputError: no driver of the shape's GPU emits the wanted version of gpu_metrics.
    """
    version = metrics_version(shape, metrics)
    rng = random.Random(f"{shape.name}/{seed}")
    driver, rocm = shape.host.driver, shape.host.rocm
    if shape.part is not None and shape.part.instinct_300 and version is not None:
        driver, rocm = METRICS_DRIVERS[version]
    tree = Tree()
    slots = [_slot(shape, number) for number in range(len(shape.buses))]
    states = [healthy_state(shape, slot.number, slot.bdf, rng) for slot in slots]
    tree.text(NOTE, _note(shape, seed))
    add_host(tree, shape)
    add_driver(tree, shape, driver, rocm)
    _add_console(tree, shape)
    for slot, state in zip(slots, states, strict=True):
        _add_pci(tree, shape, slot)
        add_gpu(tree, shape, slot, state, version or "")
        if shape.part is not None and shape.part.xgmi:
            for peer in slots:
                base = f"sys/devices/{slot.place}/xgmi_hive_info"
                tree.link(f"{base}/node{peer.number + 1}", f"sys/devices/{peer.place}")
    for number, nic in enumerate(shape.nics):
        add_nic(tree, shape, number, nic, 200 + 2 * number, rng)
    if shape.part is not None:
        add_kfd(tree, shape, slots, states)
        tree.text("var/log/vllm/vllm.log", engine_log(shape))
    add_device_listing(tree, shape, slots)
    tree.text("var/log/dmesg", dmesg(shape, slots, driver))
    tree.text("var/log/syslog", syslog())
    return Node(
        shape=shape, seed=seed, metrics=version, driver=driver, rocm=rocm, slots=slots, states=states, tree=tree
    )


def _note(shape: Shape, seed: int) -> str:
    return (
        f"synthetic\n\nThis tree was written by 'rocsteady lab write {shape.name} --seed {seed}'. No machine looked like this:\n"
        f"{shape.text}. File names and formats are those of the amdgpu driver; values are made up. Device files\n"
        "cannot be made without root, so commands/ls_-lnR_* holds a listing of /dev in their place.\n"
    )


def _slot(shape: Shape, number: int) -> Slot:
    bus = shape.buses[number]
    bdf = bdf_of(bus)
    port = bdf_of(bus & 0xE0, 1, 1) if shape.package == 1 else bdf_of(bus - 1, 1, 1)
    steps = [f"pci0000:{port[5:7]}", port]
    if shape.part is not None and shape.part.fan:
        steps += [bdf_of(bus - 2), bdf_of(bus - 1)]
    step = drm_step(shape)
    first = 1 if has_console(shape) else 0
    return Slot(
        number=number, bdf=bdf, place="/".join([*steps, bdf]), card=first + number * step,
        minor=FIRST_RENDER + number * step, numa_node=shape.sockets[number], hwmon=3 + number,
    )  # fmt: skip


def _add_pci(tree: Tree, shape: Shape, slot: Slot) -> None:
    """The GPU's function and the bridges above it."""
    part = shape.part
    assert part is not None
    steps = slot.place.split("/")
    cpus = cpu_list(shape.host, slot.numa_node)
    group = 20 + 4 * slot.number
    root_bus = int(steps[0][-2:], 16)
    add_function(tree, root_port(root_bus, 1, slot.numa_node, cpus, part.pcie_speed, group))
    for number, bdf in enumerate(steps[2:-1]):
        add_function(
            tree,
            Function(
                bdf=bdf, place="/".join(steps[: 3 + number]), vendor=AMD,
                device=SWITCH_DOWN if number else SWITCH_UP, class_code=0x060400, numa_node=slot.numa_node, cpus=cpus,
                speed=part.pcie_speed, width=16, driver="pcieport", iommu_group=group + 1 + number,
            ),
        )  # fmt: skip
    window = 1 << (part.vram - 1).bit_length()
    bars = (
        (VRAM_WINDOW + slot.number * (1 << 39), window, MEM_64_PREFETCH), (0, 0, 0),
        (0x5000_0000_0000 + slot.number * (1 << 28), 2 * MIB, MEM_64_PREFETCH), (0, 0, 0),
        (0x1000 + 0x1000 * slot.number, 256, IO_PORTS), (0xD000_0000 + slot.number * MIB, MIB // 2, MEM_32),
    )  # fmt: skip
    add_function(
        tree,
        Function(
            bdf=slot.bdf, place=slot.place, vendor=AMD, device=part.device_id, subsystem=part.subsystem,
            revision=part.revision, class_code=part.class_code, numa_node=slot.numa_node, cpus=cpus,
            speed=part.pcie_speed, width=16, bars=bars, driver="amdgpu", iommu_group=group + 3,
        ),
    )  # fmt: skip


def _add_console(tree: Tree, shape: Shape) -> None:
    """The board's own display controller: card0, of another vendor, unless the partitions need all 64 minors."""
    bdf = bdf_of(0xF1)
    port = root_port(0xF0, 1, 0, cpu_list(shape.host, 0), 5.0, 10)
    add_function(tree, port)
    place = f"{port.place}/{bdf}"
    add_function(
        tree,
        Function(
            bdf=bdf, place=place, vendor=ASPEED, device=0x2000, subsystem=(ASPEED, 0x2000), class_code=0x030000,
            numa_node=0, cpus=port.cpus, speed=2.5, width=1, driver="ast" if has_console(shape) else None,
            iommu_group=11, atomics=False,
        ),
    )  # fmt: skip
    if not has_console(shape):
        tree.text("etc/modprobe.d/no-bmc-vga.conf", "# all 64 DRM minors are needed for partitions\nblacklist ast")
        return
    base = f"sys/devices/{place}/drm/card0"
    tree.text(f"{base}/dev", "226:0")
    tree.text(f"{base}/uevent", "MAJOR=226\nMINOR=0\nDEVNAME=dri/card0\nDEVTYPE=drm_minor")
    tree.link(f"{base}/device", f"sys/devices/{place}")
    tree.link("sys/class/drm/card0", base)
