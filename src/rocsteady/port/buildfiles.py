"""Which file is a build file, and the pass that reads it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rocsteady.port import cmake, makefile, setup_script
from rocsteady.port.build_text import BuildText
from rocsteady.port.context import Options, ProjectFacts

_PASSES = {"cmake": cmake.convert, "make": makefile.convert, "setup": setup_script.convert}
_SOURCE = re.compile(r"(?<![\w])([\w./%*$(){}+-]*\.cuh?)(?![\w.])")
_MAKE_NAMES = {"makefile", "gnumakefile", "makefile.in", "makefile.am", "common.mk"}


def kind_of(path: str) -> str:
    """cmake, make, setup or source, from the file's name."""
    pure = PurePosixPath(path)
    name = pure.name.lower()
    if name.endswith("cmakelists.txt") or name.endswith((".cmake", ".cmake.in")):
        return "cmake"
    if name in _MAKE_NAMES or name.endswith((".mk", ".mak")) or name.startswith("makefile."):
        return "make"
    if name in {"setup.py", "pyproject.toml"}:
        return "setup"
    return "source"


def convert(text: str, path: str, kind: str, options: Options, project: ProjectFacts) -> BuildText:
    """Run the pass of a kind of build file."""
    built = _PASSES[kind](text, path, options, project)
    if options.rename:
        _rename(built, project)
    return built


def _rename(built: BuildText, project: ProjectFacts) -> None:
    """References to files that get another name, and pattern rules over their suffix."""
    for match in _SOURCE.finditer(built.original):
        name = PurePosixPath(match[1]).name
        if match[1].endswith("%.cu") or match[1] == "*.cu":
            fresh = match[1].removesuffix(".cu") + ".hip"
        elif name in project.renamed:
            fresh = match[1].removesuffix(name) + project.renamed[name]
        else:
            continue
        built.replace(match.start(1), match.end(1), fresh, "rename")
