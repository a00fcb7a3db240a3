"""Notes of a person: ``key: value`` lines such as ``kernel: 5.15.0-101`` or ``with iommu=pt: ok``.

Keys that everybody understands become facts as well, with the lowest rank: what a tool printed beats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.os_names import os_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes
from rocsteady.model import Note

LINE = re.compile(r"^ {0,3}(?:[-*] )?(?P<key>[A-Za-z0-9_/][^:\[\]{}<>|\"]{0,90}?)\s*: {1,3}(?P<value>\S.*)$")
ENV_KEY = re.compile(
    r"^(?:HIP|CUDA|ROCR|HSA|NCCL|RCCL|VLLM|SGLANG|SGL|PYTORCH|TORCH|AITER|MIOPEN|TRITON|HF|RAY|OLLAMA|GGML|LD)_(?!ASSERT)[A-Z0-9_]+$"
)
"""A key that names an environment variable of the stack states its value."""
TOOL_KEY = re.compile(
    rf"^(?!{ENV_KEY.pattern[1:-1]}$)(?:[A-Z0-9]+(?:_[A-Z0-9]+)+|GPU|BDF|UUID|CLK|NAME|PID|RETIRED|PENDING|Name|Uuid|Node|Features?|Type|Reason|Image|State)$"
)
"""Keys that tools print, not people."""
TOOL_TEXT = re.compile(
    r"Collecting environment information|Is debug build: |used to build PyTorch|HSA System Attributes|^Architecture: +|^CPU op-mode|"
    r"^Static hostname:|^apiVersion:|^services:|^Distributor ID:|^filename: +/|^Package: |^processor\s*:|"
    r"GGML_ASSERT|compute capability|^(?:CUDA|HIP|RCCL|NCCL) error|^ptrace: ",
    re.MULTILINE,
)
"""Marks of tools and programs whose output is a list of keys and values."""
LONGEST = 60
"""A note is short: a longer text with colons is a log or a tool's output."""
SHARE = 0.6
"""Of the lines of a note, so many have a key."""

VERSION = r"v?(\d[\w.+~-]*)"
SIMPLE: dict[str, str] = {
    "kernel": "kernel.release", "kernel version": "kernel.release", "linux kernel": "kernel.release", "kernel release": "kernel.release",
    "rocm": "rocm.version", "rocm version": "rocm.version", "amdgpu": "rocm.driver", "amdgpu driver": "rocm.driver",
    "amdgpu version": "rocm.driver", "amdgpu-dkms": "rocm.driver", "driver": "rocm.driver", "gpu driver": "rocm.driver",
    "python": "python.version", "python version": "python.version", "vllm version": "engine.version", "vllm": "engine.version",
    "sglang": "engine.version", "sglang version": "engine.version", "ollama": "engine.version", "ollama version": "engine.version",
    "amdsmi tool": "rocm.components[amdsmi]", "linux-firmware": "packages[linux-firmware].version", "hip": "rocm.components[hip]",
    "torch": "python_packages[torch]", "pytorch": "python_packages[torch]", "pytorch version": "python_packages[torch]",
    "triton": "python_packages[triton]", "transformers": "python_packages[transformers]",
}  # fmt: skip
"""Key -> fact whose value is the version that stands first."""
ENGINES = {"vllm": "vllm", "sglang": "sglang", "ollama": "ollama", "llama.cpp": "llama.cpp"}
TEXTS: dict[str, str] = {
    "os": "host.os_name", "distro": "host.os_name", "distribution": "host.os_name", "operating system": "host.os_name",
    "os packages": "host.os_name", "host os": "host.os_name", "cpu": "host.cpu", "processor": "host.cpu", "board": "host.board",
    "motherboard": "host.board", "mainboard": "host.board", "server": "host.product", "machine": "host.product", "model": "engine.model",
    "container": "container.image", "image": "container.image", "docker image": "container.image",
}  # fmt: skip
"""Key -> fact whose value is the text as it stands."""
COUNTS: dict[str, str] = {
    "gpus installed": "gpus_expected", "gpus expected": "gpus_expected", "gpus registered": "gpus_seen", "gpus seen": "gpus_seen",
    "gpus visible": "gpus_seen", "gpus detected": "gpus_seen", "gpus found": "gpus_seen",
}  # fmt: skip


LONGEST_SENTENCE = 160
"""A sentence among notes; longer ones are text that was pasted beside them."""


