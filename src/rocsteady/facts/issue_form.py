"""Reports that follow a form: a heading per question, the answer below it; and the block that AMD's form asks for.

Samples: ``### Operating System`` / blank / ``Ubuntu 22.04.5 LTS``; ``### ROCm Version`` / blank / ``ROCm 6.2.1``;
``model name      : AMD EPYC 9474F 48-Core Processor``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.os_names import os_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

QUESTION = re.compile(
    r"^\s*(?:#{2,4} |\*\*)(?P<what>Operating System|OS|CPU|GPU|ROCm Version|Kernel(?: Version)?|Ollama version|vLLM version)\s*:?(?:\*\*)?:?\s*$",
    re.IGNORECASE,
)
CPU = re.compile(r"^\s*model name\s*: (?P<name>\S.*?)\s*$")
VERSION = re.compile(r"^(?:ROCm |v)?(?P<version>\d+\.\d[\w.+-]*)$", re.IGNORECASE)


def parse_form(section: Section) -> Iterator[Row]:
    """The answers; one that names several versions names none."""
    for index, line in enumerate(section.lines):
        if match := CPU.match(line):
            yield section.fact("host.cpu", match["name"], index)
        elif match := QUESTION.match(line):
            answer = next(
                (i for i in range(index + 1, min(index + 4, len(section.lines))) if section.lines[i].strip()), None
            )
            if answer is not None:
                yield from _answer(section, match["what"].lower(), section.lines[answer].strip(), answer)


def _answer(section: Section, what: str, text: str, index: int) -> Iterator[Row]:
    if what in ("operating system", "os"):
        yield from os_rows(section, text, index, rank=0)
        return
    if what == "cpu" and not text.startswith(("#", "_")):
        yield section.fact("host.cpu", text, index, rank=0)
    version = VERSION.match(text)
    if version is None:
        return
    if what == "rocm version":
        yield section.fact("rocm.version", version["version"], index, rank=0)
    elif what.startswith("kernel"):
        yield section.fact("kernel.release", version["version"], index, rank=0)
    elif what in ("ollama version", "vllm version"):
        yield section.fact("engine.name", what.split(maxsplit=1)[0], index, rank=0)
        yield section.fact("engine.version", version["version"], index, rank=0)


READER = TextReader(
    name="issue form",
    commands=None,
    marks=("###", "##", "**", "model name"),
    sniff=re.compile(rf"(?:{QUESTION.pattern})|^\s*model name\s*: ", re.MULTILINE | re.IGNORECASE),
    parse=parse_form,
)
