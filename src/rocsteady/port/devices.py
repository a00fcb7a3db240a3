"""What device code may do in CUDA and not, or otherwise, in HIP: launches, run-time calls, clocks, printf, groups."""

from __future__ import annotations

from rocsteady.port import mapping
from rocsteady.port.context import Context
from rocsteady.port.names import is_own
from rocsteady.port.structure import Function
from rocsteady.port.tokens import Kind

_DEVICE = {"kernel", "device", "both"}
_COLLECTIVES = {"shfl", "shfl_down", "shfl_up", "shfl_xor", "ballot", "any", "all", "match_any", "match_all", "thread_rank", "meta_group_rank", "meta_group_size", "num_threads", "sync", "size", "block_rank", "num_blocks", "group_index", "thread_index", "is_valid", "barrier_arrive", "barrier_wait"}  # fmt: skip
_GROUP_CALLS = {
    "reduce",
    "inclusive_scan",
    "exclusive_scan",
    "wait",
    "wait_prior",
    "memcpy_async",
    "sync",
    "invoke_one",
    "plus",
    "less",
    "greater",
    "bit_and",
    "bit_or",
}


def find_device_code(context: Context) -> None:
    """All notes of this subject."""
    _launches(context)
    _calls(context)
    _groups(context)
    _textures(context)


def _device_function(context: Context, index: int) -> Function | None:
    function = context.structure.function_at(index)
    return function if function is not None and function.where in _DEVICE else None


def _launches(context: Context) -> None:
    for launch in context.structure.launches:
        function = _device_function(context, launch.opener)
        if function is not None and function.where in {"kernel", "device"}:
            context.note("dynamic-parallelism", launch.opener)


def _calls(context: Context) -> None:
    source, table = context.source, mapping.names()
    for word in source.uses:
        name = table.get(word)
        runtime = name is not None and name.family == "runtime" and name.kind == "function"
        rule = (
            "dynamic-parallelism-call"
            if runtime
            else {
                "printf": "device-printf",
                "assert": "device-assert",
                "clock": "clock",
                "clock64": "clock",
                "__globaltimer": "clock",
            }.get(word)
        )
        if rule is None:
            continue
        for index in source.uses[word]:
            function = _device_function(context, index) if source.is_call(index) else None
            if function is None or is_own(context, word, index) or source.word(index - 1) == "::":
                continue
            if (runtime and function.where == "both") or (
                rule in {"device-printf", "device-assert"} and function.where == "both"
            ):
                continue  # `__host__ __device__` code: the host may be meant
            context.note(rule, index)


def _groups(context: Context) -> None:
    """Members of group objects, and the collective functions of the namespace."""
    source, scope = context.source, context.scope
    spaces = {alias for alias, target in scope.aliases.items() if target == "cooperative_groups"}
    if "cooperative_groups" in source.uses:
        spaces.add("cooperative_groups")
    if not spaces:
        return
    groups = _group_variables(context, spaces)
    for name in groups:
        for index in source.uses.get(name, ()):
            if source.word(index + 1) == "." and source.word(index + 2) in _COLLECTIVES:
                context.note("cg-member", index)
    for space in spaces:
        for index in source.uses.get(space, ()):
            if source.word(index + 1) == "::" and source.word(index + 2) in _GROUP_CALLS:
                context.note("cg-member", index)


def _group_variables(context: Context, spaces: set[str]) -> set[str]:
    """Names declared with a type or an initialiser of the namespace."""
    source = context.source
    found = set()
    for space in spaces:
        for index in source.uses.get(space, ()):
            if source.word(index + 1) != "::":
                continue
            at = index + 3
            if source.word(at) == "<" and (end := source.template_end(at)) is not None:
                at = end + 1
            while source.word(at) in {"&", "const"}:
                at += 1
            if at < len(source.code) and source.code[at].kind is Kind.IDENT and source.word(at) not in {"const"}:
                found.add(source.word(at))
            elif source.word(index - 1) == "=" and source.code[index - 2].kind is Kind.IDENT:
                found.add(source.word(index - 2))
    for builder in ("tiled_partition", "this_thread_block", "coalesced_threads", "this_grid"):
        for index in source.uses.get(builder, ()):
            if source.word(index - 1) == "=" and source.code[index - 2].kind is Kind.IDENT:
                found.add(source.word(index - 2))
    return found


def _textures(context: Context) -> None:
    """`texture<float, 2> t;`: a reference, and every fetch from it."""
    source = context.source
    for word in ("texture", "surface"):
        for index in source.uses.get(word, ()):
            if (
                source.word(index + 1) == "<"
                and source.template_end(index + 1) is not None
                and source.word(index - 1) not in {".", "->"}
            ):
                context.note("textures", index)
