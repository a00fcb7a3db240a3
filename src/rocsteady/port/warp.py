"""Warp-wide operations: shuffles, votes, matches, `__syncwarp`. Kept right for groups of 32 on 64 and on 32 lanes.

In the mode `keep32` a shuffle gets an explicit width of 32, and a vote becomes the half of the 64-bit ballot that
belongs to the thread's own group of 32. That is right when all lanes that the mask names reach the line, which is what
the notes ask a person to confirm. In the mode `native` nothing is edited here; the notes say what would change.
"""

from __future__ import annotations

import re

from rocsteady.port.context import Context
from rocsteady.port.names import is_own
from rocsteady.port.tokens import Kind

_SHUFFLES = {
    "__shfl_sync": "__shfl",
    "__shfl_up_sync": "__shfl_up",
    "__shfl_down_sync": "__shfl_down",
    "__shfl_xor_sync": "__shfl_xor",
}
_OLD_SHUFFLES = {"__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"}
_VOTES = {"__ballot_sync", "__any_sync", "__all_sync"}
_OLD_VOTES = {"__ballot", "__any", "__all"}
_MATCHES = {"__match_any_sync", "__match_all_sync"}
_COUNTS = {"__popc": "__popcll", "__ffs": "__ffsll", "__clz": "__clzll", "__brev": "__brevll"}
_UNSIGNED = {
    "unsigned",
    "int",
    "uint32_t",
    "uint",
    "auto",
    "unsigned int",
    "const unsigned",
    "const unsigned int",
    "const uint32_t",
    "const int",
    "const auto",
}
_FULL = re.compile(
    r"^(?:0[xX][fF]{8}(?:[fF]{8})?[uUlL]*|\(?~0[uUlL]*\)?|-1|\(unsigned(?: int)?\)-1|UINT_MAX|UINT32_MAX|__activemask\(\))$"
)
HALF = ">> (__lane_id() & 32u)"
# Names for the mask that say by themselves that it is full.
_FULL_NAMES = re.compile(r"(?:full|all)_?(?:warp_?)?(?:lane_?)?mask|warp_?full", re.I)


def convert_warp(context: Context) -> None:
    """All warp-wide operations of the file."""
    source = context.source
    native = context.options.warp == "native"
    for word in (*_SHUFFLES, *sorted(_OLD_SHUFFLES)):
        for index in source.uses.get(word, ()):
            if source.is_call(index) and not is_own(context, word, index):
                _shuffle(context, word, index, native)
    _matches(context, native)
    for word in sorted(_VOTES):
        for index in source.uses.get(word, ()):
            if source.is_call(index) and not is_own(context, word, index):
                _vote(context, word, index, native)
    for index in source.uses.get("__activemask", ()):
        if source.is_call(index) and not is_own(context, "__activemask", index):
            _activemask(context, index, native)
    if not context.was_hip:
        for word in sorted(_OLD_VOTES):
            for index in source.uses.get(word, ()):
                if source.is_call(index) and not is_own(context, word, index):
                    context.note("ballot-width", index, f"{word} without a mask looks at the whole wavefront")
    for index in source.uses.get("__syncwarp", ()):
        if source.is_call(index) and not is_own(context, "__syncwarp", index):
            _syncwarp(context, index, native)
    _redefined(context)
    _counts(context)
    _loops(context)


def _redefined(context: Context) -> None:
    """Definitions of warp operations by the program: they hide what every use of them does."""
    for word in (*_SHUFFLES, *sorted(_OLD_SHUFFLES), "__syncwarp", "__activemask", *sorted(_VOTES)):
        for own in context.scope.own.get(word, ()):
            if own.kind in {"macro", "function"}:
                context.note("warp-redefined", own.index)
        for index in context.source.uses.get(word, ()):
            if (
                context.source.is_call(index)
                and context.source.word(index - 1) not in {".", "->", "::"}
                and is_own(context, word, index)
            ):
                context.note("warp-redefined", index)


def mask_is_full(context: Context, first: int, last: int) -> bool:
    """Does a mask argument name all 32 lanes (or all that are active)?"""
    text = re.sub(r"\s+", "", context.source.span(first, last))
    if _FULL.match(text):
        return True
    if first == last and context.source.code[first].kind is Kind.IDENT:
        return bool(_FULL_NAMES.search(text)) or _constant_is_full(context, text)
    return False


