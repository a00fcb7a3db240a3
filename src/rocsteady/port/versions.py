"""Comparisons of the CUDA version: converted where the branch for the newer toolkit can be built for HIP.

HIP does not define `CUDA_VERSION`, so a comparison counts it as 0 and takes the branch for the oldest toolkit. Where every
name in the newer branch has a HIP form in the target release, the newer branch is the one that was meant: the line then
asks for the HIP release in which those names were first seen. Otherwise the line stays, and only its note tells.
"""

from __future__ import annotations

import re

from rocsteady.port import atomics, headers, mapping
from rocsteady.port.context import Context
from rocsteady.port.source import Directive
from rocsteady.port.tokens import Kind

COMPARED = ("CUDA_VERSION", "CUDART_VERSION")
_HIP_VERSION_HEADER = "hip/hip_version.h"
_OLDEST_KNOWN = "5.2"  # the oldest headers that the name tables were built from
# Release notes of ROCm 5.7 and 6.2: the headers came with them.
_HEADER_SINCE = {"hip/hip_bf16.h": "5.7", "hip/hip_fp8.h": "6.2"}
_FLIPPED = {">=": ">=", ">": ">=", "<": "<", "<=": "<"}
_MIRRORED = {">=": "<=", ">": "<", "<": ">", "<=": ">="}
_CUDA_LIKE = re.compile(r"(?:cuda|CUDA|cu[A-Z]|CU_|cublas|CUBLAS|cudnn|CUDNN|cusparse|CUSPARSE|nv|__nv|__NV|NV)\w*")
# Warp operations that a pass of their own converts, in each release.
_WARP = re.compile(r"__shfl(?:_up|_down|_xor)?_sync|__(?:ballot|any|all)_sync|__syncwarp")


def convert_version(context: Context, directive: Directive, index: int) -> bool:
    """Rewrite the comparison around `index`; False when it has another form or the newer branch cannot be built."""
    found = _comparison(context, directive, index)
    if found is None:
        return False
    first, last, operator = found
    branch = _newer_branch(context, directive, operator)
    since = None if branch is None else _since(context, *branch)
    if since is None or not context.options.rocm_at_least(since):
        return False
    major, minor = (int(part) for part in since.split(".")[:2])
    value = major * 10_000_000 + minor * 100_000  # the form of HIP_VERSION
    if not context.replace(first, last, f"HIP_VERSION {operator} {value}", "guard-version"):
        return False
    context.needs.add(_HIP_VERSION_HEADER)
    context.converted += 1
    return True


def _comparison(context: Context, directive: Directive, index: int) -> tuple[int, int, str] | None:
    """(first token, last token, `>=` or `<`) of the comparison, when the condition holds nothing else but brackets."""
    source = context.source
    same = [at for at in range(directive.first, directive.last + 1) if source.word(at) == source.word(index)]
    index = next((at for at in same if source.word(at + 1) in _FLIPPED or source.word(at - 1) in _MIRRORED), index)
    if source.word(index + 1) in _FLIPPED and source.code[index + 2].kind is Kind.NUMBER:
        first, last, operator = index, index + 2, _FLIPPED[source.word(index + 1)]
    elif source.word(index - 1) in _MIRRORED and source.code[index - 2].kind is Kind.NUMBER:
        first, last, operator = index - 2, index, _FLIPPED[_MIRRORED[source.word(index - 1)]]
    else:
        return None
    rest = [source.word(at) for at in range(directive.first + 2, directive.last + 1) if not first <= at <= last]
    defined = ["defined", "(", source.word(index), ")", "&&"]
    words = [word for word in rest if word not in {"(", ")"}]
    if words and words != [word for word in defined if word not in {"(", ")"}]:
        return None
    if words:  # `defined(X) && X >= N` asks one thing
        first, last = directive.first + 2, directive.last
    return first, last, operator


def _newer_branch(context: Context, directive: Directive, operator: str) -> tuple[int, int] | None:
    """Tokens of the branch that a new toolkit takes; None where the chain is longer than `#if`, `#else`, `#endif`."""
    source = context.source
    if directive.name != "if":
        return None
    chain = [source.directives[number] for number in context.conditions.chain(source.directives.index(directive))]
    names = [part.name for part in chain]
    if names == ["if", "endif"]:
        # Code for old toolkits only, with nothing in its place: a new toolkit builds nothing here.
        return (chain[0].last + 1, chain[1].first - 1) if operator == ">=" else (0, -1)
    if names == ["if", "else", "endif"]:
        start = 0 if operator == ">=" else 1
        return chain[start].last + 1, chain[start + 1].first - 1
    return None


def _since(context: Context, first: int, last: int) -> str | None:
    """The oldest release with all names between two tokens; None when one of them has no HIP form or is not known."""
    source, table = context.source, mapping.names()
    since = _OLDEST_KNOWN
    lines = set()
    for include in headers.includes(source):
        if first <= include.first <= last:
            to = headers.target(context, include)
            if to is not None and to.state == "unsupported":
                return None
            lines.add(source.directive_of[include.first])
            wanted = _HEADER_SINCE.get(to.hip if to is not None else "", _OLDEST_KNOWN)
            since = max(since, wanted, key=mapping.version)
    for at in range(first, last + 1):
        token = source.code[at]
        if source.directive_of[at] in lines:
            continue
        if token.kind is Kind.STRING and source.word(at - 1) in {"asm", "volatile", "("}:
            opener = at - 1 if source.word(at - 1) == "(" else 0
            if {"asm", "volatile", "__asm__"} & {source.word(opener - 1)}:
                return None  # PTX: its own pass decides, and not in every release
        if token.kind is not Kind.IDENT or token.text in atomics.CONVERTED:
            continue
        if _WARP.fullmatch(token.text):
            if context.options.warp == "native":
                return None
            continue
        name = table.get(token.text)
        if name is None:
            if _CUDA_LIKE.fullmatch(token.text) and token.text not in context.scope.own:
                return None
            continue
        if name.state in {"unsupported", "review"} or not name.hip:
            return None
        since = max(since, name.hip_since or since, key=mapping.version)
    return since
