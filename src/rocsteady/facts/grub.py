"""Kernel parameters asked for in /etc/default/grub; whether they are in force only /proc/cmdline says.

Sample: ``GRUB_CMDLINE_LINUX_DEFAULT="quiet amdgpu.ppfeaturemask=0xffffffff iommu=pt"``
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

LINE = re.compile(r"^\s*GRUB_CMDLINE_LINUX(?:_DEFAULT)?=(?P<quote>[\"']?)(?P<words>.*?)(?P=quote)\s*$")


def parse_grub(section: Section) -> Iterator[Row]:
    """One fact per parameter, at the rank of a note: a boot loader's file is a wish."""
    for index, line in enumerate(section.lines):
        match = LINE.match(line)
        if match is None:
            continue
        for word in match["words"].split():
            name, _, value = word.partition("=")
            if re.fullmatch(r"[\w.-]+", name):
                yield section.fact(f"kernel.command_line[{name}]", value, index, rank=0)


READER = TextReader(
    name="grub",
    commands=re.compile(r"(?:cat|less|nano|vi|vim) \S*default/grub"),
    sniff=re.compile(r"^\s*GRUB_CMDLINE_LINUX", re.MULTILINE),
    marks=("GRUB_CMDLINE",),
    parse=parse_grub,
)
