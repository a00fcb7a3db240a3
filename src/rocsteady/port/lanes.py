"""Numbers that assume 32 lanes: lane and group numbers, named warp sizes, first-warp tests, launches of one warp."""

from __future__ import annotations

import re

from rocsteady.port.context import Context
from rocsteady.port.source import Source
from rocsteady.port.structure import Function
from rocsteady.port.tokens import Kind

_PAIRS = {("&", "31"), ("&", "0x1f"), ("%", "32"), ("/", "32"), (">>", "5")}
_COMPARE = {("<", "32"), (">=", "32"), ("<=", "31"), (">", "31")}
_THREAD_ROOTS = {"threadIdx", "blockDim", "hipThreadIdx_x", "hipBlockDim_x"}
# Words that name a thread number or a count of threads whatever they were set from; `lane` and `warp` are results.
_THREAD_WORDS = re.compile(
    r"^(?:tid\w?|tx|thread_?(?:id|idx|num|rank)\w*|num_?threads\w*|n_?threads\w*|threads_?per_?block|block_?(?:size|dim)\w*|block_?threads|nthreads)$",
    re.I,
)
_OPERATIONS = ("__shfl", "__ballot", "__any_sync", "__all_sync", "__match", "__activemask", "__reduce_")
_WARP_WORD = re.compile(r"warp|wave_?size|lane", re.I)
_LANE_NAME = re.compile(r"(?:my_?|local_?|i)?(?:lane|warp)_?(?:id|idx|num|index|rank)?|w_?id|l_?id", re.I)
_WARP_VALUE = {"32", "32u", "32U", "5", "31", "0x1f", "0x1F"}


def find_lane_numbers(context: Context) -> None:
    """Name every place where 32 stands for the width of a warp."""
    source = context.source
    thread_words = _thread_words(context)
    for index, token in enumerate(source.code):
        if token.kind is Kind.NUMBER and token.text.rstrip("uU").lower() in {"31", "0x1f", "32", "5"}:
            _literal(context, index, thread_words)
    _definitions(context)
    _lane_functions(context)
    _warp_size(context)
    _single_warp_launches(context)
    _native_numbers(context)


def _literal(context: Context, index: int, thread_words: dict[Function | None, set[str]]) -> None:
    source = context.source
    value = source.word(index).rstrip("uU").lower()
    operator, before = _operator(source, index - 1)
    if operator in {"==", "!="}:
        return
    if (operator, value) in _PAIRS or (operator, value) in _COMPARE:
        if _is_shift_amount(source, index):
            return  # a bit number: 1 << (i & 31)
        words = _operand(source, before)
        local = thread_words.get(context.structure.function_at(index), set())
        if any(
            word in _THREAD_ROOTS or word in local or (_THREAD_WORDS.match(word) and word not in {"block_size"})
            for word in words
        ):
            context.note("lane-number" if (operator, value) in _PAIRS else "first-warp", index)
        elif (operator, value) in _PAIRS and _sets_lane(source, before):
            context.note("lane-number", index)
    elif operator == "+" and value == "32" and source.word(index + 1) == "]":
        function = context.structure.function_at(index)
        if function is not None and _volatile(source, function):
            context.note("warp-synchronous", index)


def _sets_lane(source: Source, at: int) -> bool:
    """Is the operand that ends at `at` all there is behind `lane =` or `warp_id =`? Then the name says what it is."""
    if source.word(at) == ")" and at in source.match:
        at = source.match[at] - 1
    else:
        while at > 0 and (source.code[at].kind is Kind.IDENT or source.word(at) in {".", "->", "::"}):
            at -= 1
    return source.word(at) == "=" and _LANE_NAME.fullmatch(source.word(at - 1)) is not None


def _is_shift_amount(source: Source, index: int) -> bool:
    """Is the expression that ends at `index` in brackets behind a shift?"""
    if source.word(index + 1) != ")" or index + 1 not in source.match:
        return False
    opener = source.match[index + 1]
    return source.word(opener - 1) == "<<" or (source.word(opener - 1) == ">" and source.word(opener - 2) == ">")


def _operator(source: Source, at: int) -> tuple[str, int]:
    """The operator that ends at `at` (shifts are two tokens when they could be brackets), and the token before it."""
    word = source.word(at)
    if word == ">" and source.word(at - 1) == ">" and source.code[at].start == source.code[at - 1].end:
        return ">>", at - 2
    if word == "(":  # x & (32 - 1)
        return "(", at - 1
    return word, at - 1


def _operand(source: Source, at: int) -> list[str]:
    """Identifiers of the operand that ends at a token: `a.b`, a bracket, or a name."""
    if source.word(at) == ")" and at in source.match:
        opener = source.match[at]
        words = [source.word(i) for i in range(opener + 1, at) if source.code[i].kind is Kind.IDENT]
        # A lane number that is moved on, `(lane + 1) % 32`, is a use of one, not a new one.
        return words
    words = []
    while at >= 0 and (source.code[at].kind is Kind.IDENT or source.word(at) in {".", "->", "::"}):
        if source.code[at].kind is Kind.IDENT:
            words.append(source.word(at))
            if source.word(at - 1) not in {".", "->", "::"}:
                break
        at -= 1
    return words


