"""Makefiles: the compiler, its options, libraries and paths."""

from __future__ import annotations

import re

from rocsteady.port.build_text import BuildText
from rocsteady.port.context import Options, ProjectFacts
from rocsteady.port.options import compile_option

_PATH = re.compile(
    r"/usr/local/cuda[\w.-]*|/opt/cuda[\w.-]*|\$[({]CUDA_(?:HOME|PATH|ROOT|DIR)[)}]|^CUDA_(?:HOME|PATH|ROOT|DIR)$"
)
_TAKES_VALUE = {
    "-gencode",
    "--generate-code",
    "-arch",
    "--gpu-architecture",
    "-code",
    "--gpu-code",
    "-Xcompiler",
    "--compiler-options",
    "-Xptxas",
    "--ptxas-options",
    "-Xcudafe",
    "-Xlinker",
    "-maxrregcount",
    "--maxrregcount",
    "-ccbin",
    "--compiler-bindir",
    "--threads",
}
_WORD = re.compile(r"[^\s]+")


def convert(text: str, path: str, options: Options, project: ProjectFacts) -> BuildText:
    """Convert one makefile."""
    del path, project
    built = BuildText(text)
    if not re.search(
        r"nvcc|NVCC|cuda|CUDA|-arch[= ]|gencode|sm_\d|-lcu[brsfd]|-lnv|maxrregcount|-Xptxas|rdc=true|-prec-div|use_fast_math",
        text,
    ):
        return built
    for line in re.finditer(r"[^\r\n]*", text):
        if line.group().strip() and not line.group().lstrip().startswith("#"):
            _line(built, line.group(), line.start(), options)
    return built


def _line(built: BuildText, line: str, offset: int, options: Options) -> None:
    words = list(_WORD.finditer(line))
    arch_written = False
    skip = -1
    for number, match in enumerate(words):
        if number <= skip:
            continue
        word, start = match.group(), offset + match.start()
        if word.startswith("#"):
            return
        if _PATH.search(word):
            built.note("build-path", start, word)
        _compiler(built, word, start)
        option, end = _option_text(word), start + len(word)
        if option in _TAKES_VALUE and number + 1 < len(words):
            following = words[number + 1].group()
            joined = f"{option}={following}"
            if compile_option(joined, options.targets) is not None and not following.startswith("$"):
                option, end, skip = joined, offset + words[number + 1].end(), number + 1
        lead = len(word) - len(_option_text(word))
        change = compile_option(option, options.targets)
        if change is None:
            if word == "-x" and number + 1 < len(words) and words[number + 1].group() == "cu":
                built.replace(
                    offset + words[number + 1].start(), offset + words[number + 1].end(), "hip", "make-language"
                )
            continue
        if change.rule:
            built.note(change.rule, start, option)
        text = change.text
        if change.rule == "option-arch":
            text, arch_written = ("" if arch_written else text), True
        if text or lead:
            built.replace(start + lead, end, text, "option")
        else:
            built.drop_word(start, end, "option")


def _option_text(word: str) -> str:
    """The option in `FLAGS=-arch=sm_80` or a quoted word."""
    match = re.match(r"""(?:\w+[:+?]?=)?["']?(-.*)""", word)
    return match[1].rstrip("\"'") if match else word


def _compiler(built: BuildText, word: str, start: int) -> None:
    for match in re.finditer(r"(?<![\w-])nvcc(?![\w-])", word):
        before = word[: match.start()]
        begin = start + match.start()
        if before.endswith("/bin/"):
            built.note("build-path", start, word)
        built.replace(begin, start + match.end(), "hipcc", "make-compiler")
