"""Lists of versions that a person wrote: a product and its version on one line, with or without a colon.

Samples: ``ROCm 7.2.53211``, ``PyTorch 2.11.0+gitd0c8b1f``, ``vLLM version: 0.5.3.post1 (For ROCm)``, ``Debian 12 Bookworm``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.os_names import NAME as OS_NAME
from rocsteady.facts.os_names import os_rows
from rocsteady.facts.python_builds import package_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

PRODUCTS = r"ROCm|HIP|PyTorch|torch|vLLM|SGLang|Ollama|Triton|Python|amd-aiter|aiter|flash-attn|transformers|kernel|Linux kernel|Linux|amdgpu(?: driver)?|amdgpu-dkms|llama\.cpp|Ray"
LINE = re.compile(
    rf"^\s*(?:[-*•] )?(?P<product>{PRODUCTS})(?: version)?\s*(?:[:=@]\s*|==\s*|\s)(?:v|version )?(?P<version>\d+\.\d[\w.+~-]*)(?: \([^)]*\)|,? ?(?:LTS|stable|nightly|release))?\s*$",
    re.IGNORECASE,
)
OS_LINE = re.compile(
    rf"^\s*(?:[-*•] )?(?:(?:OS|Distro|Distribution|Operating System|Host OS)\s*:\s*)?(?P<name>(?:{OS_NAME.pattern[4:]})[\w .!()-]{{0,60}})\s*$",
    re.IGNORECASE,
)
PATHS = {
    "rocm": "rocm.version", "hip": "rocm.components[hip]", "kernel": "kernel.release", "linux kernel": "kernel.release",
    "linux": "kernel.release", "amdgpu": "rocm.driver", "amdgpu driver": "rocm.driver", "amdgpu-dkms": "rocm.driver",
    "python": "python.version",
}  # fmt: skip
LONGEST = 200


def parse_versions(section: Section) -> Iterator[Row]:
    """Each such line, if the text is a short one or the line is one of several."""
    if section.command is not None and not section.command.startswith("cat "):
        return
    found: list[tuple[int, re.Match[str]]] = []
    for index, line in enumerate(section.lines[:LONGEST]):
        if match := LINE.match(line):
            found.append((index, match))
        elif (system := OS_LINE.match(line)) and re.search(r"\d", line):
            yield from os_rows(section, system["name"], index, rank=0)
    for index, match in found:
        product, version = match["product"].lower(), match["version"].rstrip(".,")
        if product == "rocm":
            # RCCL prints the package version, of which the first three numbers are the release
            version = re.sub(r"^(\d+\.\d+\.\d+)\.0-\d.*$", r"\1", version)
        if product in PATHS:
            yield section.fact(PATHS[product], version, index, rank=0)
        elif product in ("vllm", "sglang", "ollama", "llama.cpp"):
            yield section.fact("engine.name", product, index, rank=0)
            yield section.fact("engine.version", version, index, rank=0)
        else:
            yield from package_rows(section, "torch" if product == "pytorch" else product, version, index, rank=0)


READER = TextReader(
    name="product versions",
    commands=None,
    sniff=re.compile(
        f"(?:{LINE.pattern})|{re.sub(r'[?]P<n.{1,5}?>', '?:', OS_LINE.pattern)}", re.MULTILINE | re.IGNORECASE
    ),
    parse=parse_versions,
)
