"""Tools that describe the machine: hostnamectl, lsb_release, lscpu, dmidecode, inxi, neofetch, free, df, ulimit, numactl.

Samples: ``Operating System: Ubuntu 22.04.5 LTS``; ``Description:	Rocky Linux release 9.6 (Blue Onyx)``;
``Mem:  503Gi  12Gi ...``; ``max locked memory  (kbytes, -l) 65536``; ``available: 2 nodes (0-1)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.os_names import os_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes

FIELD = re.compile(r"^\s*(?P<key>[A-Z][\w ()-]{1,30}?)\s*:\s*(?P<value>\S.*?)\s*$")
TABLES = re.compile(
    r"^[ \t]*(?:Static hostname|Operating System|Description|Distributor ID|CPU op-mode|Model name|BIOS Information|System Information|"
    r"Base Board Information|Hypervisor vendor|NUMA node\(s\))", re.MULTILINE
)  # fmt: skip
SIMPLE = {
    "Model name": "host.cpu", "Vendor ID": "host.cpu_vendor", "Socket(s)": "host.sockets", "NUMA node(s)": "memory.numa_nodes",
    "Virtualization": "host.virtualization", "Hypervisor vendor": "host.virtualization", "Hardware Vendor": "host.vendor",
    "Hardware Model": "host.product", "Firmware Version": "host.bios_version", "Firmware Date": "host.bios_date",
}  # fmt: skip
DMI = {
    ("System Information", "Manufacturer"): "host.vendor", ("System Information", "Product Name"): "host.product",
    ("Base Board Information", "Product Name"): "host.board", ("BIOS Information", "Version"): "host.bios_version",
    ("BIOS Information", "Release Date"): "host.bios_date",
}  # fmt: skip
FEATURES_OF_CPU = ("AMD-V", "VT-x")
RELEASE = re.compile(
    r"^[ \t]*(?P<name>(?:CentOS|Rocky|Red Hat|AlmaLinux|Oracle|Fedora)[\w ]* release \d[\w.]*(?: \([^)]*\))?)\s*$"
)
FREE = re.compile(r"^\s*Mem\S*:\s+(?P<total>\d[\w.]*)\s+\d")
SWAP = re.compile(r"^\s*Swap:\s+(?P<total>\d[\w.]*)\s+\d[\w.]*\s+(?P<free>\d[\w.]*)")
FREE_HEAD = re.compile(r"^\s+total\s+used\s+free")
DF_HEAD = re.compile(
    r"^\s*(?:Filesystem|Dateisystem|Sys\. de fichiers|S\.ficheros|File ?system)\s+(?P<second>\S+)", re.IGNORECASE
)
DF = re.compile(
    r"^\s*(?P<device>\S+)\s+(?:(?P<kind>[a-z][\w.]*)\s+)?(?P<total>\d[\w.,]*)\s+(?P<used>\d[\w.,]*)\s+(?P<free>-?\d[\w.,]*)\s+(?P<share>\d+)%\s+(?P<mount>/\S*)\s*$"
)
ULIMIT = re.compile(
    r"^\s*(?P<what>[a-z][a-z ]+?)\s+\((?:[\w -]+, )?-(?P<letter>[a-zA-Z])\)\s+(?P<value>\d+|unlimited)\s*$"
)
ULIMITS = {
    "l": ("memlock", 1024),
    "n": ("nofile", 1),
    "u": ("nproc", 1),
    "s": ("stack", 1024),
    "c": ("core", 512),
    "v": ("as", 1024),
}
ONE_LIMIT = re.compile(r"^ulimit -(?:[HS])?(?P<letter>[lnusv])\s*$")
NUMA = re.compile(r"^\s*available: (?P<count>\d+) nodes? \(")
INXI_GPU = re.compile(r"(?P<name>(?:Advanced Micro Devices|AMD)\b.*?)(?: driver: (?P<driver>\S+)| vendor:|$)")
INXI_ID = re.compile(
    r"driver: (?P<driver>\S+) v: (?P<version>\S+).*?bus[- ]ID: (?P<bus>[0-9a-f:]+\.\d).*?chip[- ]ID: (?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})"
)
INXI_BOARD = re.compile(r"Mobo: (?P<maker>\S+(?: \S+)?) model: (?P<model>.+?)(?: v: | serial: | \S+: |$)")
INXI_CPU = re.compile(r"(?:\d+-[Cc]ore|Info:).*? model: (?P<name>.+?)(?: bits: | socket: |$)")
INXI_KERNEL = re.compile(r"\bKernel: (?P<release>\d+\.\d+\S*)")
INXI_OS = re.compile(r"\b(?:Distro|OS): (?P<name>[A-Z][\w .!()/-]+?)(?: (?:x86_64|base:)| {2,}|$)")


def parse_machine(section: Section) -> Iterator[Row]:
    """Facts of each tool."""
    part = ""
    unit = _free_unit(section.command or "")
    inodes = False
    table = TABLES.search(section.text) is not None
    name: tuple[str, int] | None = None
    for index, line in enumerate(section.lines):
        if is_log_line(line):
            continue
        if line.strip() in ("System Information", "Base Board Information", "BIOS Information") or (
            line and not line[0].isspace() and line.startswith("Handle ")
        ):
            part = line.strip()
        elif match := DF_HEAD.match(line):
            inodes = match["second"].lower().startswith("inode")
            unit = _df_unit(line)
        elif match := DF.match(line):
            yield from _disk(section, match, inodes, unit, index)
        elif FREE_HEAD.match(line):
            unit = unit or "K"
        elif match := FREE.match(line):
            yield from _amount(section, "memory.total", match["total"], unit, index)
        elif match := SWAP.match(line):
            yield from _amount(section, "memory.swap_total", match["total"], unit, index)
            yield from _amount(section, "memory.swap_free", match["free"], unit, index)
        elif match := ULIMIT.match(line):
            if match["letter"] in ULIMITS:
                limit, factor = ULIMITS[match["letter"]]
                value = match["value"] if match["value"] == "unlimited" else str(int(match["value"]) * factor)
                yield section.fact(f"limits[{limit}]", value, index)
        elif match := NUMA.match(line):
            yield section.fact("memory.numa_nodes", int(match["count"]), index)
        elif (asked := ONE_LIMIT.match(section.command or "")) and re.fullmatch(r"\d+|unlimited", line.strip()):
            limit, factor = ULIMITS[asked["letter"]]
            value = line.strip() if line.strip() == "unlimited" else str(int(line) * factor)
            yield section.fact(f"limits[{limit}]", value, index)
        elif match := RELEASE.match(line):
            yield from os_rows(section, match["name"], index)
        else:
            if table and (match := FIELD.match(line)):
                yield from _field(section, part, match, index)
            if match := INXI_ID.search(line):
                yield from _inxi_gpu(section, match, name, index)
            elif match := INXI_GPU.search(line):
                name = (
                    re.sub(r"^Advanced Micro Devices,? ?(?:Inc\.? )?(?:\[AMD/ATI\] )?", "", match["name"]).strip(),
                    index,
                )
            yield from _inxi(section, line, index)


def _field(section: Section, part: str, match: re.Match[str], index: int) -> Iterator[Row]:
    key, value = match["key"], match["value"]
    if (part, key) in DMI:
        if value.lower() not in ("to be filled by o.e.m.", "default string", "not specified", "system product name"):
            yield section.fact(DMI[part, key], value, index)
    elif key in ("Operating System", "Description"):
        yield from os_rows(section, value, index)
    elif key == "Kernel" and (release := re.match(r"Linux (\d+\.\d\S*)", value)):
        yield section.fact("kernel.release", release[1], index)
    elif key == "Static hostname":
        yield section.fact("host.name", value, index)
    elif key == "Virtualization" and value in FEATURES_OF_CPU:
        return  # lscpu: what the CPU can do, not what it runs in
    elif key in SIMPLE and value not in ("n/a", "-"):
        yield section.fact(SIMPLE[key], value.lower() if SIMPLE[key] == "host.virtualization" else value, index)


def _free_unit(command: str) -> str:
    match = re.match(r"free\b.* -(?:-)?(?P<unit>[bkmg])", command + " ")
    return "" if match is None else {"b": "B"}.get(match["unit"], match["unit"].upper())


def _df_unit(head: str) -> str:
    """Unit of bare numbers: the head says 1K-blocks, 1M-blocks."""
    match = re.search(r"1([KMG])-?[A-Za-z]", head)
    return match[1] if match else "K" if "1024" in head else ""


def _amount(section: Section, path: str, text: str, unit: str, index: int) -> Iterator[Row]:
    """A size with its own unit, or a bare number in the unit of the table; without any it is unknown."""
    if text.isdigit() and not unit and text != "0":
        return
    size = size_in_bytes(text + unit if text.isdigit() and unit != "B" else text)
    if size is not None:
        yield section.fact(path, size, index)


def _disk(section: Section, match: re.Match[str], inodes: bool, unit: str, index: int) -> Iterator[Row]:
    base = f"disks[{match['mount']}]"
    yield section.fact(f"{base}.mount", match["mount"], index)
    if inodes:
        yield section.fact(f"{base}.inodes_used_percent", float(match["share"]), index)
        return
    yield section.fact(f"{base}.device", match["device"], index)
    yield section.fact(f"{base}.used_percent", float(match["share"]), index)
    if match["kind"]:
        yield section.fact(f"{base}.kind", match["kind"], index)
    for field, group in (("total", "total"), ("used", "used"), ("available", "free")):
        yield from _amount(section, f"{base}.{field}", match[group], unit, index)
    if match["mount"] == "/dev/shm":
        yield from _amount(section, "memory.shm_size", match["total"], unit, index)
        yield from _amount(section, "memory.shm_used", match["used"], unit, index)


def _inxi_gpu(section: Section, match: re.Match[str], name: tuple[str, int] | None, index: int) -> Iterator[Row]:
    if match["vendor"] != "1002":
        return
    bdf = match["bus"] if match["bus"].count(":") == 2 else f"0000:{match['bus']}"
    yield section.fact(f"gpus[{bdf}].device", match["device"], index)
    yield section.fact(f"gpus[{bdf}].driver", match["driver"], index)
    if name:
        yield section.fact(f"gpus[{bdf}].name", name[0], name[1])
    if match["driver"] == "amdgpu" and match["version"] != "kernel":
        yield section.fact("modules[amdgpu].version", match["version"], index)


def _inxi(section: Section, line: str, index: int) -> Iterator[Row]:
    """Lines of inxi, neofetch, fastfetch: keys in the middle of lines."""
    if "Mobo: " in line and (match := INXI_BOARD.search(line)):
        yield section.fact("host.board", match["model"], index)
        yield section.fact("host.vendor", match["maker"], index)
    if " model: " in line and "ore" in line and (match := INXI_CPU.search(line)):
        yield section.fact("host.cpu", match["name"], index)
    if "Kernel: " in line and (match := INXI_KERNEL.search(line)):
        yield section.fact("kernel.release", match["release"], index)
    if ("Distro: " in line or "OS: " in line) and (match := INXI_OS.search(line)):
        yield from os_rows(section, match["name"], index)


READER = TextReader(
    name="machine",
    marks=(
        "Operating System",
        "Static hostname",
        "Description",
        "Distributor ID",
        "CPU op-mode",
        "Model name",
        "BIOS Information",
        "System Information",
        "Base Board",
        "Hypervisor",
        "NUMA node(s)",
        "release",
        "Mem",
        "ilesystem",
        "Dateisystem",
        "fichiers",
        "ficheros",
        "available:",
        "hip-ID",
        "hip ID",
        "Mobo",
        "Distro",
        "OS:",
        "System:",
        "Kernel:",
        "-l)",
        "-n)",
        "-u)",
        "-s)",
        "-v)",
    ),
    commands=re.compile(
        r"(?:hostnamectl|lsb_release|lscpu|dmidecode|inxi|neofetch|fastfetch|free|df|ulimit|numactl|cat /etc/\S*release)\b"
    ),
    sniff=re.compile(
        rf"{TABLES.pattern}|{RELEASE.pattern}|^\s*Mem\S*:\s+\d[\w.]*\s+\d|{DF_HEAD.pattern}|\(?-[lnusv]\)\s+(?:\d+|unlimited)\s*$|^\s*available: \d+ nodes? \(|chip[- ]ID: 1002:|Mobo: |\bDistro: "
        r"|^\s*(?:System:|OS:|Kernel:) .*(?:Kernel: |x86_64)".replace("?P<name>", "?:"),
        re.MULTILINE | re.IGNORECASE,
    ),
    parse=parse_machine,
)
