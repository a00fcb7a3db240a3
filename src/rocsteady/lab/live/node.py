"""A node that lives: its tree moves with simulated time, and faults can be put in and taken out while it runs.

No thread and no clock of its own: ``advance`` lets time pass and writes the tree. Same shape, seed and calls give the
same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rocsteady.hostfs.store import open_regular
from rocsteady.lab.gpu import gpu_texts, hwmon_texts
from rocsteady.lab.kfd import TOPOLOGY, plan_nodes
from rocsteady.lab.live.actions import Actions
from rocsteady.lab.live.crowd import add_crowd
from rocsteady.lab.live.disk import Disk, InMemory
from rocsteady.lab.live.engine import Engine
from rocsteady.lab.live.fault import Due, Fault
from rocsteady.lab.live.kernel import KernelLog
from rocsteady.lab.live.load import Load
from rocsteady.lab.live.physics import Body, Inputs
from rocsteady.lab.live.reads import Reads
from rocsteady.lab.live.scenario import HEALTHY, scenario_for
from rocsteady.lab.live.surroundings import Surroundings
from rocsteady.lab.metrics import gpu_metrics, partition_metrics
from rocsteady.lab.node import Node, build_node
from rocsteady.lab.pci import aer_correctable
from rocsteady.lab.shapes import SHAPES, Shape
from rocsteady.lab.state import UPTIME
from rocsteady.lab.tree import NOTE
from rocsteady.model import InputError

LONGEST = 15.0
"""Seconds of one step of the model: the load's shortest wave is 37 s."""
EPOCH = 1_764_547_200.0
"""Wall clock (1 Dec 2025) of a node that is given none, so that its logs are the same each time."""
PORT = 8000