def _thread_words(context: Context) -> dict[Function | None, set[str]]:
    """Per function: variables set from thread numbers, but not those that already are lane or group numbers."""
    source = context.source
    found: dict[Function | None, set[str]] = {}
    for root in _THREAD_ROOTS & source.uses.keys():
        for index in source.uses[root]:
            at = index
            while at > 0 and source.word(at) not in {";", "{", "}", "="}:
                at -= 1
            if (
                source.word(at) != "="
                or source.code[at - 1].kind is not Kind.IDENT
                or source.word(at - 2) in {".", "->"}
            ):
                continue
            end = at
            while end < len(source.code) and source.word(end) not in {";", "{", "}"}:
                end += 1
            text = source.text[source.code[at].end : source.code[min(end, len(source.code) - 1)].start]
            if re.search(
                r"&\s*(31|0x1f)|%\s*(32|\w*[Ww]arp|\w*WARP)|/\s*(32|\w*[Ww]arp|\w*WARP)|>>\s*5|%\s*warpSize|[\[?]", text
            ):
                continue
            found.setdefault(context.structure.function_at(index), set()).add(source.word(at - 1))
    return found


def _volatile(source: Source, function: Function) -> bool:
    return any(function.params[0] < index < function.body[1] for index in source.uses.get("volatile", ()))


def _definitions(context: Context) -> None:
    """`#define WARP_SIZE 32`, `constexpr int kWarpSize = 32`, `template <int WARP = 32>`."""
    source = context.source
    for word, indices in source.uses.items():
        if not _WARP_WORD.search(word):
            continue
        for index in indices:
            owner = source.directive_of[index]
            if owner and source.directives[owner - 1].name == "define" and source.word(index - 1) == "define":
                body = (
                    source.span(index + 1, source.directives[owner - 1].last)
                    if source.directives[owner - 1].last > index
                    else ""
                )
                if body.strip("() \t") in _WARP_VALUE or re.fullmatch(
                    r"\(?\s*(32\s*-\s*1|1\s*<<\s*5|0[xX][fF]{8}[uUlL]*)\s*\)?", body
                ):
                    context.note("warp-size-constant", index)
            elif (
                source.word(index + 1) == "="
                and source.word(index + 2) in {"32", "32u", "32U"}
                and source.word(index + 3) in {";", ",", "}", ">"}
            ):
                context.note("warp-size-constant", index)


def _lane_functions(context: Context) -> None:
    """Uses of a helper that returns the PTX lane number: which lanes take a branch hangs on it."""
    source = context.source
    if "asm" not in source.uses and "__asm__" not in source.uses and "__asm" not in source.uses:
        return
    for function in context.structure.functions:
        text = source.span(*function.body)
        if "%laneid" not in text or function.where == "kernel" or function.body[1] - function.body[0] > 60:
            continue
        for index in source.uses.get(function.name, ()):
            if index != function.name_at and source.is_call(index) and not source.directive_of[index]:
                context.note("lane-function", index)


def _warp_size(context: Context) -> None:
    """`warpSize` where a constant is wanted: it is none from ROCm 7 on, and 64 on CDNA."""
    source = context.source
    for index in source.uses.get("warpSize", ()):
        if source.word(index - 1) in {".", "->"}:
            continue
        owner = source.directive_of[index]
        in_condition = owner and source.directives[owner - 1].name in {"if", "elif"}
        statement = index
        while statement > 0 and source.word(statement) not in {";", "{", "}"}:
            statement -= 1
        constant = source.word(statement + 1) in {"constexpr", "static_assert"} or (
            source.word(index + 1) == "]" and "__shared__" in [source.word(statement + 1), source.word(statement + 2)]
        )
        if in_condition or constant:
            context.note("warp-size-not-constant", index)


def _native_numbers(context: Context) -> None:
    """Lane and group numbers by warpSize beside operations that were kept to groups of 32."""
    source = context.source
    operations = [at for word, at in source.uses.items() if word.startswith(_OPERATIONS)]
    calls = sorted(index for indices in operations for index in indices)
    for index in source.uses.get("warpSize", ()):
        function = context.structure.function_at(index)
        before = index - 2 if source.word(index - 1) == "(" else index - 1
        if function is None or source.word(before) not in {"%", "/", "&"}:
            continue
        if any(function.holds(call) for call in calls) and any(
            word in _THREAD_ROOTS or _THREAD_WORDS.match(word) for word in _operand(source, before - 1)
        ):
            context.note("lane-number-native", index)


def _single_warp_launches(context: Context) -> None:
    """A launch of 32 threads for a kernel whose fragments need a whole wavefront."""
    source = context.source
    if "fragment" not in source.uses:
        return
    users = {
        function.name
        for function in context.structure.functions
        if function.where == "kernel" and any(function.holds(index) for index in source.uses["fragment"])
    }
    for launch in context.structure.launches:
        if launch.name not in users or len(launch.arguments) < 2:
            continue
        first, last = launch.arguments[1]
        if source.span(first, last) in {"32", "dim3(32)", "WARP_SIZE", "warpSize"}:
            context.note("wmma-launch", launch.opener)
            if source.span(first, last) == "32" and context.options.wave64_only and not context.was_hip:
                context.replace(first, last, "64", "wmma-launch")
                context.converted += 1
