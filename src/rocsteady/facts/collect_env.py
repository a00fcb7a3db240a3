"""``collect_env`` of PyTorch, vLLM and SGLang, and lines that ``torch`` prints about itself.

Samples: ``ROCM used to build PyTorch: 6.2.41133-dd7f95766``, newer ``PyTorch version              : 2.7.0+rocm6.3``,
``Python platform: Linux-6.8.0-41-generic-x86_64-with-glibc2.35``, ``[pip3] torch==2.5.1+rocm6.2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.os_names import os_rows
from rocsteady.facts.python_builds import build_rows, package_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

FIELD = re.compile(r"^\s{0,4}(?P<key>[A-Za-z][\w ()/-]{1,45}?)\s*:\s*(?P<value>.*?)\s*$")
LISTED = re.compile(r"^\s*\[(?P<tool>pip3?|conda)\] (?P<name>[\w.-]+)(?:==|\s+)(?P<version>\d[\w.+!-]*)")
PLATFORM = re.compile(r"Linux-(?P<release>\d+\.\d+\S*?)-(?P<arch>x86_64|aarch64|ppc64le)(?:-with\S*)?")
GPU = re.compile(
    r"^\s*(?:GPU (?P<number>\d+): )?(?P<name>(?:AMD|Radeon|Instinct|NVIDIA)\b[^()]*?)\s*(?:\((?P<gfx>gfx[0-9a-f]+)[^)]*\))?\s*(?:\(UUID: .*\))?$"
)
NOTHING = re.compile(r"^(?:N/A.*|Could not collect|None|no cuda|)$", re.IGNORECASE)
MARK = re.compile(
    r"^\s*(?:PyTorch version\s*:|ROCM used to build PyTorch|HIP runtime version|Python platform\s*:|GPU models and configuration)",
    re.MULTILINE,
)


def parse_collect_env(section: Section) -> Iterator[Row]:
    """Versions, platform, GPUs, packages."""
    gpus: list[tuple[str, str | None, int]] = []
    models = False
    stacks: dict[str, tuple[bool, int]] = {}
    for index, line in enumerate(section.lines):
        if match := LISTED.match(line):
            yield from package_rows(section, match["name"], match["version"], index)
            continue
        match = FIELD.match(line)
        key = match["key"].lower() if match else ""
        if match and key == "gpu models and configuration":
            models = True
        elif models and match and not re.match(r"gpu \d+$", key):
            models = False
        if models:
            text = match["value"] if match and key == "gpu models and configuration" else line
            if found := GPU.match(text):
                gpus.append((found["name"].strip(), found["gfx"], index))
            continue
        if match is None:
            continue
        value = match["value"]
        if re.match(r"(?:rocm|cuda) used to build", key) and value and value.lower() != "could not collect":
            stacks[key[:4]] = (not NOTHING.match(value), index)
        if not NOTHING.match(value):
            yield from _field(section, key, value, index)
    rocm, cuda = stacks.get("rocm"), stacks.get("cuda")
    if rocm is not None and rocm[0]:
        yield section.fact("python.torch_build", "rocm", rocm[1])
    elif cuda is not None and cuda[0]:
        yield section.fact("python.torch_build", "cuda", cuda[1])
    elif rocm is not None and cuda is not None:
        yield section.fact("python.torch_build", "cpu", cuda[1])
    yield from _gpus(section, gpus)


def _field(section: Section, key: str, value: str, index: int) -> Iterator[Row]:
    if key == "pytorch version":
        yield from package_rows(section, "torch", value, index)
        yield from build_rows(section, value, index)
    elif key == "rocm used to build pytorch":
        yield section.fact("python.torch_hip", value, index)
    elif key == "cuda used to build pytorch":
        yield section.fact("python.torch_cuda", value, index)
    elif key == "os":
        yield from os_rows(section, value, index)
    elif key == "python version" and value[:1].isdigit():
        yield section.fact("python.version", value.split(maxsplit=1)[0], index)
    elif key == "python platform":
        platform = PLATFORM.search(value)
        if platform:
            yield section.fact("kernel.release", platform["release"], index)
            yield section.fact("host.arch", platform["arch"], index)
    elif key == "is cuda available":
        yield section.fact("python.torch_sees_gpu", value.lower() == "true", index)
    elif key in ("hip runtime version", "miopen runtime version"):
        yield section.fact(f"rocm.components[{key.split(maxsplit=1)[0]}]", value, index)
    elif key == "rocm version" and (version := re.match(r"\d+\.\d+[\w.-]*", value)):
        # collect_env prints what ``hipcc --version`` says: the number of HIP, not of the ROCm release
        yield section.fact("rocm.components[hip]", version[0], index)
    elif key in ("vllm version", "sglang version") and (version := re.match(r"v?(\d[\w.+-]*)", value)):
        yield section.fact("engine.version", version[1], index)
        yield section.fact("engine.name", key.split(maxsplit=1)[0], index)
    elif key == "model name":
        yield section.fact("host.cpu", value, index)


def _gpus(section: Section, gpus: list[tuple[str, str | None, int]]) -> Iterator[Row]:
    """collect_env lists all GPUs that torch sees, one line each; one line without a number may stand for many."""
    amd = [gpu for gpu in gpus if not gpu[0].startswith("NVIDIA")]
    numbered = [gpu for gpu in gpus if re.match(r"^\s*GPU \d+: ", section.lines[gpu[2]])]
    for number, (name, gfx, index) in enumerate(amd):
        yield section.fact(f"gpus[hip:{number}].name", name, index)
        if gfx:
            yield section.fact(f"gpus[hip:{number}].gfx", gfx, index)
    if numbered and len(numbered) == len(amd):
        yield section.fact("gpus_by_tool[torch]", len(amd), amd[0][2])


READER = TextReader(
    name="collect_env",
    commands=re.compile(r"python.*collect_env|vllm collect-env"),
    sniff=MARK,
    parse=parse_collect_env,
)
