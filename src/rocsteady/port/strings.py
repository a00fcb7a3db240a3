"""Strings that hold CUDA names or compiler options. Data is never changed; options of a run-time compiler are."""

from __future__ import annotations

import re

from rocsteady.port import mapping
from rocsteady.port.context import Context
from rocsteady.port.options import runtime_option
from rocsteady.port.tokens import Kind

_LOOKUPS = {
    "dlsym",
    "GetProcAddress",
    "cudaGetDriverEntryPoint",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cudaGetDriverEntryPointByVersion",
    "dlvsym",
    "lookup",
    "load_symbol",
}
_OPENERS = {"dlopen", "LoadLibrary", "LoadLibraryA"}
_NAME = re.compile(
    r"\b(?:cu[A-Z]\w+|cuda[A-Z]\w+|cublas[A-Z]\w+|cudnn[A-Z]\w+|nvrtc[A-Z]\w+|nccl[A-Z]\w+|nvml[A-Z]\w+|curand[A-Z]\w+|cufft[A-Z]\w+|cusparse[A-Z]\w+)\b"
)
_LIBRARY = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn|nvrtc|nvidia-ml|cufft|curand|cusparse|cusolver|nvToolsExt)\.so|nvcuda\.dll|cudart64"
)
_MESSAGE = re.compile(r"%[sdiuxlf0-9.]|[ :!]|\\n")


def convert_strings(context: Context) -> None:
    """Name strings that hold API names; change option strings that reach the run-time compiler."""
    source = context.source
    compiles = any(
        word in source.uses for word in ("nvrtcCompileProgram", "nvrtcCreateProgram", "hiprtcCompileProgram")
    )
    table = mapping.names()
    for index, token in enumerate(source.code):
        if token.kind is not Kind.STRING or _is_include(context, index):
            continue
        text = token.text
        if compiles and "__global__" in text:
            context.note("nvrtc-source", index)
            continue
        if compiles and text.startswith('"-'):
            _option(context, index)
        if len(text) < 6:
            continue
        if _LIBRARY.search(text):
            context.note("library-name", index)
            continue
        names = [name for name in _NAME.findall(text) if name in table or name.removesuffix("_v2") in table]
        if not names:
            continue
        if _called_with(context, index) & _LOOKUPS:
            context.note("dlsym-name", index)
        elif text[1:-1] == names[0] or not _MESSAGE.search(text):
            context.note("string-api-name", index)


def _is_include(context: Context, index: int) -> bool:
    owner = context.source.directive_of[index]
    return bool(owner) and context.source.directives[owner - 1].name in {
        "include",
        "include_next",
        "pragma",
        "error",
        "warning",
        "line",
    }


def _called_with(context: Context, index: int) -> set[str]:
    """Names of the calls whose argument list holds the string."""
    source, found, at, steps = context.source, set(), index - 1, 0
    while at >= 0 and steps < 40:
        word = source.word(at)
        if word == ")" and at in source.match:
            at = source.match[at]
        elif word == "(" and at > 0 and source.code[at - 1].kind is Kind.IDENT:
            found.add(source.word(at - 1))
        elif word in {";", "{", "}"}:
            break
        at -= 1
        steps += 1
    return found


def _option(context: Context, index: int) -> None:
    """An option of NVRTC in an array or a call."""
    source = context.source
    text = source.word(index)
    changed = runtime_option(text[1:-1], context.options.targets)
    if changed is None:
        return
    context.note("nvrtc-option", index)
    if changed and changed != text[1:-1]:
        context.replace(index, index, f'"{changed}"', "nvrtc-option")
        context.converted += 1