def _constant_is_full(context: Context, name: str) -> bool:
    source = context.source
    for index in source.uses.get(name, ()):
        owner = source.directive_of[index]
        if owner and source.directives[owner - 1].name == "define" and source.word(index - 1) == "define":
            directive = source.directives[owner - 1]
            return directive.last > index and bool(
                _FULL.match(re.sub(r"\s+", "", source.span(index + 1, directive.last)).strip("()"))
            )
        if source.word(index + 1) == "=" and bool(_FULL.match(source.word(index + 2))):
            return True
    return False


def _uses_warp_size(context: Context, index: int) -> bool:
    """Does the code around follow the hardware's width by itself (`warpSize`)?"""
    function = context.structure.function_at(index)
    uses = context.source.uses.get("warpSize", ())
    if function is None:
        return False
    return any(function.body[0] < use < function.body[1] for use in uses)


def _shuffle(context: Context, word: str, index: int, native: bool) -> None:
    source = context.source
    spans = source.arguments(index + 1)
    masked = word in _SHUFFLES
    expected = 3 if masked else 2
    if len(spans) not in {expected, expected + 1}:
        context.note("warp-mask", index, "the arguments could not be told apart")
        return
    if not masked and (context.was_hip or len(spans) == 3):
        return
    follows = _uses_warp_size(context, index)
    full = not masked or mask_is_full(context, *spans[0])
    if masked:
        context.note("warp-mask" if full else "warp-mask-partial", index)
    else:
        context.note("warp-shuffle-width", index)
    if native:
        return
    if masked:
        context.replace(index, index, _SHUFFLES[word], "warp-shuffle")
        context.edits.add(source.code[spans[0][0]].start, source.code[spans[1][0]].start, "", "warp-shuffle")
        context.converted += 1
    if len(spans) == expected and not follows:
        context.insert_after(spans[-1][1], ", 32", "warp-shuffle")
    elif follows:
        context.note("warp-size-follows", index)
    context.handled.add(index)


def _vote(context: Context, word: str, index: int, native: bool) -> None:
    source = context.source
    spans = source.arguments(index + 1)
    context.note("ballot-width" if word == "__ballot_sync" else "vote-mask", index)
    if len(spans) != 2 or native:
        return
    mask = ""
    if not mask_is_full(context, *spans[0]):
        context.note("warp-mask-partial", index)
        mask = f" & (unsigned)({context.current(*spans[0])})"  # lanes outside the mask have no vote
    closer = source.match[index + 1]
    start, value = source.code[index].start, source.code[spans[1][0]].start
    opened = "((unsigned)(__ballot(" if not mask else "(((unsigned)(__ballot("
    half = f"{HALF})" if not mask else f"{HALF}){mask})"
    head, tail = {
        "__ballot_sync": (opened, f") {half})"),
        "__any_sync": (opened, f") {half} != 0u)"),
        "__all_sync": (f"{opened}!(", f")) {half} == 0u)"),
    }[word]
    if context.edits.add(start, value, head, "warp-vote"):
        context.replace(closer, closer, tail, "warp-vote")
        context.converted += 1


def _activemask(context: Context, index: int, native: bool) -> None:
    source = context.source
    start = source.code[index].start
    if context.edits.covers(start, source.code[index + 2].end) or index in context.handled:
        return  # part of a mask that went away, or of a match that was converted
    context.note("activemask", index)
    if not native and context.replace(index, source.match[index + 1], f"((unsigned)(__ballot(1) {HALF}))", "warp-vote"):
        context.converted += 1


def _syncwarp(context: Context, index: int, native: bool) -> None:
    """A fence, a barrier that the compiler may not move code over, a fence: what `__syncwarp` promises."""
    source = context.source
    closer = source.match[index + 1]
    context.note("syncwarp", index)
    if native or source.word(closer + 1) != ";":
        return
    calls = (
        '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");',
        "__builtin_amdgcn_wave_barrier();",
        '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");',
    )
    alone = source.word(index - 1) in {";", "{", "}"}
    if not source.statement_start(index):
        return
    start = source.code[index].start
    before = source.text[source.line_starts[source.line(start) - 1] : start]
    own_line = not before.strip() and alone and not source.directive_of[index]
    if own_line:
        text = f"\n{before}".join(calls)
        if "\r\n" in source.text[:4096]:
            text = text.replace("\n", "\r\n")
    else:
        text = " ".join(calls)
        if not alone:
            text = f"{{ {text} }}"
    if context.edits.add(start, source.code[closer + 1].end, text, "syncwarp"):
        context.converted += 1


