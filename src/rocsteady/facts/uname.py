"""``uname`` with its usual options, and /proc/version.

Samples: ``Linux node1 4.15.0-130-generic #134-Ubuntu SMP Tue Jan 5 20:46:26 UTC 2021 x86_64 GNU/Linux``;
``uname -r`` alone: ``6.8.0-60-generic``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

ARCH = r"(?P<arch>x86_64|aarch64|ppc64le)"
UNAME = re.compile(rf"^\s*Linux (?P<host>[\w.()-]+) (?P<release>\d+\.\d+\S*) (?P<build>#\d+.*?)(?:\s{ARCH}(?:\s.*)?)?$")
SHORT = re.compile(rf"^\s*(?:Linux )?(?P<release>\d+\.\d+\.\d+\S*)(?: {ARCH})?\s*$")
VERSION = re.compile(r"^\s*Linux version (?P<release>\d+\.\d+\S*) ")


def parse_uname(section: Section) -> Iterator[Row]:
    """Kernel release, build, architecture and host name."""
    command = section.command or ""
    asked = re.match(r"uname -\w*[ra]", command) is not None
    for index, line in enumerate(section.lines):
        if match := UNAME.match(line):
            yield section.fact("kernel.release", match["release"], index)
            yield section.fact("kernel.build", match["build"], index)
            yield section.fact("host.name", match["host"], index)
            if match["arch"]:
                yield section.fact("host.arch", match["arch"], index)
        elif match := VERSION.match(line):
            yield section.fact("kernel.release", match["release"], index)
        elif (asked or line.lstrip().startswith("Linux ")) and (match := SHORT.match(line)):
            yield section.fact("kernel.release", match["release"], index)
            if match["arch"]:
                yield section.fact("host.arch", match["arch"], index)
            asked = False


READER = TextReader(
    name="uname",
    commands=re.compile(r"uname\b|proc/version"),
    sniff=re.compile(r"^\s*Linux (?:version \d|[\w.()-]+ \d+\.\d+\.\d|\d+\.\d+\.\d)", re.MULTILINE),
    parse=parse_uname,
)
