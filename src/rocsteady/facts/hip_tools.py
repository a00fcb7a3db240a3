"""``hipconfig``, ``hipcc --version``, ``clinfo``, and files that name the ROCm version.

Samples: ``HIP version  : 5.4.22803-474e8620``, ``InstalledDir: /opt/rocm-6.2.0/llvm/bin``,
``Number of platforms:                            1``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

HIP = re.compile(r"^\s*HIP version\s*:\s*(?P<version>\d+\.\d+\.\d+(?:-\w+)?)", re.IGNORECASE)
INSTALL = re.compile(
    r"(?:InstalledDir: |^\s*(?:.* -> )?|\s)(?P<path>(?:/opt/)?rocm-(?P<version>\d+\.\d+(?:\.\d+)?))(?:/|\s|$)"
)
PLATFORM = re.compile(r"^\s*HIP_PLATFORM\s*:\s*(?P<platform>\w+)")
PLATFORMS = re.compile(r"^\s*Number of platforms:?\s+(?P<count>\d+)\s*$")
BOARD = re.compile(r"^\s*(?:Device Board Name \(AMD\)|Board name):?\s+(?P<name>\S.*?)\s*$")
TOPOLOGY = re.compile(
    r"Device Topology(?: \(AMD\))?:?\s+PCI(?:-?E)?\s*\[?,? *(?:(?P<domain>[0-9a-f]{4}):)?(?:B#)?(?P<bus>[0-9a-f]+)[:,] ?(?:D#)?(?P<device>[0-9a-f]+)[.,] ?(?:F#)?(?P<function>\d)"
)
VERSION_FILE = re.compile(r"^\s*(?P<version>\d+\.\d+\.\d+(?:\.\d+)?)(?:-\S*)?\s*$")


def parse_hip_tools(section: Section) -> Iterator[Row]:
    """Versions of the ROCm user space, OpenCL platforms."""
    command = section.command or ""
    board: tuple[str, int] | None = None
    for index, line in enumerate(section.lines):
        if is_log_line(line):
            continue
        if match := HIP.match(line):
            yield section.fact("rocm.components[hip]", match["version"], index)
        elif match := PLATFORM.match(line):
            yield section.fact("rocm.components[hip-platform]", match["platform"], index)
        elif match := PLATFORMS.match(line):
            yield section.fact("rocm.opencl_platforms", int(match["count"]), index)
        elif match := BOARD.match(line):
            board = match["name"], index
        elif match := TOPOLOGY.search(line):
            # Old clinfo prints decimal numbers in brackets, new hexadecimal ones with the domain.
            base = 16 if match["domain"] else 10
            bdf = f"{match['domain'] or '0000'}:{int(match['bus'], base):02x}:{int(match['device'], base):02x}.{match['function']}"
            yield section.fact(f"gpus[{bdf}].bdf", bdf, index)
            if board:
                yield section.fact(f"gpus[{bdf}].name", board[0], board[1])
        elif re.search(r"\.info/version|rocm\S*/version", command) and (match := VERSION_FILE.match(line)):
            yield section.fact("rocm.version", match["version"], index)
        elif re.match(r"ls\b.*/opt|readlink|which|hipcc|hipconfig|ls\b", command) or "InstalledDir:" in line:
            for match in INSTALL.finditer(line):
                path = match["path"] if match["path"].startswith("/") else "/opt/" + match["path"]
                yield section.fact(f"rocm.installs[{path}]", match["version"], index)


READER = TextReader(
    name="hip tools",
    marks=("HIP", "platforms", "InstalledDir"),
    commands=re.compile(r"hipcc|hipconfig|clinfo|cat .*rocm.*version|ls\b.*/opt|readlink .*rocm|which (?:hipcc|rocm)"),
    sniff=re.compile(
        r"^\s*HIP version\s*:|^\s*Number of platforms|InstalledDir: /opt/rocm|^\s*HIP_PLATFORM\s*:", re.MULTILINE
    ),
    parse=parse_hip_tools,
)
