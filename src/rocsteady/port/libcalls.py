"""Library and device calls that need more than a new name: descriptors without a handle, extra arguments, packed atomics."""

from __future__ import annotations

import re

from rocsteady.port.context import Context
from rocsteady.port.names import is_own
from rocsteady.port.tokens import Kind

_OPAQUE = {
    f"cublasLt{kind}Opaque_t": f"hipblasLt{kind}_t" for kind in ("MatmulDesc", "MatrixLayout", "MatmulPreference")
}
_INIT = {f"cublasLt{kind}Init": f"hipblasLt{kind}Create" for kind in ("MatmulDesc", "MatrixLayout", "MatmulPreference")}
_PACKED = re.compile(r"\b(?:__)?half2\s*\*|\b(?:__)?nv_bfloat162\s*\*")
_TANH = {
    "h2tanh_approx": "__floats2half2_rn(tanhf(__low2float({0})), tanhf(__high2float({0})))",
    "h2tanh": "__floats2half2_rn(tanhf(__low2float({0})), tanhf(__high2float({0})))",
    "htanh_approx": "__float2half(tanhf(__half2float({0})))",
    "htanh": "__float2half(tanhf(__half2float({0})))",
}


def convert_library_calls(context: Context) -> None:
    """All of it; runs before the name pass and marks what it dealt with."""
    _opaque_descriptors(context)
    _triangular_solve(context)
    _packed_atomics(context)
    _half_tanh(context)


def _rename(context: Context, index: int, text: str) -> None:
    if context.replace(index, index, text, "library-call"):
        context.converted += 1
    context.handled.add(index)


def _opaque_descriptors(context: Context) -> None:
    """cuBLASLt lets the caller hold a descriptor by value; hipBLASLt has handles only, made by Create."""
    source = context.source
    variables: set[str] = set()
    for word, hip in _OPAQUE.items():
        for index in source.uses.get(word, ()):
            _rename(context, index, hip)
            context.note("signature-descriptor", index)
            at = index + 1
            while at < len(source.code) and source.word(at) not in {";", ")"}:
                if source.code[at].kind is Kind.IDENT and source.word(at - 1) in {word, ",", "*", "&"}:
                    variables.add(source.word(at))
                at += 1
    for word, hip in _INIT.items():
        for index in source.uses.get(word, ()):
            _rename(context, index, hip)
            context.note("signature-descriptor", index)
    for name in variables:
        for index in source.uses[name]:
            if source.word(index - 1) != "&" or source.word(index - 2) not in {"(", ","}:
                continue
            opener = index - 1
            while opener > 0 and source.word(opener) != "(":
                opener = (
                    source.match[opener] - 1 if source.word(opener) == ")" and opener in source.match else opener - 1
                )
            called = source.word(opener - 1)
            if called.startswith("cublasLt") and called not in _INIT:
                context.edits.add(source.code[index - 1].start, source.code[index - 1].end, "", "library-call")


def _triangular_solve(context: Context) -> None:
    """hipSPARSE's solve takes the buffer that the analysis got, as a last argument."""
    source = context.source
    for solve, analysis, count in (("cusparseSpSM_solve", "cusparseSpSM_analysis", 10),):
        buffers = [
            source.arguments(at + 1)[-1]
            for at in source.uses.get(analysis, ())
            if source.is_call(at) and source.arguments(at + 1)
        ]
        for index in source.uses.get(solve, ()):
            if not source.is_call(index) or len(source.arguments(index + 1)) != count:
                continue
            context.note("signature-buffer", index)
            texts = {source.span(*span) for span in buffers}
            if len(texts) == 1:
                context.insert_after(source.arguments(index + 1)[-1][1], f", {texts.pop()}", "library-call")


def _packed_atomics(context: Context) -> None:
    """atomicAdd on a pair of half values exists in HIP under the name that says what it risks."""
    source = context.source
    for index in source.uses.get("atomicAdd", ()):
        if not source.is_call(index) or is_own(context, "atomicAdd", index):
            continue
        spans = source.arguments(index + 1)
        if len(spans) == 2 and _PACKED.search(source.span(*spans[0])):
            context.note("atomics-packed", index)
            if context.options.rocm_at_least("6.0"):
                _rename(context, index, "unsafeAtomicAdd")


def _half_tanh(context: Context) -> None:
    """tanh of a half2, spelled out for a plain variable; HIP has no such function."""
    source = context.source
    for word, form in _TANH.items():
        for index in source.uses.get(word, ()):
            if not source.is_call(index) or is_own(context, word, index):
                continue
            context.note("half-tanh", index)
            first = index + 2
            if source.match[index + 1] == first + 1 and source.code[first].kind is Kind.IDENT:
                name = source.word(first)
                if context.replace(index, first + 1, form.format(name), "library-call"):
                    context.converted += 1
            context.handled.add(index)
