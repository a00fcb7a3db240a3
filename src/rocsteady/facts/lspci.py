"""``lspci`` in all verbosities: GPUs, the bridges above them and NICs, with link, BARs, ACS, atomics, AER, driver.

Samples: ``c1:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran [1002:740f] (rev 02)``;
``LnkSta:	Speed 8GT/s (downgraded), Width x8 (downgraded)``; ``Region 0: Memory at <unassigned> (64-bit, prefetchable)``;
``ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+``. Capabilities need root: ``<access denied>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocsteady.facts.lspci_tree import tree_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes
from rocsteady.model import Gap
from rocsteady.model.facts import Bar

HEAD = re.compile(
    r"^\s{0,4}(?P<bdf>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?:\"?(?P<class>(?:[A-Z]|3D)[\w ./-]+?)\"?(?: \[(?P<code>[0-9a-f]{4})\])?|(?P<number>[0-9a-f]{4})): (?P<rest>\S.*)$"
)
IDS = re.compile(r"\[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]|^(?P<bare>[0-9a-f]{4}):(?P<id>[0-9a-f]{4})\b")
REVISION = re.compile(r"\(rev (?P<rev>[0-9a-f]{2})\)")
GPU_CLASS = re.compile(r"VGA compatible|3D controller|Display controller|Processing accelerators")
GPU_CODES = ("0300", "0302", "0380", "1200")
ROOT = re.compile(r"^\s*(?:0000:)?00:00\.0 .*(?:Host bridge|\[?0600\]?:)")
FILTERED = re.compile(r"grep|awk|\s-[ds]\b|head|tail")
WHOLE = 8
"""Own judgement: a listing with the root complex and so many functions is a whole one, not some picked lines."""
BRIDGE = re.compile(r"PCI bridge")
NETWORK = re.compile(r"Ethernet controller|Infiniband controller|Network controller")
AMD = re.compile(r"\[AMD/ATI\]|Advanced Micro Devices|^1002:")
VENDORS = (
    (re.compile(r"\[AMD/ATI\]"), "1002"),
    (re.compile(r"NVIDIA"), "10de"),
    (re.compile(r"\bIntel\b"), "8086"),
    (re.compile(r"Advanced Micro Devices"), "1022"),
)
LINK = re.compile(
    r"^\s*Lnk(?P<kind>Cap|Sta):.*?Speed (?P<speed>[\d.]+)GT/s(?: \([^)]*\))?, Width x(?P<width>\d+)(?: \([^)]*\))?"
)
REGION = re.compile(
    r"^\s*(?:Region (?P<index>\d): )?(?:\[virtual\] )?Memory at (?P<where><?\w+>?) \((?P<bits>32|64)-bit, (?P<non>non-)?prefetchable\)(?P<flags>(?: \[(?!size)\w+\])*)(?: \[size=(?P<size>\d+[KMGT]?)\])?"
)
ACS = re.compile(r"^\s*ACSCtl:.*?ReqRedir(?P<request>[+-]) CmpltRedir(?P<completion>[+-])")
ATOMIC_CAP = re.compile(r"AtomicOpsCap:(?: Routing(?P<routing>[+-]))? 32bit(?P<narrow>[+-]) 64bit(?P<wide>[+-])")
ATOMIC_CTL = re.compile(r"AtomicOpsCtl: ReqEn(?P<on>[+-])")
STATUS = re.compile(r"^\s*(?P<register>[UC]ESta):\s+(?P<bits>.+)$")
SUBSYSTEM = re.compile(r"^\s*Subsystem: .*\[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]")
POWER = re.compile(r"^\s*Status: (?P<state>D[0-3](?:hot|cold)?)\b")
DRIVER = re.compile(r"^\s*Kernel driver in use: (?P<driver>\S+)")
NUMA = re.compile(r"^\s*.*\bNUMA node:? (?P<node>\d+)")
GROUP = re.compile(r"\bIOMMU group:? (?P<group>\d+)")
SECONDARY = re.compile(r"^\s*Bus: primary=[0-9a-f]+, secondary=(?P<bus>[0-9a-f]+)")
DENIED = re.compile(r"Capabilities: <access denied>")
BROKEN = re.compile(r"Unknown header type 7f")
SWITCH_OF_GPU = re.compile(r"(?:Upstream|Downstream) Port of PCI Express Switch")


class _Function(msgspec.Struct):
    """The function whose lines are being read."""

    bdf: str
    gpu: bool
    vendor: str | None
    name: str
    bars: dict[int, tuple[Bar, int]]
    link: dict[str, tuple[float, int, int]]
    bits: dict[str, str]
    secondary: str | None = None


def parse_lspci(section: Section) -> Iterator[Row]:
    """Rows of each function that matters, then what their order says: parents and slots."""
    found: list[_Function] = []
    current: _Function | None = None
    cut = any(line.strip() in ("...", "…") for line in section.lines)
    first: int | None = None
    denied: set[str] = set()
    listed, root = 0, None
    for index, line in enumerate(section.lines):
        match = HEAD.match(line)
        if match:
            listed += 1
            root = index if root is None and ROOT.search(line) else root
            current = _start(match)
            if current is None:
                continue
            found.append(current)
            first = index if first is None and _amd_gpu(current) else first
            yield from _headed(section, current, match, index)
        elif current is not None and line.strip():
            if DENIED.search(line):
                denied.add(current.bdf)
            yield from _detail(section, current, line, index)
    for function in found:
        yield from _collected(section, function)
    yield from _slots(section, found)
    amd = [f for f in found if _amd_gpu(f)]
    if amd and not cut:
        yield section.fact("gpus_by_tool[lspci]", len(amd), first)
    if root is not None and listed >= WHOLE and not cut and not FILTERED.search(section.command or ""):
        yield section.fact("pci_listed", listed, root)
    if denied:
        yield Gap(f"{section.file}: lspci", "denied: capabilities (link, ACS, atomics) are shown to root only")
    yield from tree_rows(section)


def _amd_gpu(function: _Function) -> bool:
    return function.gpu and function.vendor == "1002"


def _start(match: re.Match[str]) -> _Function | None:
    rest, kind, code = match["rest"], match["class"] or "", match["code"] or match["number"] or ""
    gpu = GPU_CLASS.search(kind) is not None or code in GPU_CODES
    if not (gpu or BRIDGE.search(kind) or NETWORK.search(kind) or code in ("0604", "0200", "0207")):
        return None
    ids = IDS.search(rest)
    vendor = (
        (ids["vendor"] or ids["bare"]) if ids else next((v for pattern, v in VENDORS if pattern.search(rest)), None)
    )
    bdf = match["bdf"] if match["bdf"].count(":") == 2 else "0000:" + match["bdf"]
    return _Function(bdf, gpu, vendor, rest, {}, {}, {})


def _headed(section: Section, function: _Function, match: re.Match[str], index: int) -> Iterator[Row]:
    rest = match["rest"]
    base = f"pci[{function.bdf}]"
    ids, revision = IDS.search(rest), REVISION.search(rest)
    name = re.sub(r"\s*(?:\[[0-9a-f]{4}:[0-9a-f]{4}\]|\(rev .*|\(prog-if .*)", "", rest).strip()
    name = re.sub(r"^Advanced Micro Devices, Inc\. (?:\[AMD/ATI\]|\[AMD\]) ", "", name)
    if match["class"]:
        yield section.fact(f"{base}.name", name, index)
    if function.vendor:
        yield section.fact(f"{base}.vendor", function.vendor, index)
    if match["code"] or match["number"]:
        yield section.fact(f"{base}.class_code", match["code"] or match["number"], index)
    yield section.fact(f"{base}.is_bridge", not function.gpu and bool(BRIDGE.search(match["class"] or "")), index)
    device = (ids["device"] or ids["id"]) if ids else None
    if device:
        yield section.fact(f"{base}.device", device, index)
    if revision and revision["rev"] == "ff":
        yield section.fact(f"{base}.unreachable", True, index)
    if _amd_gpu(function):
        key = f"gpus[{function.bdf}]"
        yield section.fact(f"{key}.bdf", function.bdf, index)
        yield section.fact(f"{key}.vendor", "1002", index)
        if device:
            yield section.fact(f"{key}.device", device, index)
        if match["class"] and not name.startswith("Device"):
            yield section.fact(f"{key}.name", name, index)


def _detail(section: Section, function: _Function, line: str, index: int) -> Iterator[Row]:
    base = f"pci[{function.bdf}]"
    bases = [base, f"gpus[{function.bdf}]"] if _amd_gpu(function) else [base]
    if match := LINK.match(line):
        function.link[match["kind"]] = (float(match["speed"]), int(match["width"]), index)
        fields = ("max_speed", "max_width") if match["kind"] == "Cap" else ("speed", "width")
        for place in bases:
            yield section.fact(f"{place}.link.{fields[0]}", float(match["speed"]), index)
            yield section.fact(f"{place}.link.{fields[1]}", int(match["width"]), index)
    elif match := REGION.match(line):
        number = int(match["index"]) if match["index"] else 2 * len(function.bars)
        assigned = match["where"] not in ("<unassigned>", "<ignored>")
        size = size_in_bytes(match["size"]) if match["size"] else None
        bar = Bar(index=number, size=size, prefetchable=not match["non"], wide=match["bits"] == "64", assigned=assigned)
        function.bars[number] = (bar, index)
        if "[disabled]" in match["flags"]:
            yield section.fact(f"{base}.memory_enabled", False, index)
    elif match := ACS.match(line):
        yield section.fact(f"{base}.acs", "+" in (match["request"], match["completion"]), index)
    elif match := STATUS.match(line):
        for bit in re.findall(r"(\w+)\+", match["bits"]):
            if bit not in ("AdvNonFatalErr",):
                yield section.fact(f"{base}.aer_status[{match['register']}.{bit}]", True, index)
    elif match := SUBSYSTEM.match(line):
        yield section.fact(f"{base}.subsystem_vendor", match["vendor"], index)
        for place in bases:
            yield section.fact(f"{place}.subsystem_device", match["device"], index)
    elif match := DRIVER.match(line):
        for place in bases:
            yield section.fact(f"{place}.driver", match["driver"], index)
    elif match := POWER.match(line):
        yield section.fact(f"{base}.power_state", match["state"], index)
    elif match := SECONDARY.match(line):
        function.secondary = match["bus"]
    elif BROKEN.search(line):
        yield section.fact(f"{base}.unreachable", True, index)
    else:
        if match := NUMA.match(line):
            for place in bases:
                yield section.fact(f"{place}.numa_node", int(match["node"]), index)
        if match := GROUP.search(line):
            yield section.fact(f"{base}.iommu_group", match["group"], index)
        if match := ATOMIC_CAP.search(line):
            if match["routing"]:
                yield section.fact(f"{base}.atomics_routing", match["routing"] == "+", index)
            yield section.fact(f"{base}.atomics_completer", match["narrow"] == match["wide"] == "+", index)
        if match := ATOMIC_CTL.search(line):
            yield section.fact(f"{base}.atomics_requester", match["on"] == "+", index)


def _collected(section: Section, function: _Function) -> Iterator[Row]:
    if function.bars:
        bars = tuple(bar for _, (bar, _) in sorted(function.bars.items()))
        lost = next((index for bar, index in function.bars.values() if bar.assigned is False), None)
        first = min(index for _, index in function.bars.values())
        yield section.fact(f"pci[{function.bdf}].bars", bars, first if lost is None else lost)


def _slots(section: Section, found: list[_Function]) -> Iterator[Row]:
    """Parents by bus number; for a GPU behind its board's own switch the link of the slot."""
    bridges = {f"{f.bdf.partition(':')[0]}:{f.secondary}": f for f in found if f.secondary}
    for function in found:
        domain, bus, _ = function.bdf.split(":")
        parent = bridges.get(f"{domain}:{bus}")
        if parent is None:
            continue
        where = section.find(function.name) or 0
        yield section.fact(f"pci[{function.bdf}].parent", parent.bdf, where)
        if not _amd_gpu(function):
            continue
        top, seen = function, {function.bdf}
        while (
            parent is not None
            and parent.bdf not in seen
            and SWITCH_OF_GPU.search(parent.name)
            and parent.vendor == "1002"
        ):
            top = parent
            seen.add(parent.bdf)
            domain, bus, _ = parent.bdf.split(":")
            parent = bridges.get(f"{domain}:{bus}")
        for kind, (speed, width, index) in top.link.items():
            prefix = "max_" if kind == "Cap" else ""
            yield section.fact(f"gpus[{function.bdf}].slot_link.{prefix}speed", speed, index)
            yield section.fact(f"gpus[{function.bdf}].slot_link.{prefix}width", width, index)


READER = TextReader(
    name="lspci",
    commands=re.compile(r"lspci\b"),
    sniff=re.compile(
        r"^\s{0,4}(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:\"?(?:[A-Z]|3D)[\w ./-]+?(?: \[[0-9a-f]{4}\])?|[0-9a-f]{4}): \S|^\s*[-|+ ]*[-+]-?\[[0-9a-f]{4}:[0-9a-f]{2}\]-",
        re.MULTILINE,
    ),
    parse=parse_lspci,
)
