"""``lspci -t``: where GPUs hang.

Sample: ``|           +-03.1-[e2-e4]----00.0-[e3-e4]----00.0-[e4]----00.0  Advanced Micro Devices, Inc. [AMD/ATI] Device 738c``
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row
from rocsteady.facts.sections import Section

ROOT = re.compile(r"[-+]-?\[(?P<domain>[0-9a-f]{4}):(?P<bus>[0-9a-f]{2})(?:-[0-9a-f]{2})?\]-")
STEP = re.compile(r"(?P<device>[0-9a-f]{2}\.[0-7])(?:-\[(?P<bus>[0-9a-f]{2})(?:-[0-9a-f]{2})?\])?")
GPU = re.compile(r"\[AMD/ATI\] (?P<name>(?!.*(?:Audio|Switch|Bridge|USB|HDMI|Root|I2C|SMBus))\S.*?)\s*$")


def tree_rows(section: Section) -> Iterator[Row]:
    """AMD GPUs and the chain of bridges above each, as far as one line shows it."""
    domain = bus = ""
    column = -1
    for index, line in enumerate(section.lines):
        if root := ROOT.search(line):
            domain, bus = root["domain"], root["bus"]
            column = root.end()
        first = STEP.search(line, column if column >= 0 else 0)
        if not domain or first is None or abs(first.start() - column) > 3:
            continue  # a line deeper in the tree: its bus stands in an earlier line
        gpu = GPU.search(line)
        text = line[: line.index("  ", first.end())] if "  " in line[first.end() :] else line
        chain: list[str] = []
        here = bus
        for step in STEP.finditer(text, first.start()):
            chain.append(f"{domain}:{here}:{step['device']}")
            here = step["bus"] or here
        if gpu is None or not chain or not chain[-1].endswith(".0"):
            continue
        bdf = chain[-1]
        yield section.fact(f"gpus[{bdf}].bdf", bdf, index)
        yield section.fact(f"gpus[{bdf}].vendor", "1002", index)
        device = re.fullmatch(r"Device ([0-9a-f]{4})", gpu["name"])
        if device:
            yield section.fact(f"gpus[{bdf}].device", device[1], index)
        else:
            yield section.fact(f"gpus[{bdf}].name", gpu["name"], index)
        for child, parent in zip(chain[1:], chain, strict=False):
            yield section.fact(f"pci[{child}].parent", parent, index)