def parse_notes(section: Section) -> Iterator[Row]:
    """Every note, and the facts that well-known keys state."""
    if not looks_like_notes(section):
        return
    for index, line in enumerate(section.lines):
        match = LINE.match(line)
        if match is None and line.strip() and len(line) <= LONGEST_SENTENCE and not is_log_line(line):
            sentence = line.strip()  # "sudo rocminfo works": key and value are both in the sentence
            yield Note(sentence, sentence, section.evidence(index))
        if match is None or is_log_line(line) or TOOL_KEY.match(match["key"]):
            continue
        key, value = match["key"].strip(), match["value"].strip()
        yield Note(key, value, section.evidence(index))
        if ENV_KEY.match(key):
            yield section.fact(f"env[{key}]", value.strip("\"'"), index, rank=0)
        yield from _known(section, index, key.lower(), value)


def _known(section: Section, index: int, key: str, value: str) -> Iterator[Row]:
    if key in COUNTS or key in ("gpu", "gpus"):
        number = re.match(r"(\d+)\b(?! ?(?:GB|GiB))", value)
        if number and key in COUNTS:
            yield section.fact(COUNTS[key], int(number[1]), index, rank=0)
        elif number and re.match(r"\d+ ?[x×]", value):
            yield section.fact("gpus_expected", int(number[1]), index, rank=0)
    elif key in SIMPLE:
        # A note that compares ("6.11 fails, 6.8 works") or denies ("none") names no version in use.
        version = re.match(r"(?:Linux |Ubuntu |kernel |ROCm |amdgpu(?:-dkms)? )?" + VERSION, value, re.IGNORECASE)
        if version and "." in version[1] and len(re.findall(r"\d+\.\d+", value)) <= 2:
            yield section.fact(SIMPLE[key], version[1], index, rank=0)
            if SIMPLE[key].startswith("packages["):
                yield section.fact(SIMPLE[key].replace(".version", ".source"), "note", index, rank=0)
            engine = ENGINES.get(key.removesuffix(" version"))
            if engine:
                yield section.fact("engine.name", engine, index, rank=0)
    elif TEXTS.get(key) == "host.os_name":
        yield from os_rows(section, value, index, rank=0)
    elif key in TEXTS:
        yield section.fact(TEXTS[key], value, index, rank=0)
    elif key in ("memory", "ram", "host memory", "system memory"):
        size = size_in_bytes(re.sub(r"^(\d+ ?[GT]i?B).*", r"\1", value))
        if size:
            yield section.fact("memory.total", size, index, rank=0)
    elif key in ("gfx", "gfx target", "gpu arch", "architecture") and re.match(r"gfx[0-9a-f]{3,5}\b", value):
        yield section.fact("gpus[hip:0].gfx", re.match(r"gfx[0-9a-f]+", value)[0], index, rank=0)  # type: ignore[index]
    elif (
        key in ("kernel command line", "kernel cmdline", "cmdline", "kernel parameters", "boot parameters")
        and "=" in value
    ):
        for word in value.split():
            name, _, setting = word.partition("=")
            yield section.fact(f"kernel.command_line[{name}]", setting, index, rank=0)
    elif key == "secure boot":
        state = {
            "enabled": True,
            "active": True,
            "on": True,
            "yes": True,
            "disabled": False,
            "off": False,
            "no": False,
        }.get(value.lower())
        if state is not None:
            yield section.fact("kernel.secure_boot", state, index, rank=0)
    elif re.fullmatch(r"/dev/\S+", key) and re.match(r"(?:missing|absent|not there|does not exist|not present)", value):
        yield section.fact(f"devices[{key}].exists", False, index, rank=0)


def looks_like_notes(section: Section) -> bool:
    """Short, no output of a known command, nearly every line a note."""
    if section.command is not None and not section.command.startswith("cat "):
        return False
    if TOOL_TEXT.search(section.text):
        return False
    filled = [line for line in section.lines if line.strip() and not is_log_line(line)]
    notes = [match["key"] for line in filled if (match := LINE.match(line))]
    if not notes or len(section.lines) > LONGEST or len(section.lines) - len(filled) > 2 * len(notes):
        return False
    if sum(1 for key in notes if TOOL_KEY.match(key)) > len(notes) / 4:
        return False
    return len(notes) >= SHARE * len(filled)


READER = TextReader(
    name="notes",
    commands=None,
    sniff=re.compile(r"^ {0,3}(?:[-*] )?[A-Za-z0-9_/].*: +\S", re.MULTILINE),
    parse=parse_notes,
)
