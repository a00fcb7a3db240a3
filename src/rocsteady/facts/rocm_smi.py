"""``rocm-smi`` of all versions: the concise table, the lists of ``--show...``, ``--json``, RAS tables.

Samples: ``0    43.0c  36.0W   800Mhz  1600Mhz  0.0%  auto  300.0W    0%   0%`` (4 to 5),
``0       2     0x74a1,   28851  37.0°C  132.0W  NPS1, SPX, 0  132Mhz  900Mhz  0%  auto  750.0W  0%  0%`` (6),
``GPU[0]\\t\\t: Temperature (Sensor edge) (C): 35.0``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.documents import documents
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.smi_fields import field_rows

HEAD = re.compile(r"^\s*(?:GPU|Device)\b.*\bSCLK\b.*\bMCLK\b")
ROW = re.compile(r"^\s*(?P<gpu>\d{1,3})\s+(?P<rest>\S.*)$")
LIST = re.compile(r"^\s*GPU\[(?P<gpu>\d+)\]\s*:\s*(?P<name>[^:\n]+?)\s*:\s*(?P<value>.*?)\s*$")
LEVEL = re.compile(r"^\s*GPU\[(?P<gpu>\d+)\]\s*:\s*(?P<clock>sclk|mclk) clock level: \d+: \((?P<mhz>\d+)Mhz\)")
RAS_HEAD = re.compile(r"^\s*(?:GPU\[(?P<gpu>\d+)\]\s*:?\s*)?RAS INFO", re.IGNORECASE)
RAS_ROW = re.compile(
    r"^\s*(?P<block>[A-Z][A-Z0-9_]+)\s+(?P<status>ENABLED|DISABLED)\s+(?:correctable=)?(?P<ce>\d+)\s+(?:uncorrectable=)?(?P<ue>\d+)"
)
DRIVER = re.compile(r"^\s*(?:GPU\[\d+\]\s*:\s*)?[Dd]river version\s*:\s*(?P<version>\d\S*)")
NO_DRIVER = re.compile(r"Driver not initialized|amdgpu not found in modules|/sys/module/amdgpu/initstate: No such file")
NO_DEVICE = re.compile(
    r"No (?:supported|AMD) (?:devices|GPUs?) (?:available|specified|found)|No devices? (?:found|available) to display",
    re.IGNORECASE,
)
LOW_POWER = re.compile(r"AMD GPU device\(s\) is/are in a low-power state", re.IGNORECASE)


def parse_rocm_smi(section: Section) -> Iterator[Row]:
    """Facts of each GPU, named by the tool's index."""
    seen: set[str] = set()
    head = first = None
    ras = "0"
    cut = any(line.strip() in ("...", "…") for line in section.lines)
    for index, line in enumerate(section.lines):
        if HEAD.match(line):
            head = line
        elif head is not None and (match := ROW.match(line)):
            rows = list(_concise(section, head, match, index))
            if rows:
                seen.add(match["gpu"])
                first = index if first is None else first
            yield from rows
        elif match := LEVEL.match(line):
            yield section.fact(f"gpus[smi:{match['gpu']}].sensors.{match['clock']}", float(match["mhz"]), index)
        elif match := DRIVER.match(line):
            yield from driver_rows(section, match["version"], index)
        elif match := RAS_HEAD.match(line):
            ras = match["gpu"] or ras
        elif match := LIST.match(line):
            yield from field_rows(section, f"smi:{match['gpu']}", match["name"], match["value"], index, "rocm-smi")
        elif match := RAS_ROW.match(line):
            yield section.fact(f"gpus[smi:{ras}].ras[{match['block'].lower()}].ce", int(match["ce"]), index)
            yield section.fact(f"gpus[smi:{ras}].ras[{match['block'].lower()}].ue", int(match["ue"]), index)
        elif NO_DRIVER.search(line):
            yield section.fact("modules[amdgpu].loaded", False, index)
        elif NO_DEVICE.search(line):
            yield section.fact("gpus_by_tool[rocm-smi]", 0, index)
        elif LOW_POWER.search(line):
            yield section.fact("rocm.low_power_warning", True, index)
    if seen and not cut and seen == {str(n) for n in range(len(seen))}:
        yield section.fact("gpus_by_tool[rocm-smi]", len(seen), first)
    yield from _json(section)


def driver_rows(section: Section, version: str, index: int) -> Iterator[Row]:
    """The driver's own version, or with the driver of the kernel the kernel's release."""
    if re.search(r"-.*[a-z]|\.el\d|\.fc\d", version):
        yield section.fact("kernel.release", version, index)
    else:
        yield section.fact("modules[amdgpu].version", version, index)
        yield section.fact("rocm.driver", version, index)


