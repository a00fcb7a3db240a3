"""What the version of a Python package says about the GPU stack it was built for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row
from rocsteady.facts.sections import Section

LOCAL = re.compile(r"\+(?:[\w.]*?\.)?(?P<stack>rocm|cu|cpu)(?P<number>[\d.]*)")
WHEEL = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.]*?)-(?P<version>\d[\w.+!]*)(?:-\d\w*)?-(?P<python>(?:cp|py|pp)\w+(?:\.\w+)*)-(?P<abi>\w+)-(?P<platform>\w[\w.]*)\.whl"
)


def normal_name(name: str) -> str:
    """As package indexes compare names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_rows(section: Section, name: str, version: str, index: int, rank: int = 2) -> Iterator[Row]:
    """The package; of torch also the stack it was built for."""
    version = version.replace("%2B", "+").rstrip(",;")
    name = normal_name(name)
    yield section.fact(f"python_packages[{name}]", version, index, rank)
    if name == "torch":
        yield from build_rows(section, version, index, rank)
    elif name in ("vllm", "sglang") and rank >= 1:
        yield section.fact("engine.version", version, index, rank - 1)


def build_rows(section: Section, version: str, index: int, rank: int = 2) -> Iterator[Row]:
    """Stack of a torch version such as 2.5.1+rocm6.2, 2.5.1+cu124, 2.5.1+cpu."""
    match = LOCAL.search(version)
    if match is None:
        return
    stack = {"cu": "cuda"}.get(match["stack"], match["stack"])
    yield section.fact("python.torch_build", stack, index, rank)
    number = match["number"].strip(".")
    if stack == "rocm" and number:
        yield section.fact("python.torch_hip", number, index, rank - 1)
    if stack == "cuda" and len(number) >= 2:
        yield section.fact("python.torch_cuda", f"{number[:-1]}.{number[-1]}", index, rank)
