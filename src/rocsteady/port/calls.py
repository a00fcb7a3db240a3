"""Calls whose shape differs in HIP, not only their name. Runs before the name pass and marks what it dealt with."""

from __future__ import annotations

from rocsteady.port.context import Context
from rocsteady.port.names import is_own

_FUNCTION_POINTER_FIRST = {
    "cudaFuncSetAttribute",
    "cudaFuncSetCacheConfig",
    "cudaFuncSetSharedMemConfig",
    "cudaLaunchKernel",
}
_LOCATION_CALLS = {"cudaMemPrefetchAsync": 5, "cudaMemAdvise": 5}
_CLASSES_IN_HIP = {
    "half",
    "half2",
    "__half",
    "__half2",
    "float2",
    "float3",
    "float4",
    "double2",
    "int2",
    "int3",
    "int4",
    "uint2",
    "uint4",
}
_HOST_FLAGS = {"cudaHostAllocMapped", "CU_MEMHOSTALLOC_DEVICEMAP"}


def convert_calls(context: Context) -> None:
    """Signature changes."""
    for word, change in _CHANGES.items():
        for index in context.source.uses.get(word, ()):
            if context.source.is_call(index) and not is_own(context, word, index):
                change(context, index)
    for index in context.source.uses.get("CUDART_CB", ()):
        _drop_word(context, index)
    for index in context.source.uses.get("__grid_constant__", ()):
        if not context.source.directive_of[index]:
            context.note("grid-constant", index)
            _drop_word(context, index)
    _callbacks(context)
    _brace_assignments(context)
    _dependent_templates(context)


def _rename(context: Context, index: int, hip: str) -> None:
    source = context.source
    closer = source.match[index + 1]
    discard = source.statement_start(index) and source.word(closer + 1) == ";"
    if context.replace(index, index, f"(void){hip}" if discard else hip, "signature"):
        context.converted += 1
        context.families["runtime"] = context.families.get("runtime", 0) + 1
        context.needs.add("hip/hip_runtime.h")
    context.handled.add(index)


def _graph_instantiate(context: Context, index: int) -> None:
    count = len(context.source.arguments(index + 1))
    if count == 3:
        _rename(context, index, "hipGraphInstantiateWithFlags")
        context.note("signature-graph-instantiate", index)
    elif count == 5:
        context.note("signature-graph-instantiate", index, "five arguments, the form before CUDA 12")
    else:
        context.note("signature-graph-instantiate", index, f"{count} arguments")


def _graph_update(context: Context, index: int) -> None:
    if len(context.source.arguments(index + 1)) == 3:
        context.note("signature-graph-update", index)


def _location(context: Context, index: int) -> None:
    """CUDA 13 puts a structure where a device number was, and a flags argument behind it."""
    word = context.source.word(index)
    spans = context.source.arguments(index + 1)
    if len(spans) == _LOCATION_CALLS[word]:
        context.note("signature-location", index, f"{word} in its CUDA 13 form")


def _func_attributes(context: Context, index: int) -> None:
    """HIP takes `const void*`; a kernel name converts to it only by a cast."""
    spans = context.source.arguments(index + 1)
    which = 1 if context.source.word(index) == "cudaFuncGetAttributes" else 0
    if len(spans) <= which:
        return
    first, last = spans[which]
    text = context.source.span(first, last)
    if "void" in text or context.source.word(first) in {"(", "reinterpret_cast", "static_cast"}:
        return
    if context.source.word(index) == "cudaLaunchKernel" and context.source.word(first) == "&":
        context.insert_before(first, "(const void*)", "signature")
        return
    context.insert_before(first, "reinterpret_cast<const void*>(", "signature")
    context.insert_after(last, ")", "signature")


def _host_alloc(context: Context, index: int) -> None:
    """Mapped memory that the two sides poll must be coherent; the flag says so whatever the environment."""
    source = context.source
    spans = source.arguments(index + 1)
    if len(spans) == 3 and not context.was_hip and talks_while_running(context):
        first, last = spans[2]
        words = {source.word(at) for at in range(first, last + 1)}
        if words & _HOST_FLAGS:
            context.insert_after(last, " | hipHostMallocCoherent", "coherent-memory")
            context.note("coherent-memory", index)


def talks_while_running(context: Context) -> bool:
    """Does the file hold system-scope operations, or a host loop that waits for a kernel?"""
    uses = context.source.uses
    return (
        "__threadfence_system" in uses
        or any(word.endswith("_system") and word.startswith("atomic") for word in uses)
        or "thread_scope_system" in uses
    )


def _drop_word(context: Context, index: int) -> None:
    """Delete a word with the blank behind it."""
    source = context.source
    start, end = source.code[index].start, source.code[index].end
    while end < len(source.text) and source.text[end] in " \t":
        end += 1
    context.edits.add(start, end, "", "signature")
    context.handled.add(index)
    context.converted += 1


def _brace_assignments(context: Context) -> None:
    """`x = {};` for a variable of a type that is a class in HIP and a plain structure in CUDA: ambiguous there."""
    source = context.source
    for index, token in enumerate(source.code):
        if (
            token.text != "{"
            or source.word(index + 1) != "}"
            or source.word(index + 2) != ";"
            or source.word(index - 1) != "="
        ):
            continue
        name = source.word(index - 2)
        if source.word(index - 3) not in {";", "{", "}", ")"}:
            continue
        for use in source.uses.get(name, ()):
            if use < index and source.word(use - 1) in _CLASSES_IN_HIP and source.word(use + 1) in {";", "=", ","}:
                context.insert_before(index, source.word(use - 1), "brace-assignment")
                context.converted += 1
                break


def _dependent_templates(context: Context) -> None:
    """`A<T>::f<n>(x)` in a function: nvcc lets the word `template` be missing, clang does not. The meaning is the same."""
    source = context.source
    for index, token in enumerate(source.code):
        if token.text != "::" or source.word(index - 1) != ">" or source.word(index + 2) != "<":
            continue
        end = source.template_end(index + 2)
        if end is None or source.word(end + 1) != "(" or context.structure.function_at(index) is None:
            continue
        if context.insert_before(index + 1, "template ", "dependent-template"):
            context.converted += 1


def _callbacks(context: Context) -> None:
    """CUDA's calling convention macro for callbacks of the driver API."""
    for index in context.source.uses.get("CUDA_CB", ()):
        _drop_word(context, index)


_CHANGES = {
    "cudaGraphInstantiate": _graph_instantiate,
    "cudaGraphExecUpdate": _graph_update,
    "cudaMemPrefetchAsync": _location,
    "cudaMemAdvise": _location,
    "cudaHostAlloc": _host_alloc,
    "cudaFuncGetAttributes": _func_attributes,
    **dict.fromkeys(sorted(_FUNCTION_POINTER_FIRST), _func_attributes),
}
