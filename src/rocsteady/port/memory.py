"""Memory: managed, coherent and shared; atomics and fences by scope; host loops that wait for a kernel."""

from __future__ import annotations

import re

from rocsteady.port.calls import talks_while_running
from rocsteady.port.context import Context
from rocsteady.port.names import is_own
from rocsteady.port.source import Source
from rocsteady.port.structure import Function
from rocsteady.port.tokens import Kind

_FLOATS = {"float", "double", "half", "__half", "half2", "__half2", "float2", "float4", "__nv_bfloat16", "nv_bfloat16"}
_FLOAT_ATOMICS = ("atomicAdd", "atomicSub", "atomicAdd_system", "unsafeAtomicAdd")
# 64 KiB of LDS per workgroup on every target of ours but gfx950 (160 KiB), which ROCm lists with its parts.
LDS_BYTES = 65536


def find_memory(context: Context) -> None:
    """All notes of this subject."""
    _float_atomics(context)
    _polls(context)
    _locks(context)
    _coherent_flags(context)
    _shared_sizes(context)
    _launch_sizes(context)


def _float_atomics(context: Context) -> None:
    """Floating point atomics where managed memory is in play: the fast instruction is wrong on it."""
    source = context.source
    managed = context.project.managed or any(
        word in source.uses for word in ("cudaMallocManaged", "__managed__", "cuMemAllocManaged", "hipMallocManaged")
    )
    if not managed:
        return
    for word in _FLOAT_ATOMICS:
        for index in source.uses.get(word, ()):
            if not source.is_call(index) or is_own(context, word, index):
                continue
            spans = source.arguments(index + 1)
            if len(spans) == 2 and _is_float(context, spans, index):
                context.note("atomics-managed", index)


def _is_float(context: Context, spans: list[tuple[int, int]], index: int) -> bool:
    """Is the target of an atomic floating point? Judged from the value's literal or the declared types of its names."""
    source = context.source
    value = source.span(*spans[1])
    if re.search(r"\b\d+\.\d*f?\b|\b\d+\.?f\b", value):
        return True
    function = context.structure.function_at(index)
    names = [
        source.word(at) for first, last in spans for at in range(first, last + 1) if source.code[at].kind is Kind.IDENT
    ]
    for name in names[:1] + names[-1:]:
        for use in source.uses.get(name, ()):
            if function is not None and not (function.params[0] < use < function.body[1]):
                continue
            before = [source.word(at) for at in range(max(0, use - 4), use)]
            if _FLOATS & set(before) and source.word(use + 1) in {",", ")", "=", ";", "["}:
                return True
    return False


def _polls(context: Context) -> None:
    """Host loops that read a volatile or atomic value until a kernel has written it."""
    source = context.source
    for index in source.uses.get("while", ()):
        function = context.structure.function_at(index)
        closer = source.match.get(index + 1)
        if function is None or function.where != "host" or closer is None:
            continue
        condition = [source.word(at) for at in range(index + 2, closer)]
        volatile = _volatile_names(source, function)
        reads = bool(volatile & set(condition)) or ("volatile" in condition)
        body = _loop_words(source, closer)
        # A loop with work in it is no wait; a pause, a yield or a query of the runtime is.
        idle = not any(word == "=" for word in body)
        if reads and idle and any(word in {"*", "[", "->", "."} or word in volatile for word in condition):
            context.note("host-device-poll", index)


def _volatile_names(source: Source, function: Function) -> set[str]:
    found = set()
    for index in source.uses.get("volatile", ()):
        inside = function.params[0] < index < function.body[1]
        if inside or not source.directive_of[index]:
            at = index + 1
            while at < index + 6 and source.word(at) not in {";", ",", ")", "=", "("}:
                at += 1
            if at > index + 1 and source.code[at - 1].kind is Kind.IDENT:
                found.add(source.word(at - 1))
    return found


def _loop_words(source: Source, closer: int) -> list[str]:
    if source.word(closer + 1) == "{" and closer + 1 in source.match:
        return [source.word(at) for at in range(closer + 2, source.match[closer + 1])]
    at, words = closer + 1, []
    while at < len(source.code) and source.word(at) != ";":
        words.append(source.word(at))
        at += 1
    return words


