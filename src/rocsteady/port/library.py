"""Libraries: namespaces and their aliases, CUB's warp width, tensor core code, launch bounds."""

from __future__ import annotations

from rocsteady.port.context import Context, Unconverted
from rocsteady.port.names import is_own
from rocsteady.port.tokens import Kind

_WARP_TEMPLATES = {"WarpReduce": 1, "WarpScan": 1, "WarpExchange": 2, "WarpLoad": 3, "WarpStore": 3, "WarpMergeSort": 2}
_SIMDS_PER_CU = 4
_WAVE = 64


def convert_library(context: Context) -> None:
    """All of it."""
    aliases = _namespaces(context)
    _warp_templates(context, aliases)
    _wmma(context)
    _launch_bounds(context)


def _namespaces(context: Context) -> set[str]:
    """`cub` to `hipcub`, in qualified names, aliases and using-directives. Returns the names that mean cub."""
    source = context.source
    meant = {alias for alias, target in context.scope.aliases.items() if target.split("::")[0] == "cub"} | {
        "cub",
        "hipcub",
    }
    for index in source.uses.get("cub", ()):
        before, after = source.word(index - 1), source.word(index + 1)
        if before in {"::", ".", "->"} and not (before == "::" and source.code[index - 2].kind is not Kind.IDENT):
            continue
        alias = before == "=" and source.word(index - 3) == "namespace"
        directive = before == "namespace" and source.word(index - 2) == "using"
        if before == "namespace" and after == "{":
            continue  # the program opens the namespace itself
        if after != "::" and not alias and not directive:
            continue
        if context.replace(index, index, "hipcub", "namespace"):
            context.converted += 1
            context.families["cub"] = context.families.get("cub", 0) + 1
        if alias or directive:
            context.note("library-namespace", index)
    for index in source.uses.get("thrust", ()):
        if [source.word(index + 1), source.word(index + 2)] == ["::", "cuda"] and context.replace(
            index + 2, index + 2, "hip", "namespace"
        ):
            context.converted += 1
    for index in source.uses.get("cuda", ()):
        if (
            source.word(index + 1) == "::"
            and source.word(index - 1) not in {"::", "namespace", ".", "->"}
            and not _own_namespace(context, "cuda")
        ):
            context.note("libcudacxx", index)
            context.unconverted.append(Unconverted(source.line_of(index), f"cuda::{source.word(index + 2)}"))
    if "cub" in context.scope.opened:
        meant.add("")
    return meant


def _own_namespace(context: Context, name: str) -> bool:
    return any(kind == "namespace" and found == name for _, _, kind, found in context.scope.path_at)


def _warp_templates(context: Context, meant: set[str]) -> None:
    """CUB's warp collectives take the hardware width when none is given: 64 on CDNA."""
    source = context.source
    for word, position in _WARP_TEMPLATES.items():
        for index in source.uses.get(word, ()):
            qualifier = source.word(index - 2) if source.word(index - 1) == "::" else ""
            if qualifier not in meant or source.word(index + 1) != "<":
                continue
            end = source.template_end(index + 1)
            if end is None:
                context.note("library-warp-width", index)
                continue
            count = 1 + _commas(context, index + 1, end)
            if count > position:
                continue  # the width is given
            context.note("library-warp-width", index)
            if word in {"WarpReduce", "WarpScan"}:
                context.insert_after(end - 1, ", 32", "library-warp-width")


def _commas(context: Context, first: int, last: int) -> int:
    source, depth, count, at = context.source, 0, 0, first + 1
    while at < last:
        word = source.word(at)
        if word in {"(", "[", "{"} and at in source.match:
            at = source.match[at]
        depth += (word == "<") - (word == ">")
        count += word == "," and depth == 0
        at += 1
    return count


def _wmma(context: Context) -> None:
    source = context.source
    for index in source.uses.get("nvcuda", ()):
        before = [source.word(index - 2), source.word(index - 1)]
        if before == ["using", "namespace"] and source.word(index + 1) == ";":
            context.note("wmma-namespace", index)
            if context.replace(index - 2, index + 1, "namespace wmma = rocwmma;", "wmma-namespace"):
                context.converted += 1
        elif before == ["using", "namespace"] and source.word(index + 2) == "wmma":
            context.note("wmma-namespace", index)
            context.replace(index, index + 2, "rocwmma", "wmma-namespace")
        elif [source.word(index + 1), source.word(index + 2)] == ["::", "wmma"]:
            context.note("wmma-namespace", index)
            if context.replace(index, index + 2, "rocwmma", "wmma-namespace"):
                context.converted += 1
        else:
            context.note("wmma-namespace", index)
    if "nvcuda" not in source.uses and "fragment" not in source.uses:
        return
    fragments = _fragments(context)
    for index in source.uses.get("num_elements", ()):
        context.note("wmma-layout", index)
    for name in fragments:
        for index in source.uses.get(name, ()):
            if source.word(index + 1) == "." and source.word(index + 2) == "x":
                context.note("wmma-layout", index)
    for word in (
        "experimental",
        "precision",
        "bmma_sync",
        "load_matrix_sync",
        "mma_sync",
        "store_matrix_sync",
        "fill_fragment",
    ):
        if word in {"experimental", "bmma_sync"}:
            for index in source.uses.get(word, ()):
                context.note("wmma-unsupported", index)


def _fragments(context: Context) -> set[str]:
    """Names of variables declared as `wmma::fragment<...> name`."""
    source = context.source
    found = set()
    for index in source.uses.get("fragment", ()):
        end = source.template_end(index + 1) if source.word(index + 1) == "<" else None
        if end is not None and end + 1 < len(source.code) and source.code[end + 1].kind is Kind.IDENT:
            found.add(source.word(end + 1))
    return found


def _launch_bounds(context: Context) -> None:
    """The second argument counts blocks per multiprocessor in CUDA and waves per SIMD in HIP."""
    source = context.source
    for index in source.uses.get("__launch_bounds__", ()):
        if not source.is_call(index) or is_own(context, "__launch_bounds__", index):
            continue
        spans = source.arguments(index + 1)
        if context.was_hip:
            continue
        if len(spans) == 1:
            context.note("launch-bounds-threads", index)
            continue
        context.note("launch-bounds", index)
        if len(spans) == 3:
            context.edits.add(source.code[spans[1][1]].end, source.code[spans[2][1]].end, "", "launch-bounds")
        threads, blocks = source.span(*spans[0]), source.span(*spans[1])
        if threads.isdigit() and blocks.isdigit() and context.options.wave64_only:
            waves = max(1, int(threads) * int(blocks) // (_WAVE * _SIMDS_PER_CU))
            context.replace(*spans[1], str(waves), "launch-bounds")
    for word in ("__maxnreg__", "__cluster_dims__", "__block_size__"):
        for index in source.uses.get(word, ()):
            context.note("launch-attribute", index)
