"""Preprocessor conditions on CUDA versions, compilers and architectures."""

from __future__ import annotations

from rocsteady.port import versions
from rocsteady.port.context import Context, Unconverted
from rocsteady.port.headers import includes
from rocsteady.port.source import Directive

_VERSIONS = (
    "CUDA_VERSION",
    "CUDART_VERSION",
    "__CUDACC_VER_MAJOR__",
    "__CUDACC_VER_MINOR__",
    "CUDNN_VERSION",
    "CUB_VERSION",
    "CUBLAS_VERSION",
)
_BUILT_WITH = {"CUDA_VERSION", "CUDART_VERSION"}
"""Used as a value, they tell which toolkit the program was built with; HIP_VERSION does (hip/hip_version.h)."""
_CONDITIONS = {"if", "elif", "ifdef", "ifndef", "elifdef", "elifndef"}
_HIP_WORDS = {
    "__HIPCC__",
    "__HIP_PLATFORM_AMD__",
    "__HIP_PLATFORM_HCC__",
    "__HIP__",
    "__HIP_DEVICE_COMPILE__",
    "USE_ROCM",
    "__HIP_PLATFORM_NVIDIA__",
}


def convert_guards(context: Context) -> None:
    """Compiler macros become HIP's; comparisons of versions and architectures are named."""
    source = context.source
    for word, hip, rule in (
        ("__CUDACC__", "__HIPCC__", "guard-compiler"),
        ("__CUDA_ARCH__", "__HIP_DEVICE_COMPILE__", "guard-arch"),
    ):
        for index in source.uses.get(word, ()):
            directive = _directive(context, index)
            if word == "__CUDA_ARCH__" and directive is None:
                context.note("guard-arch-value", index)
                continue
            if directive is not None and directive.name in {"define", "undef"}:
                continue
            if directive is not None and _names_hip(context, directive):
                context.note(rule, directive.first, "left as it is, HIP has a branch of its own")
                continue
            plain = directive is None or _is_presence(context, directive, index)
            context.note(rule if plain else "guard-arch-value", index)
            if plain and context.replace(index, index, hip, "guard"):
                context.converted += 1
    for index in source.uses.get("__NVCC__", ()):
        directive = _directive(context, index)
        if directive is not None and directive.name in _CONDITIONS:
            context.note("guard-nvcc", directive.first)
    for word in _VERSIONS:
        for index in source.uses.get(word, ()):
            directive = _directive(context, index)
            if directive is not None and directive.name in {"define", "undef"}:
                continue
            if (
                directive is not None
                and word in versions.COMPARED
                and not _names_hip(context, directive)
                and versions.convert_version(context, directive, index)
            ):
                context.note("guard-version-hip", index)
                continue
            context.note("guard-version", index)
            if directive is None and word in _BUILT_WITH:
                if context.replace(index, index, "HIP_VERSION", "guard"):
                    context.converted += 1
            elif directive is None:
                context.unconverted.append(Unconverted(source.line_of(index), word))
    for index in source.uses.get("__CUDA_NO_HALF_OPERATORS__", ()):
        context.note("guard-version", index)


def _directive(context: Context, index: int) -> Directive | None:
    owner = context.source.directive_of[index]
    return context.source.directives[owner - 1] if owner else None


def _names_hip(context: Context, directive: Directive) -> bool:
    """Does the line, or another branch of its chain, deal with HIP already?"""
    source = context.source
    number = source.directives.index(directive)
    chain = context.conditions.chain(number)
    if any(
        source.word(at) in _HIP_WORDS
        for other in chain
        for at in range(source.directives[other].first, source.directives[other].last + 1)
    ):
        return True
    for include in includes(source):
        if (
            include.path.startswith("hip/")
            and source.directives[chain[0]].first < include.first < source.directives[chain[-1]].first
        ):
            return True
    return any(context.source.word(at) in _HIP_WORDS for at in range(directive.first, directive.last + 1))


def _is_presence(context: Context, directive: Directive, index: int) -> bool:
    """Is the macro only asked for, not compared? `#ifdef X`, `defined(X)`, `#if X`."""
    source = context.source
    if directive.name in {"ifdef", "ifndef", "elifdef", "elifndef"}:
        return True
    others = [at for at in range(directive.first, directive.last + 1) if source.word(at) == source.word(index)]
    return all(_asked(context, at) or _alone(at, directive) for at in others)


def _asked(context: Context, at: int) -> bool:
    before = context.source.word(at - 1)
    return before == "defined" or (before == "(" and context.source.word(at - 2) == "defined")


def _alone(at: int, directive: Directive) -> bool:
    return at == directive.first + 2 and at == directive.last
