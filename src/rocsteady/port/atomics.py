"""CUDA's atomic builtins with order and scope (12.8 and later): the compiler has the same with other names in HIP.

The scope may be missing in CUDA and is the system then; HIP wants it. Facts: CUDA C++ programming guide (atomic functions
with memory order and scope), clang's language extensions (`__hip_atomic_*`).
"""

from __future__ import annotations

from rocsteady.port.context import Context, Unconverted
from rocsteady.port.names import is_own

# CUDA builtin -> (HIP builtin, arguments without the scope).
_CALLS = {
    "__nv_atomic_load_n": ("__hip_atomic_load", 2),
    "__nv_atomic_store_n": ("__hip_atomic_store", 3),
    "__nv_atomic_exchange_n": ("__hip_atomic_exchange", 3),
    "__nv_atomic_fetch_add": ("__hip_atomic_fetch_add", 3),
    "__nv_atomic_fetch_and": ("__hip_atomic_fetch_and", 3),
    "__nv_atomic_fetch_or": ("__hip_atomic_fetch_or", 3),
    "__nv_atomic_fetch_xor": ("__hip_atomic_fetch_xor", 3),
    "__nv_atomic_fetch_min": ("__hip_atomic_fetch_min", 3),
    "__nv_atomic_fetch_max": ("__hip_atomic_fetch_max", 3),
}
_EXCHANGE = "__nv_atomic_compare_exchange_n"  # pointer, expected, desired, weak, order, order of a failure
_WORDS = {
    **{f"__NV_ATOMIC_{order}": f"__ATOMIC_{order}" for order in ("RELAXED", "CONSUME", "ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST")},
    "__NV_THREAD_SCOPE_THREAD": "__HIP_MEMORY_SCOPE_SINGLETHREAD",
    "__NV_THREAD_SCOPE_BLOCK": "__HIP_MEMORY_SCOPE_WORKGROUP",
    "__NV_THREAD_SCOPE_DEVICE": "__HIP_MEMORY_SCOPE_AGENT",
    "__NV_THREAD_SCOPE_SYSTEM": "__HIP_MEMORY_SCOPE_SYSTEM",
}  # fmt: skip
CONVERTED = frozenset({*_CALLS, _EXCHANGE, *_WORDS})
"""Names that this pass converts, in every release of HIP that the name tables know."""
_PREFIX = "__nv_atomic_"
_DEFAULT_SCOPE = ", __HIP_MEMORY_SCOPE_SYSTEM"


def convert_atomics(context: Context) -> None:
    """Builtins and the words for order and scope; other builtins of the family are listed as left."""
    source = context.source
    for word in [word for word in source.uses if word.startswith(_PREFIX)]:
        for index in source.uses[word]:
            if is_own(context, word, index):
                continue
            context.note("atomics-builtin", index, word)
            if not (source.is_call(index) and _call(context, word, index)):
                context.unconverted.append(Unconverted(source.line_of(index), word))
    for word, hip in _WORDS.items():
        for index in source.uses.get(word, ()):
            if not is_own(context, word, index) and context.replace(index, index, hip, "atomics-builtin"):
                context.converted += 1


def _call(context: Context, word: str, index: int) -> bool:
    source = context.source
    spans = source.arguments(index + 1)
    if word == _EXCHANGE:
        weak = source.span(*spans[3]) if len(spans) in {6, 7} else ""
        kind = {"true": "weak", "1": "weak", "false": "strong", "0": "strong"}.get(weak)
        if kind is None:
            return False
        hip, count = f"__hip_atomic_compare_exchange_{kind}", 6
        context.edits.add(source.code[spans[3][0]].start, source.code[spans[4][0]].start, "", "atomics-builtin")
    elif word in _CALLS and len(spans) in {_CALLS[word][1], _CALLS[word][1] + 1}:
        hip, count = _CALLS[word]
    else:
        return False
    if len(spans) == count:
        closer = source.match[index + 1]
        context.insert_before(closer, _DEFAULT_SCOPE, "atomics-builtin")
    context.replace(index, index, hip, "atomics-builtin")
    context.handled.add(index)
    context.converted += 1
    return True
