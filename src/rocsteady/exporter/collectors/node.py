"""The host."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.cards import Cards
from rocsteady.exporter.collectors.errors import text
from rocsteady.facts.iommu import read_iommu
from rocsteady.facts.kernel import read_boot_id, read_tainted, read_version
from rocsteady.facts.limits import read_limits
from rocsteady.facts.meminfo import read_hugepage_pools, read_meminfo, read_transparent_hugepages
from rocsteady.facts.modules import read_module
from rocsteady.facts.numa import read_numa
from rocsteady.facts.os_release import read_os_release
from rocsteady.facts.parse_file import Folder, parse_float
from rocsteady.facts.pressure import read_pressure
from rocsteady.hostfs import HostFS
from rocsteady.metrics import node as m
from rocsteady.model import Gap

EVERY = 60.0
"""Seconds between two readings of what an administrator changes by hand."""
MICRO = 1e-6
POOLS = (("nr_hugepages", "total"), ("free_hugepages", "free"), ("resv_hugepages", "reserved"),
         ("surplus_hugepages", "surplus"))  # fmt: skip
NUMA = (("numa_hit", "hit"), ("numa_miss", "miss"), ("numa_foreign", "foreign"), ("interleave_hit", "interleave"),
        ("local_node", "local"), ("other_node", "other"))  # fmt: skip
MODULES = (
    "amdgpu",
    "amdttm",
    "amdkcl",
    "amd_sched",
    "ttm",
    "gpu_sched",
    "mlx5_core",
    "bnxt_re",
    "ionic_rdma",
    "ib_core",
)
MODULES_WITH_PARAMETERS = ("amdgpu", "amdttm", "ttm", "amd_sched", "gpu_sched")
SYSCTLS = (
    "kernel/pid_max", "kernel/threads-max", "kernel/panic", "kernel/panic_on_oops", "kernel/hung_task_timeout_secs",
    "vm/max_map_count", "vm/overcommit_memory", "vm/overcommit_ratio", "vm/swappiness", "vm/zone_reclaim_mode",
    "vm/min_free_kbytes", "vm/nr_hugepages", "vm/dirty_ratio", "fs/file-max", "fs/nr_open", "fs/aio-max-nr",
    "fs/inotify/max_user_instances", "fs/inotify/max_user_watches", "net/core/somaxconn", "net/core/rmem_max",
    "net/core/wmem_max",
)  # fmt: skip
DMI = "sys/class/dmi/id"


class NodeCollector:
    """Samples of the host."""

    name = "node"

    def __init__(
        self, fs: HostFS, model_dirs: tuple[Path, ...] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fs = fs
        self._clock = clock
        self._read_at: float | None = None
        self._last = Batch()
        self._cards = Cards()
        self._model_dirs = model_dirs

    def collect(self, batch: Batch) -> None:
        """Everything."""
        fs = self._fs
        now = self._clock()
        if self._read_at is None or now - self._read_at >= EVERY:
            self._last, self._read_at = Batch(), now
            self._slow(self._last)
        batch.samples.update(self._last.samples)
        batch.gaps(self._last.notes)
        batch.add(m.GPUS, len(self._cards.places(fs, batch)))
        memory = read_meminfo(fs)
        if isinstance(memory, Gap):
            batch.gap(memory)
        else:
            for kind, size in memory.items():
                if not kind.startswith("HugePages_"):
                    batch.add(m.MEMORY, size, kind)
        for kind, stalls in read_pressure(fs).items():
            for name, stall in stalls.items():
                batch.add(m.PRESSURE, stall.total * MICRO, kind, name)
        proc = Folder(fs, "proc")
        batch.add(m.UPTIME, proc.parsed("uptime", lambda t: parse_float(t.split()[0])))
        batch.add(m.LOAD, proc.parsed("loadavg", lambda t: parse_float(t.split()[0])))
        batch.add(m.NUMA_BALANCING, proc.integer("sys/kernel/numa_balancing"))
        batch.gaps(proc.gaps)
        self._numa(batch)
        for folder in self._model_dirs:
            _disk(batch, folder)

    def close(self) -> None:
        """Nothing is held."""

    def _numa(self, batch: Batch) -> None:
        nodes = read_numa(self._fs)
        if isinstance(nodes, Gap):
            return
        for node in nodes:
            for name, kind in (("MemTotal", "total"), ("MemFree", "free")):
                batch.add(m.NUMA_MEMORY, node.memory.get(name), str(node.id), kind)
            for name, kind in NUMA:
                batch.add(m.NUMA_PAGES, node.statistics.get(name), str(node.id), kind)

    def _slow(self, batch: Batch) -> None:
        fs = self._fs
        version, boot, tainted = read_version(fs), read_boot_id(fs), read_tainted(fs)
        release, dmi = read_os_release(fs), Folder(fs, DMI)
        batch.add(
            m.INFO, 1, "" if isinstance(version, Gap) else text(version.release),
            "" if isinstance(release, Gap) else text(getattr(release, "name", None)),
            text(dmi.word("sys_vendor")), text(dmi.word("product_name")),
            "" if isinstance(boot, Gap) else text(boot),
        )  # fmt: skip
        batch.add(m.TAINT, None if isinstance(tainted, Gap) else tainted)
        for size, pool in read_hugepage_pools(fs).items():
            for file, name in POOLS:
                batch.add(m.HUGEPAGES, pool.get(file), f"{size}KiB", name)
        thp = read_transparent_hugepages(fs)
        if isinstance(thp, str):
            batch.add(m.THP, 1, text(thp))
        iommu = read_iommu(fs)
        if iommu.active is not None:
            batch.add(m.IOMMU_ACTIVE, int(iommu.active))
        for kind, number in Counter(group.type for group in iommu.groups if group.type is not None).items():
            batch.add(m.IOMMU, number, text(kind))
        batch.gaps(iommu.gaps)
        limits = read_limits(fs)
        if not isinstance(limits, Gap):
            for kind, limit in limits.items():
                batch.add(m.LIMIT, limit.soft, kind)
        sysctls = Folder(fs, "proc/sys")
        for name in SYSCTLS:
            batch.add(m.SYSCTL, sysctls.integer(name), name.replace("/", "."))
        batch.gaps(sysctls.gaps)
        for name in MODULES:
            module = read_module(fs, name)
            if module is None:
                continue
            batch.add(m.MODULE, 1, name, text(module.version), text(module.srcversion))
            if name in MODULES_WITH_PARAMETERS:
                for parameter, value in module.parameters.items():
                    batch.add(m.PARAMETER, 1, name, parameter, text(value))


def _disk(batch: Batch, folder: Path) -> None:
    try:
        found = os.statvfs(folder)
    except OSError as error:
        batch.gap(Gap(str(folder), f"failed: {error.strerror}"))
        return
    batch.add(m.DISK, found.f_blocks * found.f_frsize, str(folder), "size")
    batch.add(m.DISK, found.f_bavail * found.f_frsize, str(folder), "available")
