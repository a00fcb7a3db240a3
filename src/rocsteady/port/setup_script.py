"""`setup.py` and `pyproject.toml`: option strings of nvcc, and what PyTorch's own build does."""

from __future__ import annotations

import re

from rocsteady.port.build_text import BuildText
from rocsteady.port.context import Options, ProjectFacts
from rocsteady.port.options import compile_option

_STRING = re.compile(r"""(?<![\w])(?P<quote>['"])(?P<text>-[^'"\n]*)(?P=quote)(?P<comma>[ \t]*,?)""")
_PAIR = re.compile(
    r"""(['"])(-gencode|--generate-code|-arch|-Xcompiler|-Xptxas|--maxrregcount)\1[ \t]*,\s*(['"])([^'"\n]*)\3"""
)
_PACKAGE = re.compile(r"""['"](nvidia-[\w-]+-cu1\d|cupy-cuda\w+|nvidia-ml-py3?|pynvml)\b""")


def convert(text: str, path: str, options: Options, project: ProjectFacts) -> BuildText:
    """Convert the options of one build script; the sources keep their names, as PyTorch's build expects."""
    del project
    built = BuildText(text)
    if not re.search(r"CUDAExtension|nvcc|cuda|CUDA|nvidia", text):
        return built
    for match in _PACKAGE.finditer(text):
        built.note("build-library", match.start(), match[1])
    if path.endswith(".toml"):
        return built
    for match in re.finditer(r"\bCUDAExtension\s*\(", text):
        built.note("build-setup", match.start())
    for match in re.finditer(
        r"\bCUDA_HOME\b|torch\.version\.cuda\b|get_cuda_bare_metal_version\b|\bnvcc_threads\b", text
    ):
        if _in_comment(text, match.start()):
            continue
        built.note("build-path", match.start(), match.group())
    covered: list[tuple[int, int]] = []
    for match in _PAIR.finditer(text):
        change = compile_option(f"{match[2]}={match[4]}", options.targets)
        if change is None or _in_comment(text, match.start()):
            continue
        covered.append(match.span())
        if change.rule:
            built.note(change.rule, match.start(), match[2])
        fresh = ", ".join(f"{match[1]}{part}{match[1]}" for part in change.text.split())
        built.replace(match.start(), match.end(), fresh or f"{match[1]}-DNVCC_OPTION_DROPPED{match[1]}", "option")
    for match in _STRING.finditer(text):
        if any(start <= match.start() < end for start, end in covered) or _in_comment(text, match.start()):
            continue
        change = compile_option(match["text"], options.targets)
        if change is None:
            continue
        if change.rule:
            built.note(change.rule, match.start(), match["text"])
        quote = match["quote"]
        if change.text:
            built.replace(
                match.start(),
                match.end(),
                ", ".join(f"{quote}{part}{quote}" for part in change.text.split()) + match["comma"],
                "option",
            )
        elif match["comma"].strip():
            after = match.end()
            while after < len(text) and text[after] in " \t":
                after += 1
            built.replace(match.start(), after, "", "option")
    return built


def _in_comment(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line.lstrip().startswith("#")
