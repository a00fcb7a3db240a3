"""Notes of a person: ``key: value`` lines such as ``kernel: 5.15.0-101`` or ``with iommu=pt: ok``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.model import Note

LINE = re.compile(r"^\s*(?:[-*] )?(?P<key>[A-Za-z0-9_][^:\[\]{}<>|]{0,70}?)\s*: +(?P<value>\S.*)$")
LONGEST = 60
"""A note is short: a longer text with colons is a log or a tool's output."""

SIMPLE: dict[str, str] = {
    "kernel": "kernel.release", "kernel version": "kernel.release", "linux kernel": "kernel.release",
    "os": "host.os_name", "distro": "host.os_name", "distribution": "host.os_name", "os packages": "host.os_name",
    "cpu": "host.cpu", "rocm": "rocm.version", "rocm version": "rocm.version",
    "amdgpu": "rocm.driver", "amdgpu driver": "rocm.driver", "driver": "rocm.driver",
    "python": "python.version", "vllm version": "engine.version", "vllm": "engine.version",
    "gpus installed": "gpus_expected", "gpus expected": "gpus_expected", "gpus registered": "gpus_seen",
    "gpus seen": "gpus_seen", "gpus visible": "gpus_seen", "gpus detected": "gpus_seen",
}  # fmt: skip


def parse_notes(section: Section) -> Iterator[Row]:
    """Every note, and the facts that well-known keys state."""
    for index, line in enumerate(section.lines):
        match = LINE.match(line)
        if match is None:
            continue
        key, value = match["key"].strip(), match["value"].strip()
        yield Note(key, value, section.evidence(index))
        path = SIMPLE.get(key.lower())
        if path is None:
            continue
        if path.startswith("gpus_"):
            number = re.match(r"(\d+)", value)
            if number:
                yield section.fact(path, int(number[1]), index, rank=0)
            continue
        yield section.fact(path, value, index, rank=0)


def looks_like_notes(section: Section) -> bool:
    """Short file, nearly every line a note."""
    filled = [line for line in section.lines if line.strip()]
    if not filled or len(filled) > LONGEST:
        return False
    return sum(1 for line in filled if LINE.match(line)) >= 0.6 * len(filled)


READER = TextReader(
    name="notes",
    commands=None,
    sniff=re.compile(r"\A(?=.*: )", re.DOTALL),
    parse=lambda s: parse_notes(s) if looks_like_notes(s) else iter(()),
)
