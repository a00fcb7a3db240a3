"""Lists of Python packages: pip list, freeze, show, install; uv; conda; names of wheels.

Samples: ``torch   2.5.1+rocm6.2``, ``torch==2.5.1+rocm6.2``, ``Successfully installed vllm-0.9.1 torch-2.7.0``,
`` + vllm==0.27.0+rocm723``, ``Downloading vllm-0.22.1-cp38-abi3-manylinux_2_28_x86_64.whl (350 MB)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.python_builds import WHEEL, normal_name, package_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

FROZEN = re.compile(r"^\s*(?:[+~] )?(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>\d[\w.+!-]*)\s*(?:;.*|#.*)?$")
REMOVED = re.compile(r"^\s*- [\w.-]+==")
FROM_FILE = re.compile(r"^\s*(?P<name>[A-Za-z0-9][\w.-]*) @ (?P<place>\S+)")
TABLE = re.compile(r"^\s*Package\s+Version\b")
RULE = re.compile(r"^\s*-{3,}\s+-{3,}")
ROW = re.compile(r"^\s*(?P<name>[A-Za-z0-9][\w.-]*)\s+(?P<version>\d[\w.+!-]*)(?:\s+\S+){0,3}\s*$")
CONDA = re.compile(r"^#\s*Name\s+Version\s+Build")
KNOWN_ROW = re.compile(
    r"^\s*(?P<name>(?:py)?torch(?:vision|audio)?|vllm|sglang|triton(?:-rocm)?|pytorch-triton(?:-rocm)?|amd-aiter|aiter|flash[-_]attn|"
    r"amdsmi|ray|transformers|xformers|bitsandbytes|onnxruntime(?:-\w+)?|numpy|deepspeed|rocm(?:-sdk[\w-]*)?)\s+(?P<version>\d+\.\d[\w.+!-]*)(?:\s+\S+){0,2}\s*$"
)
"""Rows of a list that was filtered by grep, without its head."""
DONE = re.compile(r"Successfully installed (?P<list>.+)$")
PAIR = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*?)-(?P<version>\d[\w.+!]*)(?:\s|$)")
SHOW = re.compile(r"^\s*Name: (?P<name>[A-Za-z0-9][\w.-]*)\s*$")
FETCHED = re.compile(r"^\s*(?:Downloading|Using cached|Processing|Installing)\b.*?(?P<wheel>[\w.+%!-]+\.whl)")
ALREADY = re.compile(
    r"Requirement already satisfied: (?P<name>[A-Za-z0-9][\w.-]*).*? in \S+ (?:\(from .*?\) )?\((?P<version>\d[\w.+!-]*)\)"
)
NOT_A_PACKAGE = frozenset(("package", "name", "version", "python", "build"))
MISSING = re.compile(r"WARNING: Package\(s\) not found: (?P<names>.+)$")


INSTALL = re.compile(r"\bpip3? (?:install|download)\b(?P<rest>.*)")
ASKED_FOR = re.compile(
    r"(?<![\w./-])[\"']?(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[\w,-]+\])?==[\"']?(?P<version>\d[\w.+!-]*)"
)
INDEX = re.compile(r"(?:--(?:extra-)?index-url|--index|-i|--find-links|-f)[= ]+[\"']?(?P<url>https?://[^\s\"'\\]+)")


def parse_packages(section: Section) -> Iterator[Row]:
    """All packages that the text says are installed, and the wheels that it names."""
    table = ""
    shown: str | None = None
    command = section.command or ""
    listing = re.match(r"(?:uv )?(?:pip3?|conda|mamba|micromamba|python.* -m pip) (?:\S+ )*?list", command) is not None
    for index, line in enumerate(section.lines):
        if match := INSTALL.search(line):
            # What is asked for is known before it is there: a list that shows what is there beats it.
            for pair in ASKED_FOR.finditer(match["rest"]):
                yield from package_rows(section, pair["name"], pair["version"], index, rank=1)
        if found := INDEX.findall(line):
            yield section.fact("python.index_urls", tuple(found), index)
        if TABLE.match(line) or CONDA.match(line):
            table = "pip" if TABLE.match(line) else "conda"
        elif REMOVED.match(line) or RULE.match(line):
            continue
        elif match := FROZEN.match(line):
            yield from package_rows(section, match["name"], match["version"], index)
        elif match := SHOW.match(line):
            shown = match["name"]
        elif shown and (version := re.match(r"^\s*Version: (\d\S*)\s*$", line)):
            yield from package_rows(section, shown, version[1], index)
            shown = None
        elif match := DONE.search(line):
            for pair in PAIR.finditer(match["list"]):
                yield from package_rows(section, pair["name"], pair["version"], index)
        elif match := FETCHED.match(line):
            yield from _wheel(section, match["wheel"], index, installed=True)
        elif match := ALREADY.search(line):
            yield from package_rows(section, match["name"], match["version"], index)
        elif match := MISSING.search(line):
            for name in match["names"].split(","):
                yield section.fact(f"python_packages_missing[{normal_name(name.strip())}]", True, index)
        elif match := FROM_FILE.match(line):
            yield from _wheel(section, match["place"], index, installed=True)
        elif ".whl" in line:
            yield from _wheel(section, line, index, installed="instal" in section.file.lower())
        elif (table or listing) and (match := ROW.match(line)):
            if match["name"].lower() not in NOT_A_PACKAGE:
                yield from package_rows(section, match["name"], match["version"], index)
        elif match := KNOWN_ROW.match(line):
            yield from package_rows(section, match["name"], match["version"], index, rank=1)
        elif not line.strip():
            continue
        else:
            table = table if line.lstrip().startswith("#") else ""


def _wheel(section: Section, text: str, index: int, installed: bool) -> Iterator[Row]:
    for match in WHEEL.finditer(text.replace("%2B", "+")):
        yield section.fact(f"python.wheels[{match[0]}]", "installed" if installed else "named", index)
        if installed:
            yield from package_rows(section, match["name"], match["version"], index)


READER = TextReader(
    name="python packages",
    marks=(
        "==",
        "Package",
        "Name",
        "installed",
        "Version",
        ".whl",
        "satisfied",
        "not found",
        "index-url",
        "pip",
        "torch",
        "vllm",
        "triton",
        "aiter",
        "flash",
        "amdsmi",
        "ray",
        "transformers",
        "numpy",
        "rocm",
        "sglang",
        "onnx",
        "xformers",
        "bitsandbytes",
        "deepspeed",
    ),
    commands=re.compile(r"(?:uv )?pip3?\b|python[\d.]* -m pip|conda|mamba|micromamba"),
    sniff=re.compile(
        r"\bpip3? install |--(?:extra-)?index-url|^\s*(?:[+~] )?[A-Za-z0-9][\w.-]*==\d|^\s*Package\s+Version|^#\s*Name\s+Version|Successfully installed |^\s*Name: [\w.-]+\s*\n\s*Version: \d|"
        rf"\.whl\b|Requirement already satisfied|Package\(s\) not found|{KNOWN_ROW.pattern.replace('?P<name>', '?:').replace('?P<version>', '?:')}",
        re.MULTILINE,
    ),
    parse=parse_packages,
)
