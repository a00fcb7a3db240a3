"""What a step of a fault does to the node: lines, counters, pages, resets, drivers and devices that go away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocsteady.lab.gpu import PARTITIONS, Slot, drm_step
from rocsteady.lab.kfd import KFD, TOPOLOGY, plan_nodes
from rocsteady.lab.live.fault import Due, Fault
from rocsteady.lab.live.scenario import Action
from rocsteady.lab.state import GpuState

if TYPE_CHECKING:
    from rocsteady.lab.live.node import LivingNode

EVENTS = {"fatal": "Fatal Error", "creation": "Poison Creation", "consumption": "Poison Consumption"}
THROTTLED = "WARN: GPU thermal throttling temperature reached, expect performance decrease. TEMP_HOTSPOT."
THROTTLED_300 = "WARN: GPU is throttled, expect performance decrease. SOC."
"""As aldebaran_ppt.c and smu_v13_0_6_ppt.c print it."""
FIRST_PAGE, PAGE_STEP = 0x2A31C60, 0x11
GIB = 1 << 30
BAD_PAGE_LIMIT = 256


class Actions:
    """Carries out steps on one node."""

    def __init__(self, living: LivingNode) -> None:
        self._living = living
        self._gone: dict[int, set[str]] = {}
        """What a fault took away, by the fault's place in the list of faults."""
        self._resetting: dict[int, int] = {}
        """GPU -> the fault that began its reset."""
        self._killer: int | None = None
        self._resets: dict[int, int] = {}
        self._sequence: dict[int, int] = {}

    def happen(self, due: Due, fault: Fault) -> None:
        """One step, now."""
        living, step = self._living, due.step
        body = living.bodies[due.gpu]
        for name, amount in step.count.items():
            self._count(due.gpu, body.state, name, amount)
        for flag, pages in step.pages.items():
            start = FIRST_PAGE + len(body.state.retired) * PAGE_STEP
            body.state.retired += [(start + i * PAGE_STEP, flag) for i in range(pages)]
        for action in step.do:
            self._act(action, due.gpu, due.at, fault.number)
        words = self._words(due, fault)
        for offset, line in enumerate(step.log):
            living.kernel.add(living.uptime(due.at) + offset * 0.0011, line.format_map(words))
        for path, line in step.append.items():
            living.disk.append(path, line.format_map(words) + "\n")
        if living.engine is not None:
            for line in step.engine:
                living.engine.raw(line.format_map(words))

    def resets(self, gpu: int) -> int:
        """Resets of a GPU so far."""
        return self._resets.get(gpu, 0)

    def undo(self, fault: Fault) -> None:
        """The end of a fault: devices come back, an engine that it killed is started again."""
        living, number = self._living, fault.number
        self._bring_back(number)
        for gpu in [gpu for gpu, by in self._resetting.items() if by == number]:
            del self._resetting[gpu]
            living.bodies[gpu].state.recovering = False
        if self._killer is not None and living.faults[self._killer].ended is not None:
            self._act("engine-starts", fault.gpu, living.now, number)

    def _bring_back(self, number: int) -> None:
        """What a fault took away is there again, unless another one holds it; a driver that is loaded counts anew."""
        paths = self._gone.pop(number, set())
        if not paths:
            return
        others = {path for held in self._gone.values() for path in held}
        self._living.disk.show(paths - others)
        for body, slot in zip(self._living.bodies, self._living.still.slots, strict=True):
            if f"sys/class/drm/card{slot.card}" in paths - others:
                body.state.ue, body.state.ce, body.state.de = (
                    dict.fromkeys(table, 0) for table in (body.state.ue, body.state.ce, body.state.de)
                )
                body.state.ras_events = {}

    def _count(self, gpu: int, state: GpuState, name: str, amount: int) -> None:
        kind, _, rest = name.partition(".")
        if kind == "ras":
            block, _, severity = rest.partition(".")
            table = {"ue": state.ue, "ce": state.ce, "de": state.de}[severity]
            if block in table:
                table[block] += amount
        elif kind == "event":
            sequence = self._sequence[gpu] = self._sequence.get(gpu, 0) + 1
            count = state.ras_events.get(EVENTS[rest], (0, 0))[0]
            state.ras_events = state.ras_events | {EVENTS[rest]: (count + amount, sequence)}
        elif kind == "aer":
            state.aer = state.aer | {rest: state.aer.get(rest, 0) + amount}
        elif kind == "pcie":
            setattr(state, rest, getattr(state, rest) + amount)
        else:
            raise ValueError(f"counter {name}")

    def _act(self, action: Action, gpu: int, at: float, number: int) -> None:
        living = self._living
        body, engine = living.bodies[gpu], living.engine
        if action == "reset-begin":
            self._resetting[gpu] = number
            body.state.recovering = True
            body.serving = False
        elif action == "reset-end":
            self._resetting.pop(gpu, None)
            body.state.recovering = False
            body.restart()
            self._resets[gpu] = self._resets.get(gpu, 0) + 1
            body.state.retired = [(page, "R" if flag == "P" else flag) for page, flag in body.state.retired]
        elif action == "engine-dies" and engine is not None:
            if engine.alive:
                self._killer = number
            engine.die()
            for other in living.bodies:
                other.serving = False
        elif action == "engine-starts" and engine is not None and not engine.alive and not self._gone:
            self._killer = None
            for other in living.bodies:
                other.leaked, other.serving = 0.0, True
            engine.start()
            engine.say(at, "INFO", "api_server.py:1419", "vLLM API server version 0.9.2")
            engine.raw("INFO:     Application startup complete.")
        elif action == "driver-unloads":
            for other_gpu in range(len(living.bodies)):
                self._hide(number, self._driver_paths(other_gpu))
            self._hide(number, {"sys/module/amdgpu", "sys/class/kfd", KFD})
        elif action == "gpu-vanishes":
            self._hide(number, self._driver_paths(gpu) | self._function_paths(gpu))
        elif action == "driver-loads":
            self._bring_back(number)

    def _hide(self, number: int, paths: set[str]) -> None:
        self._gone[number] = self._gone.get(number, set()) | paths
        self._living.disk.hide(paths)

    def _driver_paths(self, gpu: int) -> set[str]:
        """What the driver makes for one GPU."""
        living = self._living
        node = living.still
        slot = node.slots[gpu]
        base = f"sys/devices/{slot.place}"
        kept = _pci_files(slot)
        own = {
            path for path in (*node.tree.files, *node.tree.links) if path.startswith(f"{base}/") and path not in kept
        }
        for number in range(drm_step(living.shape)):
            own |= {f"sys/class/drm/card{slot.card + number}", f"sys/class/drm/renderD{slot.minor + number}"}
        if drm_step(living.shape) > 1:
            own |= {
                f"sys/devices/platform/amdgpu_xcp_{slot.number * (PARTITIONS - 1) + i}" for i in range(PARTITIONS - 1)
            }
        own |= {f"sys/class/hwmon/hwmon{slot.hwmon}", f"{base}/driver", f"sys/bus/pci/drivers/amdgpu/{slot.bdf}"}
        own |= {f"{base}/drm", f"{base}/hwmon", f"{base}/ras", f"{base}/xcp", f"{base}/fw_version"}
        own |= {f"{TOPOLOGY}/nodes/{n.id}" for n in plan_nodes(living.shape) if n.gpu == gpu}
        return own

    def _function_paths(self, gpu: int) -> set[str]:
        slot = self._living.still.slots[gpu]
        return {f"sys/devices/{slot.place}", f"sys/bus/pci/devices/{slot.bdf}"}

    def _words(self, due: Due, fault: Fault) -> dict[str, object]:
        living = self._living
        state, slots = living.bodies[due.gpu].state, living.still.slots
        part = living.shape.part
        assert part is not None
        gpu = due.gpu
        return {
            "bdf": slots[gpu].bdf, "head": f"amdgpu {slots[gpu].bdf}: amdgpu:", "gpu": gpu, "n": due.number,
            "peer": slots[fault.peer].bdf, "port": slots[gpu].place.split("/")[1], "ue": state.ue.get("umc", 0),
            "ce": state.ce.get("umc", 0), "de": state.de.get("umc", 0), "pages": len(state.retired),
            "limit": BAD_PAGE_LIMIT, "resets": self._resets.get(gpu, 0), "socket": gpu,
            "pid": living.engine.pid(gpu if gpu in living.engine.gpus else 0) if living.engine else 0,
            "total_gib": f"{part.vram / GIB:.2f}", "free_mib": f"{(part.vram - state.vram_used) / (1 << 20):.2f}",
            "used_gib": f"{state.vram_used / GIB:.2f}", "width": state.pcie_width, "stamp": living.stamp(due.at), "date": living.stamp(due.at, "%Y-%m-%d %H:%M:%S"),
            "throttle": THROTTLED_300 if part.instinct_300 else THROTTLED,
        }  # fmt: skip


def _pci_files(slot: Slot) -> set[str]:
    """What the PCI core makes, and keeps without a driver."""
    base = f"sys/devices/{slot.place}"
    names = (
        "vendor", "device", "subsystem_vendor", "subsystem_device", "revision", "class", "numa_node", "local_cpulist",
        "irq", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "power_state",
        "power/runtime_status", "power/control", "d3cold_allowed", "enable", "broken_parity_status", "ari_enabled",
        "dma_mask_bits", "consistent_dma_mask_bits", "msi_bus", "modalias", "uevent", "resource",
        "aer_dev_correctable", "aer_dev_fatal", "aer_dev_nonfatal", "config", "subsystem", "iommu_group", "reset_method",
        "boot_vga",
    )  # fmt: skip
    return {f"{base}/{name}" for name in names}
