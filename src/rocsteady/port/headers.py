"""Include lines: the right folder, the right order, none twice, and the runtime header where a keyword needs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from rocsteady.port import mapping
from rocsteady.port.conditions import is_guard
from rocsteady.port.context import Context
from rocsteady.port.source import Source
from rocsteady.port.tokens import Kind

RUNTIME = "hip/hip_runtime.h"
_KEYWORDS = frozenset(
    [
        "__global__",
        "__device__",
        "__host__",
        "__shared__",
        "__constant__",
        "__managed__",
        "__forceinline__",
        "__launch_bounds__",
        "threadIdx",
        "blockIdx",
        "blockDim",
        "gridDim",
        "__syncthreads",
        "dim3",
        "float2",
        "float3",
        "float4",
        "double2",
        "double3",
        "double4",
        "int2",
        "int3",
        "int4",
        "uint2",
        "uint3",
        "uint4",
        "char4",
        "uchar4",
        "short2",
        "ushort2",
        "atomicAdd",
    ]
)
_UNIT = {".cu", ".cuh", ".hip"}
_HEADER = {".h", ".hpp", ".hh", ".hxx"}
# Must stand behind the runtime header: with HIP 5.2 they do not compile before it.
_AFTER_RUNTIME = {"hip/hip_cooperative_groups.h"}
# Headers that bring the runtime with them.
_BRING_RUNTIME = {RUNTIME, "hip/hip_cooperative_groups.h", "hipcub/hipcub.hpp", "hiprand/hiprand_kernel.h"}
_TORCH = ("ATen/cuda/", "c10/cuda/")


@dataclass(frozen=True, slots=True)
class Include:
    """One include line; `start` and `end` span from the `#` to the closing quote or bracket."""

    line: int
    start: int
    end: int
    first: int
    path: str
    quoted: bool


def includes(source: Source) -> list[Include]:
    """All include lines with a literal path."""
    found = []
    for directive in source.directives:
        if directive.name not in {"include", "include_next", "import"} or directive.last < directive.first + 2:
            continue
        head = source.code[directive.first + 2]
        if head.kind is Kind.STRING and len(head.text) > 2:
            path, end, quoted = head.text[1:-1], head.end, True
        elif head.text == "<":
            close = source.text.find(">", head.end)
            if close < 0 or "\n" in source.text[head.end : close]:
                continue
            path, end, quoted = source.text[head.end : close], close + 1, False
        else:
            continue
        found.append(
            Include(
                source.line(source.code[directive.first].start),
                source.code[directive.first].start,
                end,
                directive.first,
                path,
                quoted,
            )
        )
    return found


def target(context: Context, include: Include) -> mapping.Header | None:
    """What an include line becomes; None when it is not CUDA's."""
    path = include.path
    if include.quoted and (
        path in context.project.own_headers or PurePosixPath(path).name in context.project.own_headers
    ):
        return None
    known = mapping.headers().get(path)
    if known is not None and known.hip == "hip/hip_bf16.h" and not context.options.rocm_at_least("5.7"):
        return mapping.Header(path, "hip/hip_bfloat16.h", known.state, known.rule)
    if known is not None:
        return known
    if path.startswith("cub/"):
        return mapping.Header(path, "hipcub/hipcub.hpp", "renamed", "cub-header")
    if path.startswith(("cutlass/", "cute/")):
        return mapping.Header(path, "", "unsupported", "cutlass-header")
    if path.startswith(("cuda/std/", "cuda/")) and not include.quoted:
        return mapping.Header(path, "", "unsupported", "libcudacxx")
    if path.startswith("thrust/system/cuda/"):
        return mapping.Header(path, path.replace("/cuda/", "/hip/", 1), "renamed", "thrust-header")
    if path.startswith("thrust/"):
        return mapping.Header(path, path, "same", "thrust-header")
    if path.startswith(_TORCH):
        return mapping.Header(path, path, "same", "torch-header")
    return None


def convert_includes(context: Context) -> None:
    """Rewrite include lines block by block, and add the runtime header where it is missing."""
    source = context.source
    lines = includes(source)
    targets = {include.first: target(context, include) for include in lines}
    present = {
        include.path for include in lines if targets[include.first] is None and not _conditional(context, include.first)
    }
    _notes(context, lines, targets)
    changed = [
        include for include in lines if (to := targets[include.first]) is not None and to.hip and to.hip != include.path
    ]
    missing = _missing(
        context, {include.path for include in lines} | {to.hip for to in targets.values() if to is not None and to.hip}
    )
    written = set(present)
    for block in _blocks(source, lines):
        slots = [include for include in block if include in changed]
        if not slots:
            continue
        wanted = [
            to.hip
            for include in slots
            if (to := targets[include.first]) is not None and not _unused(context, to.hip, lines)
        ]
        if missing and not _conditional(context, slots[0].first):
            wanted, missing = [*missing, *wanted], []
        _fill(context, slots, _ordered([path for path in dict.fromkeys(wanted) if path not in written]))
        written |= set(wanted) if not _conditional(context, slots[0].first) else set()
    if missing:
        _insert(context, lines, missing)
    for include in lines:
        if include.quoted and include.path in context.project.renamed:
            context.edits.add(
                include.start,
                include.end,
                source.text[include.start : include.end].replace(include.path, context.project.renamed[include.path]),
                "rename",
            )


