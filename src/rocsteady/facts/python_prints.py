"""``python --version`` and one-liners that print what torch, vLLM and others say of themselves.

Samples: ``$ python3 -c "import torch; print(torch.__version__, torch.version.hip)"`` then ``2.5.1+rocm6.2 6.2.41133-dd7f95766``;
``>>> torch.version.hip`` then ``'6.2.41133-dd7f95766'``; ``torch.cuda.is_available(): False``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.python_builds import package_rows
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

ASKED = r"torch\.version\.(?:hip|cuda)|torch\.cuda\.is_available\(\)|torch\.cuda\.device_count\(\)|[a-z_]+\.__version__"
EXPRESSION = re.compile(ASKED)
PYTHON = re.compile(r"^\s*Python (?P<version>[23]\.\d+(?:\.\d+)?\S*)\s*$")
TYPED = re.compile(rf"^\s*>>> (?:print\()?(?P<what>{ASKED})\)?\s*$")
SAID = re.compile(rf"(?P<what>{ASKED})\s*[:=]+>?\s*['\"]?(?P<value>[\w.+-]+)")
WORD = re.compile(r"^['\"]?(?P<value>True|False|None|\d[\w.+-]*)['\"]?,?$")


def parse_prints(section: Section) -> Iterator[Row]:
    """Values in the order in which the command asks for them."""
    command = section.command or ""
    asked = EXPRESSION.findall(command) if command.startswith("python") else []
    answered = False
    for index, line in enumerate(section.lines):
        if match := PYTHON.match(line):
            yield section.fact("python.version", match["version"], index)
            continue
        if match := TYPED.match(line):
            answer = WORD.match(section.lines[index + 1].strip()) if index + 1 < len(section.lines) else None
            if answer:
                yield from _value(section, match["what"], answer["value"], index + 1)
            continue
        if not command.startswith("shell: "):
            for match in SAID.finditer(line):
                yield from _value(section, match["what"], match["value"], index)
        if asked and not answered:
            words = [WORD.match(word) for word in line.strip().strip("()").split()]
            if words and len(words) == len(asked) and all(words):
                answered = True
                for what, word in zip(asked, words, strict=True):
                    if word is not None:
                        yield from _value(section, what, word["value"], index)
            elif len(words) == 1 and words[0] and len(asked) > 1:
                yield from _value(section, asked.pop(0), words[0]["value"], index)


def _value(section: Section, what: str, value: str, index: int) -> Iterator[Row]:
    if what == "torch.version.hip":
        if value != "None":
            yield section.fact("python.torch_hip", value, index)
            yield section.fact("python.torch_build", "rocm", index)
        else:
            yield section.fact("python.torch_has_hip", False, index)
    elif what == "torch.version.cuda":
        if value != "None":
            yield section.fact("python.torch_cuda", value, index)
            yield section.fact("python.torch_build", "cuda", index)
    elif what == "torch.cuda.is_available()":
        if value in ("True", "False"):
            yield section.fact("python.torch_sees_gpu", value == "True", index)
    elif what == "torch.cuda.device_count()":
        if value.isdigit():
            yield section.fact("gpus_by_tool[torch]", int(value), index)
    elif value[:1].isdigit():
        yield from package_rows(section, what.partition(".")[0], value, index)


READER = TextReader(
    name="python prints",
    marks=("Python", "torch.", "__version__"),
    commands=re.compile(r"python[\d.]*\b"),
    sniff=re.compile(rf"^\s*Python [23]\.\d+(?:\.\d+)?\s*$|{ASKED}", re.MULTILINE),
    parse=parse_prints,
)
