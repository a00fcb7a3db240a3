"""``uname -a`` and /proc/version.

Sample: ``Linux node1 4.15.0-130-generic #134-Ubuntu SMP Tue Jan 5 20:46:26 UTC 2021 x86_64 GNU/Linux``
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

UNAME = re.compile(
    r"^\s*Linux (?P<host>[\w.()-]+) (?P<release>\d+\.\d+\S*) (?P<build>#\d+.*?)(?: (?P<arch>x86_64|aarch64|ppc64le))?(?: .*)?$"
)
VERSION = re.compile(r"^Linux version (?P<release>\d+\.\d+\S*) ")


def parse_uname(section: Section) -> Iterator[Row]:
    """Kernel release, build, architecture and host name."""
    for index, line in enumerate(section.lines):
        match = UNAME.match(line)
        if match:
            yield section.fact("kernel.release", match["release"], index)
            yield section.fact("kernel.build", match["build"], index)
            yield section.fact("host.name", match["host"], index)
            if match["arch"]:
                yield section.fact("host.arch", match["arch"], index)
        elif match := VERSION.match(line):
            yield section.fact("kernel.release", match["release"], index)


READER = TextReader(
    name="uname",
    commands=re.compile(r"uname\b|proc/version"),
    sniff=re.compile(r"^\s*Linux (?:version \d|[\w.()-]+ \d+\.\d+\.\d)", re.MULTILINE),
    parse=parse_uname,
)
