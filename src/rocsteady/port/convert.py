"""One file through all passes."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from rocsteady.port import (
    atomics,
    buildfiles,
    calls,
    devices,
    fp8,
    guards,
    headers,
    lanes,
    libcalls,
    library,
    mapping,
    memory,
    mentions,
    names,
    operators,
    ptx,
    strings,
    warp,
)
from rocsteady.port.context import Context, Note, Options, ProjectFacts, Unconverted
from rocsteady.port.rules import rules
from rocsteady.port.scope import read_scope
from rocsteady.port.source import Source
from rocsteady.port.structure import read_structure

SOURCE_SUFFIXES = frozenset(
    {
        ".cu",
        ".cuh",
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".h",
        ".hpp",
        ".hh",
        ".hxx",
        ".inl",
        ".inc",
        ".ipp",
        ".tpp",
        ".hip",
        ".cui",
        ".ptx.h",
    }
)
# A file without any of these holds nothing for the passes; a plain search costs almost nothing.
_TRIGGER = re.compile(
    rb"cuda|CUDA|\bcu[A-Z]|\bCU[a-z_]|cublas|CUBLAS|cudnn|CUDNN|curand|CURAND|cufft|CUFFT|cusparse|CUSPARSE|cusolver|CUSOLVER|nvrtc|NVRTC|nvml|nvtx|nccl|__global__|__device__|__shared__|<<<|\bcub\b|thrust|nvcuda|cutlass|cute/|cooperative_groups|mma|__shfl|__syncwarp|__ballot|\basm\b|__nv_|__launch_bounds__|threadIdx|__NVCC__|warp|WARP|texture|__half|hip/"
)
# Own definitions of these are looked for beside the API names.
_OWN_WORDS = frozenset(
    [
        "__shfl",
        "__shfl_up",
        "__shfl_down",
        "__shfl_xor",
        "__shfl_sync",
        "__shfl_up_sync",
        "__shfl_down_sync",
        "__shfl_xor_sync",
        "__syncwarp",
        "__activemask",
        "__ballot_sync",
        "__any_sync",
        "__all_sync",
        "__launch_bounds__",
        "clock",
        "assert",
        "printf",
        "atomicAdd",
        "texture",
    ]
)
_REVIEWED = re.compile(r"rocsteady:\s*reviewed(?:\s+([\w-]+(?:\s*,\s*[\w-]+)*))?")


class FileReport(msgspec.Struct, frozen=True):
    """What happened to one file; the JSON contract's entry, with more keys."""

    path: str
    converted: int
    unconverted: list[Unconverted]
    reviews: list[Note]
    kind: str = "source"
    output: str | None = None
    lines: int = 0
    families: dict[str, int] = {}
    silenced: int = 0
    structure: str = "grammar"  # grammar, brackets (too large, or nothing to parse), none
    grammar_errors: list[int] = []
    skipped: str | None = None


@dataclass(frozen=True)
class Result:
    """The report of a file and its new bytes; `data` is the old ones where nothing changed."""

    report: FileReport
    before: bytes
    data: bytes

    @property
    def changed(self) -> bool:
        """Do the bytes differ?"""
        return self.before != self.data


def convert_bytes(data: bytes, path: str, options: Options, project: ProjectFacts | None = None) -> Result:
    """Convert the content of one file. `path` is relative to the source tree and decides how the file is read."""
    project = project or ProjectFacts()
    kind = buildfiles.kind_of(path)
    if b"\0" in data[:8192]:
        return Result(FileReport(path, 0, [], [], kind="binary", skipped="binary file"), data, data)
    text = data.decode("latin-1")
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    if kind != "source":
        built = buildfiles.convert(text, path, kind, options, project)
        reviews = sorted(built.notes)
        report = FileReport(
            path,
            built.converted,
            [],
            reviews,
            kind=kind,
            lines=lines,
            families={"build": built.converted} if built.converted else {},
        )
        return Result(_silence(report, text, options), data, built.text.encode("latin-1", "replace"))
    if not _TRIGGER.search(data) and not project.renamed:
        return Result(FileReport(path, 0, [], [], lines=lines, structure="none"), data, data)
    with _uncollected():
        context = run(text, path, options, project)
    new = context.edits.apply(text).encode("latin-1", "replace") if len(context.edits) else data
    structure = context.structure
    report = FileReport(
        path,
        context.converted,
        sorted(context.unconverted),
        sorted(context.notes),
        lines=lines,
        families=dict(sorted(context.families.items())),
        structure="grammar" if structure.parsed else "brackets",
        grammar_errors=structure.error_lines[:50],
    )
    return Result(_silence(report, text, options), data, new)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles while the tokens of one file pile up: they hold none, and it takes a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def run(text: str, path: str, options: Options, project: ProjectFacts) -> Context:
    """All passes over one source text, in the order in which they may rely on each other."""
    source = Source(text, path)
    table = mapping.names()
    wanted = {word for word in source.uses if word in table or word in _OWN_WORDS}
    context = Context(source, read_structure(source), read_scope(source, wanted), options, project)
    context.was_hip = any(include.path.startswith(("hip/hip_", "hip/hiprtc")) for include in headers.includes(source))
    mentions.find_mentions(context)
    memory.find_memory(context)
    devices.find_device_code(context)
    lanes.find_lane_numbers(context)
    ptx.convert_ptx(context)
    warp.convert_warp(context)
    atomics.convert_atomics(context)
    library.convert_library(context)
    fp8.convert_fp8(context)
    guards.convert_guards(context)
    strings.convert_strings(context)
    operators.convert_operators(context)
    calls.convert_calls(context)
    libcalls.convert_library_calls(context)
    names.convert_names(context)
    headers.convert_includes(context)
    return context


def _silence(report: FileReport, text: str, options: Options) -> FileReport:
    """Drop notes that a person has dealt with: a `rocsteady: reviewed` comment on the line or on the line above."""
    if not options.reviewed or "rocsteady:" not in text:
        return report
    marked: dict[int, set[str] | None] = {}
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        match = _REVIEWED.search(line)
        if match is None:
            continue
        which = {part.strip() for part in match[1].split(",")} if match[1] else None
        if which is not None and not which <= _known_words():
            which = None  # the words are a remark, not rules
        alone = line.strip().startswith(("//", "#", "/*"))
        marked[number + 1 if alone else number] = which
    kept = [
        note
        for note in report.reviews
        if note.line not in marked
        or (marked[note.line] is not None and not {note.rule, note.category} & (marked[note.line] or set()))
    ]
    return msgspec.structs.replace(report, reviews=kept, silenced=len(report.reviews) - len(kept))


def _known_words() -> set[str]:
    return {word for rule in rules().values() for word in (rule.id, rule.category)}


def output_name(path: str, options: Options) -> str:
    """The relative path of the output: the same, or with HIP's suffix when files are renamed."""
    if not options.rename:
        return path
    pure = PurePosixPath(path)
    if pure.suffix == ".cu":
        return str(pure.with_suffix(".hip"))
    if pure.suffix == ".cuh":
        return str(pure.with_suffix(".hip.h"))
    return path
