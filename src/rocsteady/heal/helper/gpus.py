"""Finds a GPU's files, its hive, and who holds it.

Sources: /sys/bus/pci/devices/BDF, .../hwmon/hwmon*/, .../xgmi_hive_info/xgmi_hive_id, /sys/class/kfd/kfd/{topology,proc},
/proc/PID/fd.
"""

from __future__ import annotations

import re

from rocsteady.heal.helper.host import Host

PCI = "/sys/bus/pci/devices"
KFD = "/sys/class/kfd/kfd"
BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
DRIVER = "amdgpu"


class NotDone(Exception):
    """The verb was not carried out, and nothing of it happened; the text says why."""


def device(host: Host, bdf: str) -> str:
    """The folder of a GPU that amdgpu drives.

    Raises:
        NotDone: it is no PCI address, or no GPU of amdgpu.
    """
    if not BDF.fullmatch(bdf):
        raise NotDone("no PCI address")
    folder = f"{PCI}/{bdf}"
    try:
        driver = host.link(f"{folder}/driver").rsplit("/", 1)[-1]
    except OSError as error:
        raise NotDone(f"{bdf}: no such device, or no driver") from error
    if driver != DRIVER:
        raise NotDone(f"{bdf}: driven by {driver}, not by {DRIVER}")
    return folder


def hwmon(host: Host, bdf: str) -> str:
    """Its hwmon folder."""
    folder = f"{device(host, bdf)}/hwmon"
    for name in host.names(folder):
        if re.fullmatch(r"hwmon\d+", name):
            return f"{folder}/{name}"
    raise NotDone(f"{bdf}: no hwmon")


def hive(host: Host, bdf: str) -> tuple[str, ...]:
    """All GPUs that a reset of this one resets."""
    mine = _hive_id(host, bdf)
    if not mine:
        return (bdf,)
    return tuple(b for b in host.names(PCI) if BDF.fullmatch(b) and _hive_id(host, b) == mine)


def _hive_id(host: Host, bdf: str) -> str:
    try:
        text = host.read(f"{PCI}/{bdf}/xgmi_hive_info/xgmi_hive_id")
    except OSError:
        return ""
    return "" if text == "0" else text


def holders(host: Host, bdfs: tuple[str, ...]) -> tuple[int, ...]:
    """Processes that would be hurt: KFD processes with memory on one of the GPUs, others with an open file of it.

    Every HIP process opens the files of all GPUs, so for those of the KFD the memory decides.
    """
    nodes = {name for bdf in bdfs for name in host.names(f"{PCI}/{bdf}/drm")}
    ids = _kfd_ids(host, bdfs)
    kfd = {int(name) for name in host.names(f"{KFD}/proc") if name.isdecimal()}
    found = {pid for pid in kfd if any(_vram(host, pid, gpu) != 0 for gpu in ids)}
    for name in host.names("/proc"):
        if not name.isdecimal() or int(name) in kfd:
            continue
        for handle in host.names(f"/proc/{name}/fd"):
            try:
                there = host.link(f"/proc/{name}/fd/{handle}")
            except OSError:
                continue
            if there.startswith("/dev/dri/") and there.rsplit("/", 1)[-1] in nodes:
                found.add(int(name))
    return tuple(sorted(found))


def _vram(host: Host, pid: int, gpu: str) -> int:
    """Bytes; 0 where the process has nothing on the GPU, -1 where that cannot be read."""
    try:
        return int(host.read(f"{KFD}/proc/{pid}/vram_{gpu}"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return -1


def _kfd_ids(host: Host, bdfs: tuple[str, ...]) -> tuple[str, ...]:
    """``gpu_id`` of the KFD nodes of these GPUs (several where it is partitioned)."""
    wanted = {_location(bdf) for bdf in bdfs}
    found = []
    for name in host.names(f"{KFD}/topology/nodes"):
        folder = f"{KFD}/topology/nodes/{name}"
        try:
            gpu = host.read(f"{folder}/gpu_id")
            rows = dict(line.split(" ", 1) for line in host.read(f"{folder}/properties").splitlines() if " " in line)
            where = (int(rows.get("domain", "0")), int(rows["location_id"]))
        except (OSError, ValueError, KeyError):
            continue
        if gpu != "0" and (where[0], where[1] & ~7) in {(d, loc & ~7) for d, loc in wanted}:
            found.append(gpu)
    return tuple(found)


def _location(bdf: str) -> tuple[int, int]:
    domain, bus, rest = bdf.split(":")
    slot, function = rest.split(".")
    return int(domain, 16), int(bus, 16) << 8 | int(slot, 16) << 3 | int(function)
