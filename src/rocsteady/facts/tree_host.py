"""Rows of the machine, its kernel and its memory."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts import kernel
from rocsteady.facts.cgroup import container_of
from rocsteady.facts.device_nodes import read_groups
from rocsteady.facts.dmi import CPUINFO, read_cpu, read_machine
from rocsteady.facts.iommu import GROUPS, read_iommu
from rocsteady.facts.limits import LIMITS, STATUS, read_identity, read_limits
from rocsteady.facts.meminfo import MEMINFO, THP, read_meminfo, read_transparent_hugepages
from rocsteady.facts.mounts import read_mounts
from rocsteady.facts.numa import NODES, read_numa
from rocsteady.facts.os_release import read_os_release
from rocsteady.facts.parse_file import Folder
from rocsteady.facts.pressure import read_pressure
from rocsteady.facts.sysctls import file_of, read_sysctls
from rocsteady.facts.tree_rows import Row, from_file, known, worth_listing
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap, ReadError

MEMORY = (
    ("MemTotal", "total"), ("MemAvailable", "available"), ("SwapTotal", "swap_total"), ("SwapFree", "swap_free"),
    ("HugePages_Total", "hugepages_total"), ("HugePages_Free", "hugepages_free"), ("Hugepagesize", "hugepage_bytes"),
    ("CommitLimit", "commit_limit"), ("Unevictable", "unevictable"),
)  # fmt: skip


def host_rows(fs: HostFS) -> Iterator[Row]:
    """Rows of all host interfaces."""
    yield from _system(fs)
    yield from _kernel(fs)
    yield from _machine(fs)
    yield from _memory(fs)
    yield from _settings(fs)
    yield from _iommu(fs)


def quoted(fs: HostFS, path: str, start: str = "") -> Evidence:
    """The line of a text file that starts with ``start``, else its first line."""
    folder, _, name = path.rpartition("/")
    reader = Folder(fs, folder)
    reader.parsed(name, lambda text: text)
    return reader.evidence(name, start or None)


def _system(fs: HostFS) -> Iterator[Row]:
    system = read_os_release(fs)
    if isinstance(system, Gap):
        yield from worth_listing(system)
    else:
        for field, value, key in (
            ("os_id", system.id, "ID"), ("os_version", system.version, "VERSION_ID"),
            ("os_name", system.name, "PRETTY_NAME"),
        ):  # fmt: skip
            line = system.lines.get(key)
            yield from known(f"host.{field}", value, Evidence(system.path, *(line or (None, ""))))
    for path in kernel.HOST_NAMES:
        name = kernel.read_host_name(fs, path)
        if isinstance(name, str):
            yield from known("host.name", name, Evidence(path, 1, name))
            break
    boot = kernel.read_boot_id(fs)
    if isinstance(boot, str):
        yield from known("host.boot_id", boot, Evidence(kernel.BOOT_ID, 1, boot))
    runtime = container_of(fs)
    yield from known("host.container", runtime, Evidence("proc/self/cgroup", None, runtime or ""))


def _kernel(fs: HostFS) -> Iterator[Row]:
    version = kernel.read_version(fs)
    if isinstance(version, Gap):
        yield from worth_listing(version)
    else:
        where = quoted(fs, kernel.VERSION)
        yield from known("kernel.release", version.release, where)
        yield from known("kernel.build", version.build, where)
    parameters = kernel.read_command_line(fs)
    if isinstance(parameters, Gap):
        yield from worth_listing(parameters)
    else:
        where = quoted(fs, kernel.COMMAND_LINE)
        yield from known("kernel.command_line", parameters, where)
        yield from known("kernel.command_line_text", where.text.strip(), where)
    tainted, lockdown = kernel.read_tainted(fs), kernel.read_lockdown(fs)
    if not isinstance(tainted, Gap):
        yield from known("kernel.tainted", tainted, quoted(fs, kernel.TAINTED))
    if not isinstance(lockdown, Gap):
        yield from known("kernel.lockdown", lockdown, quoted(fs, kernel.LOCKDOWN))
    secure = kernel.read_secure_boot(fs)
    if not isinstance(secure, Gap):
        yield from known("kernel.secure_boot", secure, Evidence(kernel.SECURE_BOOT, None, ""))


def _machine(fs: HostFS) -> Iterator[Row]:
    machine = read_machine(fs)
    for field, value, name in (
        ("vendor", machine.vendor, "sys_vendor"), ("product", machine.product, "product_name"),
        ("board", machine.board, "board_name"), ("bios_version", machine.bios_version, "bios_version"),
        ("bios_date", machine.bios_date, "bios_date"), ("virtualization", machine.virtualization, "product_name"),
    ):  # fmt: skip
        yield from from_file(f"host.{field}", machine.folder, name, value)
    yield from machine.folder.gaps
    cpu = read_cpu(fs)
    if isinstance(cpu, Gap):
        yield from worth_listing(cpu)
        return
    yield from known("host.cpu", cpu.name, quoted(fs, CPUINFO, "model name"))
    yield from known("host.cpu_vendor", cpu.vendor, quoted(fs, CPUINFO, "vendor_id"))
    yield from known("host.sockets", cpu.sockets, quoted(fs, CPUINFO, "physical id"))
    if machine.virtualization is None and cpu.name:
        virtual = "vm" if cpu.hypervisor else "none"
        yield from known("host.virtualization", virtual, quoted(fs, CPUINFO, "flags"))


def _memory(fs: HostFS) -> Iterator[Row]:
    memory = read_meminfo(fs)
    if isinstance(memory, Gap):
        yield from worth_listing(memory)
    else:
        for key, field in MEMORY:
            if key in memory:
                yield from known(f"memory.{field}", memory[key], quoted(fs, MEMINFO, f"{key}:"))
    huge = read_transparent_hugepages(fs)
    if isinstance(huge, str):
        yield from known("memory.thp", huge, quoted(fs, THP))
    nodes = read_numa(fs)
    if not isinstance(nodes, Gap) and nodes:
        yield from known("memory.numa_nodes", len(nodes), Evidence(NODES, None, f"{len(nodes)} NUMA nodes"))
    for resource, stalls in read_pressure(fs).items():
        for kind, stall in stalls.items():
            where = quoted(fs, f"proc/pressure/{resource}", kind)
            for span in ("avg10", "avg60", "avg300"):
                yield from known(f"pressure[{resource}.{kind}.{span}]", getattr(stall, span), where)
    mounts = read_mounts(fs)
    if isinstance(mounts, Gap):
        yield from worth_listing(mounts)
        return
    path, table = mounts
    for mount in table:
        if mount.place == "/dev/shm" and mount.size is not None:
            yield from known("memory.shm_size", mount.size, _mount_line(fs, path, mount.line))


def _mount_line(fs: HostFS, path: str, line: int) -> Evidence:
    try:
        text = fs.text(path).splitlines()[line - 1]
    except (ReadError, IndexError):
        text = ""
    return Evidence(path, line, text)


def _settings(fs: HostFS) -> Iterator[Row]:
    values, folder = read_sysctls(fs)
    for name, value in values.items():
        yield from from_file(f"sysctl[{name}]", folder, file_of(name), value)
    limits, identity = read_limits(fs), read_identity(fs)
    if not isinstance(limits, Gap):
        where = Evidence(LIMITS, None, "")
        for name, limit in limits.items():
            yield from known(f"limits[{name}]", "unlimited" if limit.soft is None else str(limit.soft), where)
    if not isinstance(identity, Gap):
        yield from known("user.uid", identity.uid, quoted(fs, STATUS, "Uid:"))
        yield from known("user.gids", identity.gids, quoted(fs, STATUS, "Groups:"))
        groups = read_groups(fs)
        if isinstance(groups, dict):
            names = {number: name for name, number in groups.items()}
            mine = tuple(names.get(number, str(number)) for number in identity.gids)
            yield from known("user.groups", mine, quoted(fs, STATUS, "Groups:"))


def _iommu(fs: HostFS) -> Iterator[Row]:
    state = read_iommu(fs)
    if not state.known:
        return
    where = Evidence(GROUPS, None, f"{len(state.groups)} groups")
    yield from known("iommu.active", state.active, where)
    yield from known("iommu.groups", len(state.groups), where)
    types = sorted({g.type for g in state.groups if g.type})
    first = next((g for g in state.groups if g.type), None)
    if first is not None:
        yield from known("iommu.types", tuple(types), quoted(fs, f"{GROUPS}/{first.number}/type"))
    yield from state.gaps