def _declared(context: Context, index: int) -> tuple[str, int, int] | None:
    """`TYPE name = ` before the token at `index`: (name, first and last token of the type)."""
    source = context.source
    if source.word(index - 1) != "=" or source.code[index - 2].kind is not Kind.IDENT:
        return None
    at = index - 3
    while at >= 0 and source.code[at].kind is Kind.IDENT:
        at -= 1
    first, last = at + 1, index - 3
    if first > last or source.word(at) not in {";", "{", "}", "("}:
        return None
    return source.word(index - 2), first, last


def _matches(context: Context, native: bool) -> None:
    source = context.source
    for word in sorted(_MATCHES):
        for index in source.uses.get(word, ()):
            if not source.is_call(index) or is_own(context, word, index):
                continue
            context.note("match-any", index)
            declared = _declared(context, index)
            if native or context.was_hip or word != "__match_any_sync" or declared is None:
                continue
            _widen_match(context, index, *declared)


def _widen_match(context: Context, index: int, name: str, first: int, last: int) -> None:
    """Make mask, result, bit counts and lane number 64 bits wide together, or leave them all as they are."""
    source = context.source
    function = context.structure.function_at(index)
    spans = source.arguments(index + 1)
    if function is None or len(spans) != 2 or re.sub(r"\s+", " ", source.span(first, last)) not in _UNSIGNED:
        return
    if not mask_is_full(context, *spans[0]):
        return
    uses = [use for use in source.uses[name] if function.holds(use) and use != index - 2]
    if not all(
        source.word(use - 1) == "(" and source.word(use - 2) in _COUNTS and source.word(use + 1) == ")" for use in uses
    ):
        return
    context.replace(first, last, "unsigned long long", "match-any")
    active = source.word(spans[0][0]) == "__activemask"
    context.replace(*spans[0], "__ballot(1)" if active else "0xffffffffffffffffull", "match-any")
    context.handled.add(spans[0][0])
    for use in uses:
        context.replace(use - 2, use - 2, _COUNTS[source.word(use - 2)], "match-any")
        context.note("ballot-width", use, f"{name} holds a group of up to 64 lanes")
    for lane_first, lane_last in lane_numbers(context, function.body):
        context.replace(lane_first, lane_last, "__lane_id()", "match-any")
    context.converted += 1


def lane_numbers(context: Context, body: tuple[int, int]) -> list[tuple[int, int]]:
    """Spans of `threadIdx.x & 31` and `threadIdx.x % 32` in a function body."""
    source = context.source
    found = []
    for index in source.uses.get("threadIdx", ()):
        if body[0] < index < body[1] and [source.word(index + 1), source.word(index + 2)] == [".", "x"]:
            pair = (source.word(index + 3), source.word(index + 4))
            if pair in {("&", "31"), ("%", "32"), ("&", "0x1f"), ("&", "0x1F")}:
                found.append((index, index + 4))
    return found


def _counts(context: Context) -> None:
    """32-bit bit counts on a variable that holds a ballot, a match or an active mask."""
    source = context.source
    for word in ("__ballot_sync", "__activemask", "__ballot", "__match_any_sync"):
        for index in source.uses.get(word, ()):
            declared = _declared(context, index)
            function = context.structure.function_at(index)
            if declared is None or function is None or (word == "__ballot" and context.was_hip):
                continue
            for use in source.uses[declared[0]]:
                if function.holds(use) and source.word(use - 1) == "(" and source.word(use - 2) in _COUNTS:
                    context.note("ballot-width", use, f"{declared[0]} holds lanes of a group")


def _loops(context: Context) -> None:
    """Loops that walk a tree of 32 lanes: `for (off = 16; ...)` around a shuffle."""
    source = context.source
    shuffles = sorted(index for word in (*_SHUFFLES, *_OLD_SHUFFLES) for index in source.uses.get(word, ()))
    if not shuffles or (context.was_hip and "warpSize" in source.uses):
        return
    for index in source.uses.get("for", ()):
        closer = source.match.get(index + 1)
        if closer is None:
            continue
        words = [source.word(at) for at in range(index + 2, closer)]
        if not any(word in {"16", "32", "31"} or re.search(r"warp_?size", word, re.I) for word in words):
            continue
        end = _statement_end(context, closer + 1)
        if any(closer < shuffle <= end for shuffle in shuffles):
            context.note("warp-loop", index)


def _statement_end(context: Context, index: int) -> int:
    source = context.source
    if source.word(index) == "{" and index in source.match:
        return source.match[index]
    at = index
    while at < len(source.code) and source.word(at) != ";":
        at = source.match.get(at, at) if source.word(at) in {"(", "{", "["} else at
        at += 1
    return at
