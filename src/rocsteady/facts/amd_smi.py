"""``amd-smi`` list, static, metric, monitor, firmware, bad-pages, partition, version: text, boxed table, JSON, CSV.

Samples: ``GPU: 0`` / ``    BUS:`` / ``        BDF: 0000:05:00.0``; ``AMDSMI Tool: 25.4.2+abc | ... | ROCm version: 6.4.1``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.documents import Doc, documents
from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.smi_fields import field_rows

GPU = re.compile(r"^\s*GPU: (?P<gpu>\d+)\s*$")
FIELD = re.compile(r"^(?P<indent>\s+)(?P<key>[A-Z][A-Z0-9_ ]*?):\s*(?P<value>.*?)\s*$")
VERSION = re.compile(r"AMD-?SMI (?:Tool: )?(?P<tool>\d[\w.+]*)")
VERSIONS = (
    (re.compile(r"ROCm version: (?P<v>\d[\w.-]*)"), "rocm.version"),
    (re.compile(r"amdgpu version: (?P<v>\d[\w.-]*)"), "rocm.driver"),
    (re.compile(r"AMDSMI Library version: (?P<v>\d[\w.+]*)"), "rocm.components[amdsmi]"),
)
BOX_FIRST = re.compile(r"^\s*\| (?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)\s+(?P<name>\S.*?)\s+\|(?P<rest>.*)$")
BOX_SECOND = re.compile(
    r"^\s*\|\s+(?P<gpu>\d+)\s+(?P<hip>\d+|N/A)\s+(?P<oam>\S+)\s+(?:(?P<compute>[SDTQC]PX)/(?P<memory>NPS\d)|N/A)\s+\|(?P<rest>.*)$"
)
MONITOR = re.compile(r"^\s*GPU\s+(?:XCP\s+)?(?:POWER|GPU_T|MEM_T|GFX_|VRAM_)")
MONITOR_FIELDS = {
    "POWER": "power/socket_power", "MEM_TEMP": "temperature/mem", "MEM_T": "temperature/mem", "GFX_UTIL": "usage/gfx_activity",
    "GFX%": "usage/gfx_activity", "GFX_CLOCK": "clock/gfx_0/clk", "GFX_CLK": "clock/gfx_0/clk", "MEM_CLOCK": "clock/mem_0/clk",
    "VRAM_USED": "mem_usage/used_vram", "VRAM_TOTAL": "mem_usage/total_vram",
}  # fmt: skip


def parse_amd_smi(section: Section) -> Iterator[Row]:
    """Facts of each GPU, named by the tool's index; its BDF joins it to the rest."""
    gpu: str | None = None
    order: list[int] = []
    first = 0
    cut = False
    stack: list[tuple[int, str]] = []
    boxed: str | None = None
    head: list[str] = []
    firmware = ""
    for index, line in enumerate(section.lines):
        if line.strip() in ("...", "…", "[output truncated]"):
            cut = True
        elif match := GPU.match(line):
            gpu, stack = match["gpu"], []
            first = first if order else index
            if not order or int(gpu) != order[-1]:
                order.append(int(gpu))
        elif match := BOX_FIRST.match(line):
            boxed = match["bdf"]
            yield section.fact(f"gpus[{boxed}].bdf", boxed, index)
            yield section.fact(f"gpus[{boxed}].name", match["name"].rstrip(". "), index)
        elif boxed and (match := BOX_SECOND.match(line)):
            yield section.fact(f"gpus[{boxed}].smi_index", int(match["gpu"]), index)
            order.append(int(match["gpu"]))
            if match["compute"]:
                yield section.fact(f"gpus[{boxed}].compute_mode", match["compute"], index)
                yield section.fact(f"gpus[{boxed}].memory_mode", match["memory"], index)
            if used := re.search(r"(\d+)/(\d+) MB", match["rest"]):
                yield section.fact(f"gpus[{boxed}].memory.vram_total", int(used[2]) << 20, index)
                yield section.fact(f"gpus[{boxed}].memory.vram_used", int(used[1]) << 20, index)
        elif MONITOR.match(line):
            head = line.split()
        elif head and re.match(r"^\s*\d+\s", line):
            yield from _monitor(section, head, line, index)
        elif gpu is not None and (match := FIELD.match(line)):
            depth = len(match["indent"])
            while stack and stack[-1][0] >= depth:
                stack.pop()
            stack.append((depth, match["key"].lower()))
            name = "/".join(key for _, key in stack)
            value = match["value"]
            if name.endswith("/fw_id"):
                firmware = value
            elif name.endswith("/fw_version"):
                if firmware and value not in ("N/A", ""):
                    yield section.fact(f"gpus[smi:{gpu}].firmware[{firmware.lower()}]", value, index)
            elif name in ("retired", "pending", "un_res"):
                if "No bad pages" in value:
                    yield section.fact(f"gpus[smi:{gpu}].{_PAGES[name]}", 0, index)
            elif value:
                yield from _shared(section, name, value, index)
                yield from field_rows(section, f"smi:{gpu}", name, value, index, "amd-smi")
        elif (VERSION.search(line) or "amdgpu version:" in line) and not is_log_line(line):
            yield from _versions(section, line, index)
    if order and not cut and order == list(range(len(order))) and len(set(order)) == len(order):
        yield section.fact("gpus_by_tool[amd-smi]", len(order), first)
    yield from _bad_pages(section)
    yield from _structured(section)