def _unused(context: Context, header: str, lines: list[Include]) -> bool:
    """The bf16 header is missing in old HIP releases; a unit that names nothing of it does not need it."""
    source = context.source
    if header != "hip/hip_bf16.h" or source.suffix != ".cu" or any(include.quoted for include in lines):
        return False
    return not any("bf16" in word.lower() or "bfloat" in word.lower() for word in source.uses if word != "cuda_bf16")


def _notes(context: Context, lines: list[Include], targets: dict[int, mapping.Header | None]) -> None:
    for include in lines:
        to = targets[include.first]
        if to is not None and to.rule:
            context.note(to.rule, include.first, f"<{include.path}>" if to.state == "unsupported" else "")


def _blocks(source: Source, lines: list[Include]) -> list[list[Include]]:
    """Runs of include lines without a line between them."""
    blocks: list[list[Include]] = []
    for include in lines:
        bare = not source.line_text(include.line)[: include.start - source.line_starts[include.line - 1]].strip(
            "\xef\xbb\xbf \t"
        )
        if bare and blocks and blocks[-1][-1].line == include.line - 1:
            blocks[-1].append(include)
        else:
            blocks.append([include])
    return blocks


def _ordered(paths: list[str]) -> list[str]:
    paths = sorted(paths)
    late = [path for path in paths if path in _AFTER_RUNTIME]
    if late and RUNTIME in paths:
        for path in late:
            paths.remove(path)
        at = paths.index(RUNTIME) + 1
        paths[at:at] = late
    return paths


def _fill(context: Context, slots: list[Include], paths: list[str]) -> None:
    """Write the ordered headers into the places of the old ones; left-over places lose their line."""
    source = context.source
    ending = _line_end(source)
    for position, slot in enumerate(slots):
        last = position == len(slots) - 1
        mine = paths[position:] if last else paths[position : position + 1]
        if mine:
            text = ending.join(f"#include <{path}>" for path in mine)
            if text != source.text[slot.start : slot.end]:
                context.edits.add(slot.start, slot.end, text, "include")
        else:
            begin = source.line_starts[slot.line - 1]
            after = source.line_starts[slot.line] if slot.line < len(source.line_starts) else len(source.text)
            rest = source.text[slot.end : after].strip()
            if rest or source.text[begin : slot.start].strip():
                context.edits.add(slot.start, slot.end, "", "include")
            else:
                context.edits.add(begin, after, "", "include")
        context.converted += 1


def _line_end(source: Source) -> str:
    return "\r\n" if "\r\n" in source.text[:4096] else "\n"


def _missing(context: Context, have: set[str]) -> list[str]:
    """Headers that the converted file needs and nobody includes."""
    source = context.source
    wanted = []
    if not have & _BRING_RUNTIME:
        keywords = [
            index
            for word in _KEYWORDS & source.uses.keys()
            for index in source.uses[word]
            if not source.directive_of[index]
        ]
        plain = any(not _conditional(context, index) for index in keywords)
        if source.suffix in _UNIT:
            if keywords or context.needs or "<<<" in source.text:
                wanted.append(RUNTIME)
        elif source.suffix in _HEADER and plain:
            wanted.append(RUNTIME)
    if "hip/hip_math_constants.h" in context.needs and "hip/hip_math_constants.h" not in have:
        wanted.append("hip/hip_math_constants.h")
    version = "hip/hip_version.h"
    if version in context.needs and version not in have and not (have & _BRING_RUNTIME) and RUNTIME not in wanted:
        wanted.append(version)
    return wanted


def _conditional(context: Context, index: int) -> bool:
    """Is the line inside an `#if` other than the file's own include guard?"""
    return bool(context.conditions.at(index))


def _insert(context: Context, lines: list[Include], paths: list[str]) -> None:
    """Put new include lines before the first one, or behind the guard, or at the top."""
    source = context.source
    ending = _line_end(source)
    text = ending.join(f"#include <{path}>" for path in paths) + ending
    first = next((include for include in lines if not _conditional(context, include.first)), None)
    if first is not None:
        at = source.line_starts[first.line - 1]
        at = max(at, 3) if source.text.startswith("\xef\xbb\xbf") and first.line == 1 else at
    else:
        at = _behind_guard(source)
    context.edits.add(at, at, text, "include")
    context.converted += 1


def _behind_guard(source: Source) -> int:
    for position, directive in enumerate(source.directives[:3]):
        pragma_once = directive.name == "pragma" and source.word(directive.first + 2) == "once"
        guard = directive.name == "define" and position > 0 and is_guard(source, position - 1)
        if pragma_once or guard:
            line = source.line_of(directive.last)
            return source.line_starts[line] if line < len(source.line_starts) else len(source.text)
    if not source.code:
        return 0
    first = source.code[0]
    return source.line_starts[source.line(first.start) - 1] if first.start else 0