class LivingNode:
    """A synthetic node on disk.

    ``now``: simulated seconds since it came alive. ``faults``: all that were put in, ended ones too.
    """

    def __init__(
        self,
        shape: Shape | str,
        directory: Path | None,
        scenario: str = HEALTHY,
        seed: int = 0,
        *,
        gpu: int | None = None,
        delay: float | None = None,
        gpu_metrics: str | None = None,
        start: float = EPOCH,
        clock: Callable[[], float] = time.time,
        port: int | None = None,
        near_wrap: bool = False,
        processes: int = 0,
    ) -> None:
        """Write the tree into ``directory``, which is new or empty, and plan the scenario ``delay`` seconds from now.

        Without a directory the node lives in memory only; ``visible`` gives its files.

        ``start``: wall clock at simulated time 0, for the logs; ``clock``: wall clock now; ``port``: of the engine; ``near_wrap``:
        32-bit counters of the tables wrap within minutes; ``processes``: so many more hold the GPUs open.

        Raises:
            InputError: unknown shape or scenario, a scenario that the shape cannot show, no such GPU, or a directory
                that cannot be used.
        """
        if isinstance(shape, str):
            if shape not in SHAPES:
                raise InputError(f"shape {shape!r}: one of {', '.join(SHAPES)}")
            shape = SHAPES[shape]
        first = scenario_for(scenario, shape)
        wait = _delay(first.delay if delay is None else delay)
        self.shape = shape
        self.directory = directory or Path("/nowhere")
        self.now = 0.0
        self.faults: list[Fault] = []
        self._clock = clock
        self._start = start
        self._node = build_node(shape, seed, gpu_metrics)
        self._node.tree.text(NOTE, self._node.tree.files[NOTE].decode() + "\nIt is alive: values move.\n")
        add_crowd(self._node.tree, self._node.slots, processes)
        self.disk = InMemory(self._node.tree) if directory is None else Disk(self._node.tree, directory)
        self.reads = Reads(self.directory)
        self.bodies = [] if shape.part is None else [Body(shape.part, state) for state in self._node.states]
        for body in self.bodies if near_wrap else ():
            body.near_wrap()
        self._load = Load(f"{shape.name}/{seed}/load", len(shape.buses))
        self._around = Surroundings(shape, self._node.tree, self.disk)
        self._banks = {n.gpu: n.id for n in plan_nodes(shape) if n.gpu is not None and n.partition == 0}
        self._check(gpu)
        self.disk.create(self.directory)
        self.kernel = KernelLog(self.disk, self._node.tree.files["var/log/dmesg"].decode())
        self.engine = (
            Engine(shape, self._node.slots, self.disk, start, port or PORT) if shape.part is not None else None
        )
        if self.engine is not None:
            self.engine.start()
        self._actions = Actions(self)
        self._inputs: dict[int, Inputs] = {}
        if scenario != HEALTHY:
            self.inject(scenario, gpu=gpu, delay=wait)
        self._write(0.0)

    @property
    def slots(self) -> list[str]:
        """PCI addresses by GPU number."""
        return [slot.bdf for slot in self._node.slots]

    @property
    def still(self) -> Node:
        """The still node that this one began as; its states are the present ones."""
        return self._node

    def resets(self, gpu: int) -> int:
        """Resets of a GPU that succeeded."""
        return self._actions.resets(gpu)

    def visible(self) -> dict[str, str | bytes]:
        """Files of a node that lives in memory, for a memory store."""
        assert isinstance(self.disk, InMemory)
        return self.disk.visible()

    def stamp(self, at: float, form: str = "%m-%d %H:%M:%S") -> str:
        """Wall clock of a simulated time, by default as the engine's log prints it."""
        return datetime.fromtimestamp(self._start + at, UTC).strftime(form)

    def wall(self) -> float:
        """Simulated wall clock, seconds since 1970: for readers that are to live in the node's time."""
        return self._start + self.now

    @property
    def fault_at(self) -> float | None:
        """Simulated time at which the first fault begins; None without one."""
        return self.faults[0].at if self.faults else None

    @property
    def fault_end(self) -> float | None:
        """Simulated time at which the first fault ended; None while it has not."""
        return self.faults[0].ended if self.faults else None

    def inject(self, name: str, gpu: int | None = None, delay: float = 0.0) -> Fault:
        """Put a fault in, ``delay`` seconds from now.

        Raises:
            InputError: unknown scenario, one that this shape cannot show, or no such GPU.
        """
        scenario = scenario_for(name, self.shape)
        number = self._check(gpu)
        count = len(self.shape.buses)
        members = tuple((number + i) % count for i in range(count))
        fault = Fault(
            number=len(self.faults), scenario=scenario, gpu=number, peer=(number + 1) % count if count else 0, members=members,
            at=self.now + _delay(delay),
        )  # fmt: skip
        self.faults.append(fault)
        return fault

    def clear(self, name: str | None = None) -> int:
        """End the faults of a name, or all: what they hold is let go; what was counted stays. Gives their number."""
        ended = 0
        for fault in self.faults:
            if fault.ended is None and name in (None, fault.scenario.name):
                self._end(fault, self.now)
                ended += 1
        return ended

    def advance(self, seconds: float) -> None:
        """Let simulated time pass, then write what changed."""
        end = self.now + seconds
        while self.now < end:
            until = min([end, self.now + LONGEST, *(f.next_due() for f in self.faults if f.next_due() > self.now)])
            self._pass(until - self.now)
            self.now = until
            self._happen()
        self._write(seconds)

    def open(self, path: str) -> int:
        """Opener for HostFS and Exporter: as ``open_regular``, but reads of a GPU whose driver hangs do not return."""
        self.reads.wait(path)
        return open_regular(path)

    def close(self) -> None:
        """Let go of readers that hang. The tree stays."""
        self.reads.release()

    def _check(self, gpu: int | None) -> int:
        count = len(self.shape.buses)
        if gpu is not None and not 0 <= gpu < count:
            raise InputError(f"GPU {gpu}: {self.shape.name} has {count}, counted from 0")
        return gpu if gpu is not None else min(2, count - 1) if count else 0

    def _pass(self, seconds: float) -> None:
        load = self._load.at(self.now)
        tokens = 1.0
        for gpu, body in enumerate(self.bodies):
            inputs = self._inputs_of(gpu)
            self._inputs[gpu] = inputs
            body.step(inputs, seconds)
        for fault in self.faults:
            held = fault.holds(fault.gpu, self.now)
            tokens = min(tokens, held["tokens"][0]) if "tokens" in held else tokens
        if self.engine is not None:
            self.engine.step(self.now + seconds, load, tokens, seconds)
        self._around.step(load, seconds)

    def _inputs_of(self, gpu: int) -> Inputs:
        serving = self.engine is not None and self.engine.alive
        inputs = Inputs(load=self._load.of_gpu(gpu, self.now) if serving else 0.0)
        inputs.asleep = self.bodies[gpu].state.recovering
        for fault in self.faults:
            for name, (value, stack) in fault.holds(gpu, self.now).items():
                match name:
                    case "stack_heat":
                        inputs.heat = inputs.heat | {stack: value}
                    case "spin":
                        inputs.spin = value > 0
                    case "pcie_width" | "links_down":
                        setattr(inputs, name, int(value))
                    case "tokens" | "frozen" | "hang" | "torn" | "table_version":
                        pass
                    case _:
                        setattr(inputs, name, value)
        return inputs

    def _happen(self) -> None:
        every: list[tuple[float, int, Due, Fault]] = []
        for order, fault in enumerate(self.faults):
            if fault.ended is None:
                every += [(due.at, order, due, fault) for due in fault.due(min(self.now, fault.until))]
        for _, _, due, fault in sorted(every, key=lambda entry: entry[:2]):
            self._actions.happen(due, fault)
        for fault in self.faults:
            if fault.ended is None and self.now >= fault.until:
                self._end(fault, fault.until)

    def _end(self, fault: Fault, at: float) -> None:
        fault.ended = at
        self._actions.undo(fault)

    def _write(self, seconds: float) -> None:
        self.kernel.flush()
        frozen: set[int] = set()
        hanging: set[str] = set()
        for gpu, slot in enumerate(self._node.slots):
            for fault in self.faults:
                held = fault.holds(gpu, self.now)
                if "frozen" in held or "hang" in held:
                    frozen.add(gpu)
                if "hang" in held:
                    hanging.add(f"sys/devices/{slot.place}")
        self.reads.hang(hanging)
        for gpu in range(len(self.bodies)):
            if gpu not in frozen:
                self._write_gpu(gpu)
        load = self._load.at(self.now)
        if self.engine is not None:
            self.engine.write(self.bodies, seconds)
        self._around.write(self.now, load)
        for fault in self.faults:
            if fault.began is None and fault.at <= self.now:
                fault.began = self._clock()

    def _write_gpu(self, gpu: int) -> None:
        shape, slot, state = self.shape, self._node.slots[gpu], self._node.states[gpu]
        part, version, disk = shape.part, self._node.metrics or "", self.disk
        assert part is not None
        base = f"sys/devices/{slot.place}"
        for name, text in gpu_texts(shape, slot, state).items():
            disk.text(f"{base}/{name}", text)
        for name, text in hwmon_texts(part, state).items():
            disk.text(f"{base}/hwmon/hwmon{slot.hwmon}/{name}", text)
        disk.data(f"{base}/gpu_metrics", self._spoilt(gpu, gpu_metrics(shape, state, version)))
        if part.instinct_300 and version == "1.9":
            disk.data(f"{base}/xcp/xcp_metrics", partition_metrics(shape, state, 0))
            for number in range(1, shape.partitions):
                platform = f"sys/devices/platform/amdgpu_xcp_{slot.number * 7 + number - 1}"
                disk.data(f"{platform}/xcp/xcp_metrics", partition_metrics(shape, state, number))
        disk.text(f"{base}/current_link_width", str(state.pcie_width))
        disk.text(f"{base}/current_link_speed", f"{state.pcie_speed or part.pcie_speed:.1f} GT/s PCIe")
        disk.text(f"{base}/aer_dev_correctable", aer_correctable(state.aer))
        disk.text(f"{TOPOLOGY}/nodes/{self._banks[gpu]}/mem_banks/0/used_memory", str(state.vram_used))

    def _spoilt(self, gpu: int, table: bytes) -> bytes:
        """The table as a fault makes it."""
        for fault in self.faults:
            held = fault.holds(gpu, self.now)
            if "torn" in held:
                return table[: len(table) // 2]
            if "table_version" in held:
                return table[:3] + bytes([int(held["table_version"][0])]) + table[4:]
        return table

    def uptime(self, at: float) -> float:
        """Seconds since boot at a simulated time."""
        return UPTIME + at


def _delay(seconds: float) -> float:
    if not 0 <= seconds < float("inf"):
        raise InputError(f"delay {seconds}: 0 or more seconds were wanted")
    return seconds
