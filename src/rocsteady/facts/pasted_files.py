"""Files below /proc, /sys and /etc whose content was pasted: read by the readers of trees, quoted from the paste.

Samples: ``$ cat /proc/cmdline`` and its output; ``/sys/class/drm/card1/device/power/runtime_status=suspended``;
``/sys/module/amdgpu/parameters/noretry:-1`` (grep); a bare os-release, /proc/meminfo, /proc/cmdline, limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocsteady.facts.prompts import bare_command
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.tree import read_tree
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.model import Evidence, Fact, Gap

PLACE = r"/(?:sys|proc|etc)/[\w./:@+,-]+"
NAMED = re.compile(rf"^\s*(?P<path>{PLACE}?)(?:[=:]| : | = |: |\t+)\s*(?P<value>\S.*?)\s*$")
CAT = re.compile(
    r"^(?:cat|more|less|tail(?: -\S+)*|head(?: -\S+)*|tee|bat)\s+(?P<paths>/\S+(?:\s+/\S+)*)\s*(?:2>\S*)?\s*$"
)
PIPED = re.compile(
    r"^(?:cat|head(?: -\S+)*)\s+(?P<path>/proc/(?:cmdline|version|meminfo|cpuinfo|self/limits|\d+/limits)|/etc/os-release)\s*\|"
)
BDF_IN_PATH = re.compile(
    r"^/sys/(?:devices|bus/pci)/\S*?(?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)/(?P<rest>[^:]+)$"
)
FAILED = re.compile(r"^(?:cat|head|grep|zcat|ls): |No such file or directory$|Permission denied$|^(?:\.\.\.|…)$")
COMMAND_LINE = re.compile(r"^\s*(?:BOOT_IMAGE=\S+ |root=\S+ |initrd=\S+ ).*(?:\bro\b|\brw\b|root=|quiet|iommu)")
BARE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^(?:PRETTY_NAME|NAME|VERSION_ID|ID|ID_LIKE|VERSION)=\"?\w", re.MULTILINE), "etc/os-release"),
    (re.compile(r"^(?:MemTotal|MemAvailable|HugePages_Total|SwapTotal):\s+\d+", re.MULTILINE), "proc/meminfo"),
    (re.compile(r"^Limit\s+Soft Limit\s+Hard Limit", re.MULTILINE), "proc/self/limits"),
)
"""Contents that are recognised without a name."""
LIMIT_LINE = re.compile(r"^Max [a-z ]+?\s{2,}(?:\d+|unlimited)\s+(?:\d+|unlimited)\s", re.MULTILINE)
LARGEST = 2000
"""Lines of a section that are looked at."""


class _Pasted(msgspec.Struct):
    """Content of one file and the line of the section that each of its lines stands in."""

    lines: list[str]
    places: list[int]


def parse_files(section: Section) -> Iterator[Row]:
    """Facts of all files that the section shows."""
    files = _files(section)
    if not files:
        return
    contents: dict[str, str | bytes] = {path: "\n".join(file.lines) + "\n" for path, file in files.items()}
    for row in read_tree(HostFS(MemoryStore(contents), live=False)):
        if isinstance(row, Gap):
            yield from _gap(section, files, row)
        else:
            where = _evidence(section, files, row.evidence)
            if where is not None:
                yield Fact(row.path, row.value, where, 2)


def _files(section: Section) -> dict[str, _Pasted]:
    files: dict[str, _Pasted] = {}

    def add(path: str, value: str, index: int) -> None:
        file = files.setdefault(_tree_path(path), _Pasted([], []))
        file.lines.append(value)
        file.places.append(index)

    command = bare_command(section.command or "")
    whole = CAT.match(command) or PIPED.match(command)
    filled = [i for i, line in enumerate(section.lines[:LARGEST]) if line.strip() and not FAILED.search(line.strip())]
    if whole and not command.startswith("shell"):
        paths = whole.groupdict().get("paths") or whole.groupdict().get("path") or ""
        names = paths.split()
        if len(names) == 1 and "*" not in paths:
            for index in filled:
                add(names[0], section.lines[index].strip(), index)
            return files
        if len(names) == len(filled):
            for name, index in zip(names, filled, strict=True):
                add(name, section.lines[index].strip(), index)
            return files
    for index in filled:
        line = section.lines[index]
        if match := NAMED.match(line):
            add(match["path"], match["value"], index)
        elif COMMAND_LINE.match(line):
            add("/proc/cmdline", line.strip(), index)
    if not files:
        for mark, path in BARE:
            if mark.search(section.text) or (path.endswith("limits") and LIMIT_LINE.search(section.text)):
                for index in filled:
                    add("/" + path, section.lines[index].strip(), index)
                break
    return files


def _tree_path(path: str) -> str:
    """Where the readers of trees look for it."""
    if match := BDF_IN_PATH.match(path):
        return f"sys/bus/pci/devices/{match['bdf']}/{match['rest']}"
    path = re.sub(r"^/proc/\d+/limits$", "/proc/self/limits", path)
    return path.lstrip("/")


def _evidence(section: Section, files: dict[str, _Pasted], where: Evidence) -> Evidence | None:
    """The line of the paste for a line of the file; None for what no pasted line states."""
    file = files.get(where.file.lstrip("/"))
    if file is None:
        below = next((f for path, f in files.items() if path.startswith(where.file.strip("/") + "/")), None)
        return section.evidence(below.places[0]) if below else None
    number = where.line or 1
    if where.line is None and where.text:
        number = next((n for n, line in enumerate(file.lines, 1) if where.text.strip() in line), 1)
    return section.evidence(file.places[min(number, len(file.places)) - 1])


def _gap(section: Section, files: dict[str, _Pasted], gap: Gap) -> Iterator[Row]:
    """Only what was pasted can be malformed; anything else was not part of the paste."""
    if gap.path.lstrip("/") in files and "malformed" in gap.why:
        yield Gap(f"{section.file}: /{gap.path.lstrip('/')}", gap.why)


READER = TextReader(
    name="pasted files",
    commands=re.compile(r"(?:cat|more|less|head|tail|tee|bat) .*/(?:proc|sys|etc)/"),
    sniff=re.compile(
        rf"^\s*{PLACE}(?:[=:]|\s)|{COMMAND_LINE.pattern}|{'|'.join(mark.pattern for mark, _ in BARE)}|{LIMIT_LINE.pattern}",
        re.MULTILINE,
    ),
    parse=parse_files,
)