def _locks(context: Context) -> None:
    """Device loops that spin on an atomic: lanes of one wavefront do not advance on their own on AMD."""
    source = context.source
    spins = ("atomicCAS", "atomicExch", "atomicCAS_block", "atomicCAS_system", "ld_acquire", "atomicAdd")
    for index in source.uses.get("while", ()):
        closer = source.match.get(index + 1)
        if closer is None or not _on_device(context, index):
            continue
        condition = [source.word(at) for at in range(index + 2, closer)]
        body = _loop_words(source, closer)
        if any(word in spins[:4] for word in condition) and _short_condition(condition):
            context.note("spin-lock", index)
        elif not body and _volatile_read(source, context, condition, index):
            context.note("spin-wait", index)
        elif (
            "atomicCAS" in body
            and any(word in condition for word in ("!", "true", "1"))
            and "assumed" not in condition
            and not _compare_and_swap(body)
        ):
            context.note("spin-lock", index)
    for index in source.uses.get("do", ()):
        if source.word(index + 1) != "{" or index + 1 not in source.match or not _on_device(context, index):
            continue
        end = source.match[index + 1]
        condition_close = source.match.get(end + 2)
        if source.word(end + 1) != "while" or condition_close is None:
            continue
        condition = [source.word(at) for at in range(end + 3, condition_close)]
        body = [source.word(at) for at in range(index + 2, end)]
        if any(word in spins[:2] for word in condition) and not _compare_and_swap(body):
            context.note("spin-lock", index)


def _on_device(context: Context, index: int) -> bool:
    function = context.structure.function_at(index)
    return function is not None and function.where in {"kernel", "device", "both"}


def _short_condition(condition: list[str]) -> bool:
    """A lock swaps constants; a compare-and-swap update passes a computed value and is lock free."""
    text = " ".join(condition)
    return bool(
        re.search(
            r"atomic(?:CAS\w*) \( [^,]*, (?:\w*0\w*|-1|\w*(?:FREE|UNLOCK|free|unlock|empty|EMPTY)\w*) , |atomicExch\w* \( ",
            text,
        )
    )


def _compare_and_swap(body: list[str]) -> bool:
    return any(re.match(r"assumed|old|expected|prev|compare", word) for word in body)


def _volatile_read(source: Source, context: Context, condition: list[str], index: int) -> bool:
    function = context.structure.function_at(index)
    return function is not None and bool(
        _volatile_names(source, function) & set(condition) or "volatile" in condition or "__ldcg" in condition
    )


def _coherent_flags(context: Context) -> None:
    """Mapped host memory in a file with system-scope operations: noted where no call was edited."""
    source = context.source
    if not talks_while_running(context):
        return
    for word in ("cudaHostAllocMapped", "cudaHostRegisterMapped", "hipHostMallocMapped"):
        for index in source.uses.get(word, ()):
            if not source.directive_of[index] and "hipHostMallocCoherent" not in source.line_text(
                source.line_of(index)
            ):
                context.note("coherent-memory", index)


def _launch_sizes(context: Context) -> None:
    """A launch that asks for more dynamic shared memory than a workgroup has; literal products only."""
    source = context.source
    for launch in context.structure.launches:
        if len(launch.arguments) < 3:
            continue
        words = [source.word(at) for at in range(launch.arguments[2][0], launch.arguments[2][1] + 1)]
        if (
            not words
            or any(word != "*" for word in words[1::2])
            or not all(word.rstrip("uUlL").isdigit() for word in words[::2])
        ):
            continue
        total = 1
        for word in words[::2]:
            total *= int(word.rstrip("uUlL"))
        if total > LDS_BYTES:
            context.note("shared-memory-size", launch.opener, f"{total} bytes asked for")


def _shared_sizes(context: Context) -> None:
    """Opt-in to more shared memory than the default, and constants beyond what one workgroup has on AMD."""
    source = context.source
    words = (
        "cudaFuncAttributeMaxDynamicSharedMemorySize",
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "cudaFuncAttributePreferredSharedMemoryCarveout",
        "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT",
    )
    for word in words:
        for index in source.uses.get(word, ()):
            context.note("shared-memory-optin", index)
    for index in source.uses.get("__shared__", ()):
        at = index + 1
        sizes: list[int] = []
        kind = source.word(at)
        while at < index + 40 and source.word(at) not in {";", "=", ""}:
            if source.word(at) == "[" and source.word(at + 2) == "]" and source.word(at + 1).isdigit():
                sizes.append(int(source.word(at + 1)))
            at += 1
        width = {"double": 8, "float4": 16, "float2": 8, "int4": 16, "char": 1, "half": 2, "short": 2}.get(kind, 4)
        total = width
        for size in sizes:
            total *= size
        if sizes and total > LDS_BYTES:
            context.note("shared-memory-size", index, f"{total} bytes")