def _concise(section: Section, head: str, match: re.Match[str], index: int) -> Iterator[Row]:
    """One row of the table. Columns moved over the years, so values are told by their units."""
    rest = match["rest"]
    key = f"gpus[smi:{match['gpu']}]"
    temperature = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)\s?°?[cC]\b", rest)
    watts = re.findall(r"(?<![\d.])(\d+(?:\.\d+)?)\s?W\b", rest)
    clocks = re.findall(r"(?<![\d.])(\d+)\s?M[hH]z\b", rest)
    shares = re.findall(r"(?<![\d.])(\d+(?:\.\d+)?)%", rest)
    level = re.search(r"\s(auto|low|high|manual|perf_determinism|stable_\w+|profile_\w+|unknown)\s", rest)
    if (temperature is None) + (not watts) + (not clocks) + (not shares) + (level is None) > 2:
        return
    if temperature:
        sensor = "edge" if re.search(r"[Ee]dge", head) or "AvgPwr" in head else "junction"
        yield section.fact(f"{key}.sensors.{sensor}", float(temperature[1]), index)
    columns = rest.split()
    if len(watts) == 2:
        yield section.fact(f"{key}.sensors.power", float(watts[0]), index)
        yield section.fact(f"{key}.sensors.power_cap", float(watts[1]), index)
    elif len(watts) == 1 and level:
        path = "power" if rest.index("W", rest.index(watts[0])) < level.start() else "power_cap"
        yield section.fact(f"{key}.sensors.{path}", float(watts[0]), index)
    if len(clocks) == 2:
        yield section.fact(f"{key}.sensors.sclk", float(clocks[0]), index)
        yield section.fact(f"{key}.sensors.mclk", float(clocks[1]), index)
    if shares and columns[-1] == f"{shares[-1]}%":
        yield section.fact(f"{key}.sensors.busy_percent", float(shares[-1]), index)
    if len(shares) == 3:
        yield section.fact(f"{key}.sensors.fan_percent", float(shares[0]), index)
    if level and level[1] != "unknown":
        yield section.fact(f"{key}.performance_level", level[1], index)
    if re.search(r"\bNode\b", head) and columns[0].isdigit():
        yield section.fact(f"{key}.kfd_node_id", int(columns[0]), index)
    if ids := re.search(r"(?:\[)?0x([0-9a-f]{4})(?:,\s+(\d+)|\s*:\s*0x)", rest):
        yield from field_rows(section, f"smi:{match['gpu']}", "device id" if ids[2] else "", ids[1], index, "rocm-smi")
        if ids[2]:
            yield section.fact(f"{key}.gpu_id", int(ids[2]), index)
    if modes := re.search(r"\b(NPS\d),\s*([SDTQC]PX)\b", rest):
        yield section.fact(f"{key}.memory_mode", modes[1], index)
        yield section.fact(f"{key}.compute_mode", modes[2], index)


def _json(section: Section) -> Iterator[Row]:
    if re.search(r"\"card\d+\"\s*:", section.text) is None:
        return
    for doc in documents(section):
        cards = {name: card for name, card in doc.fields.items() if re.fullmatch(r"card\d+", name)}
        for name, card in cards.items():
            for field, value in card.fields.items():
                if value.text is not None:
                    yield from field_rows(section, f"smi:{name[4:]}", field, value.text, value.line, "rocm-smi")
        driver = doc.get("system", "Driver version")
        if driver is not None and driver.text:
            yield from driver_rows(section, driver.text, driver.line)
        if cards:
            yield section.fact("gpus_by_tool[rocm-smi]", len(cards), doc.line)


READER = TextReader(
    name="rocm-smi",
    marks=("ROCm", "GPU[", "SCLK", '"card', "low-power", "ENABLED", "amdgpu", "river"),
    commands=re.compile(r"rocm-smi\b"),
    sniff=re.compile(
        r"ROCm System Management Interface|^\s*GPU\[\d+\]\s*:|^\s*(?:GPU|Device)\b.*\bSCLK\b|\"card\d+\"\s*:|low-power state|"
        r"^\s*[A-Z]\w+\s+ENABLED\s+(?:correctable=)?\d+\s|Driver not initialized|amdgpu not found in modules|Driver version:",
        re.MULTILINE,
    ),
    parse=parse_rocm_smi,
)
