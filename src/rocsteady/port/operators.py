"""Functions that a program defines because CUDA lacks them and HIP has already: two definitions are ambiguous.

Operators on vector and half types; atomic minimum, maximum and sum of floating point values.
"""

from __future__ import annotations

from rocsteady.port.context import Context
from rocsteady.port.tokens import Kind

_VECTORS = {f"{scalar}{width}" for scalar in ("float", "double", "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong", "longlong", "ulonglong") for width in (2, 3, 4)}  # fmt: skip
_HALVES = {"half", "__half", "half2", "__half2"}
_SCALARS = {"float", "double", "int", "unsigned", "uint", "short", "char", "long"}
_SYMBOLS = {"+", "-", "*", "/", "+=", "-=", "*=", "/=", "==", "!="}
_WORDS = {"const", "volatile", "__restrict__", "unsigned"}


def convert_operators(context: Context) -> None:
    """Switch off each such definition for HIP, whole lines only, and leave a note."""
    source = context.source
    for index in source.uses.get("operator", ()):
        symbol, opener = _symbol(context, index)
        if symbol not in _SYMBOLS or opener not in source.match or source.directive_of[index]:
            continue
        kinds = [_parameter(context, first, last) for first, last in source.arguments(opener)]
        vectors = {kind for kind in kinds if kind in _VECTORS or kind in _HALVES}
        same = (
            len(kinds) == 2
            and len(vectors) == 1
            and all(kind in vectors or (kind in _SCALARS and not vectors & _HALVES) for kind in kinds)
        )
        if not same or context.scope.path(index):
            continue
        if not any(note.rule == "vector-operators" for note in context.notes):
            context.note("vector-operators", index)  # one note stands for all operators of the file
        _switch_off(context, index, source.match[opener])
    _atomics(context)


def _atomics(context: Context) -> None:
    """`double atomicMax(double *, double)` and its like at file scope: HIP declares the same."""
    source = context.source
    for word in ("atomicAdd", "atomicMax", "atomicMin"):
        for index in source.uses.get(word, ()):
            closer = source.match.get(index + 1)
            if closer is None or source.word(closer + 1) != "{" or source.directive_of[index]:
                continue
            spans = source.arguments(index + 1)
            kinds = [_parameter(context, first, last) for first, last in spans]
            pointers = [any(source.word(at) == "*" for at in range(first, last + 1)) for first, last in spans]
            if (
                pointers == [True, False]
                and kinds in (["float", "float"], ["double", "double"])
                and source.word(index - 1) == kinds[0]
                and not context.scope.path(index)
                and _switch_off(context, index, closer)
            ):
                context.note("atomic-overload", index)


def _symbol(context: Context, index: int) -> tuple[str, int]:
    """The operator's symbol and the index of its parameter list."""
    source = context.source
    at, symbol = index + 1, ""
    while source.word(at) != "(" and at < index + 3:
        symbol += source.word(at)
        at += 1
    return symbol, at


def _parameter(context: Context, first: int, last: int) -> str:
    """The type of a parameter without qualifiers, when it is a single word."""
    source = context.source
    words = [
        source.word(at)
        for at in range(first, last + 1)
        if source.code[at].kind is Kind.IDENT and source.word(at) not in _WORDS
    ]
    return words[0] if words else ""


def _switch_off(context: Context, index: int, closer: int) -> bool:
    """Put `#if !defined(__HIPCC__)` around a definition; False where it does not fill whole lines."""
    source = context.source
    if any("HIP" in condition or "NVCC" in condition for condition in context.conditions.at(index)):
        return False  # the program does so itself
    body = closer + 1
    if source.word(body) != "{" or body not in source.match:
        return False
    first = index
    while first > 0 and source.word(first - 1) not in {";", "}", "{"} and not source.directive_of[first - 1]:
        first -= 1
    begin = source.line_starts[source.line_of(first) - 1]
    end_line = source.line_of(source.match[body])
    if end_line >= len(source.line_starts):
        return False
    end = source.line_starts[end_line]
    before, after = (
        source.text[begin : source.code[first].start],
        source.text[source.code[source.match[body]].end : end],
    )
    if before.strip() or after.strip():
        return False
    ending = "\r\n" if "\r\n" in source.text[:4096] else "\n"
    context.edits.add(begin, begin, f"#if !defined(__HIPCC__){ending}", "vector-operators")
    context.edits.add(end, end, f"#endif{ending}", "vector-operators")
    context.converted += 1
    return True