_PAGES = {"retired": "retired_pages", "pending": "pending_pages", "un_res": "unreservable_pages"}


def _shared(section: Section, name: str, value: str, index: int) -> Iterator[Row]:
    """What amd-smi repeats for each GPU and is of the node."""
    if name == "driver/version" and re.fullmatch(r"\d+(?:\.\d+){1,3}", value):
        yield section.fact("rocm.driver", value, index)
    elif name == "driver/os_kernel_version" and value[:1].isdigit():
        yield section.fact("kernel.release", value, index)


def _versions(section: Section, line: str, index: int) -> Iterator[Row]:
    for pattern, path in VERSIONS:
        if match := pattern.search(line):
            yield section.fact(path, match["v"], index)


def _monitor(section: Section, head: list[str], line: str, index: int) -> Iterator[Row]:
    cells = re.split(r"\s{2,}", line.strip())
    if len(cells) != len(head) or not cells[0].isdigit():
        return
    for column, cell in zip(head, cells, strict=True):
        field = MONITOR_FIELDS.get(column)
        if field:
            yield from field_rows(section, f"smi:{cells[0]}", field, cell, index, "amd-smi")


def _bad_pages(section: Section) -> Iterator[Row]:
    """Counts the pages listed below RETIRED, PENDING and UN_RES."""
    gpu = kind = None
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for index, line in enumerate(section.lines):
        if match := GPU.match(line):
            gpu, kind = match["gpu"], None
        elif match := re.match(r"^\s+(RETIRED|PENDING|UN_RES):\s*(.*)$", line):
            kind = match[1].lower() if not match[2].strip() else None
        elif gpu and kind and re.match(r"^\s+(?:- )?PAGE_ADDRESS: 0x", line):
            count, first = counts.get((gpu, kind), (0, index))
            counts[gpu, kind] = count + 1, first
    for (number, name), (count, first) in counts.items():
        yield section.fact(f"gpus[smi:{number}].{_PAGES[name]}", count, first)


def _structured(section: Section) -> Iterator[Row]:
    """JSON (a list of objects with ``gpu``) and CSV (a head that starts with ``gpu,``)."""
    if re.search(r"\"gpu\"\s*:\s*\d", section.text):
        for doc in documents(section):
            entries = doc.get("gpu_data") or doc
            numbers = []
            for entry in entries.items:
                gpu = entry.get("gpu")
                if gpu is None or not (gpu.text or "").isdigit():
                    continue
                numbers.append(int(gpu.text or ""))
                for name, value, line in _flat(entry, ""):
                    yield from _shared(section, name, value, line)
                    yield from field_rows(section, f"smi:{gpu.text}", name, value, line, "amd-smi")
                yield from _json_firmware(section, gpu.text or "", entry)
            if numbers and numbers == list(range(len(numbers))):
                yield section.fact("gpus_by_tool[amd-smi]", len(numbers), entries.line)
    start = next((i for i, line in enumerate(section.lines) if re.match(r"^\s*gpu,\w", line)), None)
    if start is not None:
        names = section.lines[start].strip().split(",")
        for index in range(start + 1, len(section.lines)):
            cells = section.lines[index].strip().split(",")
            if len(cells) != len(names) or not cells[0].isdigit():
                break
            for name, cell in zip(names, cells, strict=True):
                yield from field_rows(section, f"smi:{cells[0]}", name, cell.strip('"'), index, "amd-smi")


def _flat(doc: Doc, prefix: str) -> Iterator[tuple[str, str, int]]:
    """Nested fields as path, text and line; ``{"value": 3, "unit": "MB"}`` is one value."""
    for key, child in doc.fields.items():
        name = prefix + key.lower()
        value, unit = child.get("value"), child.get("unit")
        if child.text is not None:
            yield name, child.text, child.line
        elif value is not None and value.text is not None:
            yield name, f"{value.text} {unit.text if unit is not None and unit.text else ''}".strip(), child.line
        elif child.fields:
            yield from _flat(child, name + "/")


def _json_firmware(section: Section, gpu: str, entry: Doc) -> Iterator[Row]:
    listed = entry.get("fw_list")
    for item in listed.items if listed else []:
        name, version = item.get("fw_id") or item.get("fw_name"), item.get("fw_version")
        if name and version and name.text and version.text not in (None, "N/A"):
            yield section.fact(f"gpus[smi:{gpu}].firmware[{name.text.lower()}]", version.text, item.line)


READER = TextReader(
    name="amd-smi",
    marks=("GPU:", "SMI", '"gpu"', "gpu,", "GPU ", "amdgpu version"),
    commands=re.compile(r"amd-smi\b"),
    sniff=re.compile(
        r"^\s*GPU: \d+\s*$|AMD-?SMI (?:Tool: )?\d|\"gpu\"\s*:\s*\d|^\s*gpu,\w|^\s*GPU\s+(?:XCP\s+)?(?:POWER|GPU_T|MEM_T|GFX_|VRAM_)|amdgpu version:",
        re.MULTILINE,
    ),
    parse=parse_amd_smi,
)
