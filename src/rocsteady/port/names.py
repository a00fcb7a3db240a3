"""API names: renamed by the tables, left alone where the program defines them, listed where HIP has none."""

from __future__ import annotations

import re

from rocsteady.port import mapping
from rocsteady.port.context import Context, Unconverted
from rocsteady.port.mapping import Name
from rocsteady.port.rules import by_name, by_prefix
from rocsteady.port.tokens import Kind

# Functions of runtime and driver that return no status, so that nothing is discarded by a bare call.
_NO_STATUS = {"cudaGetErrorString", "cudaGetErrorName", "cudaCreateChannelDesc", "cudaSetupArgument"}
_CUDA_NAMESPACES = {"cooperative_groups", "cub", "thrust", "nvcuda", "cuda", "wmma"}
_STATUS_FAMILIES = {"runtime", "driver"}
_FAMILY_RULE = {"cudnn": "library-cudnn", "nvml": "library-nvml"}
_OTHER_PASSES = frozenset(
    [
        "nvcuda",
        "__syncwarp",
        "__activemask",
        "__ballot_sync",
        "__any_sync",
        "__all_sync",
        "__match_any_sync",
        "__match_all_sync",
        "__shfl_sync",
        "__shfl_up_sync",
        "__shfl_down_sync",
        "__shfl_xor_sync",
        "CUDA_VERSION",
        "CUDART_VERSION",
        "__CUDACC__",
        "__CUDA_ARCH__",
    ]
)


def convert_names(context: Context) -> None:
    """Rename every API name of the file that is not the program's own."""
    table, source = mapping.names(), context.source
    noted: set[str] = set()
    shims = False
    for word in source.uses.keys() & table.keys():
        name = table[word]
        if name.state == "same" or word in _OTHER_PASSES:
            continue
        for index in source.uses[word]:
            if index in context.handled:
                continue
            if is_own(context, word, index):
                if word not in noted and _defined_here(context, word, index):
                    noted.add(word)
                    if source.directive_of[index]:
                        if shims:
                            continue  # one note stands for all macros of a file that redefine CUDA's names
                        shims = True
                    context.note("own-name", index)
                continue
            _convert_one(context, name, index)


def is_own(context: Context, word: str, index: int) -> bool:
    """Does the name at `index` belong to the program, not to CUDA?"""
    source, scope = context.source, context.scope
    before = source.word(index - 1)
    if before in {".", "->"}:
        return True
    if word in context.project.own_macros:
        return True
    if before == "::" and index > 1 and source.code[index - 2].kind is Kind.IDENT:
        qualifier = source.word(index - 2)
        if scope.aliases.get(qualifier, qualifier).split("::")[0] in _CUDA_NAMESPACES:
            return False
        return qualifier not in mapping.names() and not _keyword_before(qualifier)
    owns = scope.own.get(word)
    if not owns:
        return False
    if any(own.index == index for own in owns):
        return True
    owns = [own for own in owns if not _stands_in(context, own.index)]
    if not owns:
        return False
    if before == "::":
        return any(not own.path and own.kind == "function" for own in owns)
    here = scope.path(index)
    for own in owns:
        if own.kind == "macro" or (
            here[: len(own.path)] == own.path and (own.path or own.kind in {"function", "type"})
        ):
            return True
        if own.kind == "variable" and not own.path and _same_function(context, own.index, index):
            return True
        if own.path and "::".join(own.path) in scope.opened:
            return True
    return False


def _defined_here(context: Context, word: str, index: int) -> bool:
    """Is this the program's definition of the name? `#define cudaMalloc hipMalloc` is a shim, and no doubt at all."""
    if not any(own.index == index for own in context.scope.own.get(word, ())):
        return False
    source = context.source
    owner = source.directive_of[index]
    after = source.word(index + 1)
    return not (owner and after.startswith(("hip", "HIP", "__hip", "rocm", "ROCM", "roc")))


def _stands_in(context: Context, index: int) -> bool:
    """Is the definition a stand-in for an old toolkit or GPU? Under HIP its condition does not hold."""
    return any(
        re.search(r"__CUDA_ARCH__|CUDA_VERSION|CUDART_VERSION|__CUDACC_VER", condition)
        for condition in context.conditions.at(index)
    )


def _keyword_before(word: str) -> bool:
    return word in {"return", "case", "else", "throw", "co_return"}


def _same_function(context: Context, first: int, second: int) -> bool:
    one, two = context.structure.function_at(first), context.structure.function_at(second)
    return one is two


def _convert_one(context: Context, name: Name, index: int) -> None:
    source = context.source
    if not name.hip or name.state == "unsupported":
        if name.family == "device" and not _device_use(context, name, index):
            return
        if _spoken_for(name.cuda):
            return
        context.unconverted.append(Unconverted(source.line_of(index), name.cuda))
        context.families[name.family] = context.families.get(name.family, 0) + 1
        context.note(_FAMILY_RULE.get(name.family, "no-equivalent"), index, name.cuda)
        return
    hip = _spelled(context, name)
    text = hip
    if (
        name.family in _STATUS_FAMILIES
        and name.kind == "function"
        and name.cuda not in _NO_STATUS
        and source.is_call(index)
        and source.statement_start(index)
        and source.word(source.match[index + 1] + 1) == ";"
    ):
        text = f"(void){hip}"  # hipError_t is marked nodiscard
    if context.replace(index, index, text, "api-name"):
        context.converted += 1
        context.families[name.family] = context.families.get(name.family, 0) + 1
        if name.header:
            context.needs.add(name.header)
    context.handled.add(index)
    if name.family in _FAMILY_RULE:
        context.note(_FAMILY_RULE[name.family], index, name.cuda)
    elif name.state == "review" and not name.cuda.startswith("__"):
        context.note("api-review", index, f"{name.cuda} became {name.hip}")
    elif name.hip_since and not context.options.rocm_at_least(name.hip_since):
        context.note("api-newer-rocm", index, f"{name.hip} is known from HIP {name.hip_since} on")


def _spoken_for(word: str) -> bool:
    """Does a rule of its own, or a pass on warps and tensor cores, deal with the name?"""
    return word in _OTHER_PASSES or word in by_name() or any(word.startswith(prefix) for prefix, _ in by_prefix())


def _device_use(context: Context, name: Name, index: int) -> bool:
    """Only calls of intrinsics count; many words of NVIDIA's device headers are parameter names."""
    if name.kind != "function" or not context.source.is_call(index):
        return False
    if name.cuda.startswith(("__", "atomic", "tex", "surf")):
        return True
    # Half functions are plain words (`hmax`), so the file must use half or bfloat16 values.
    return len(name.cuda) > 4 and bool(
        {"__half", "half", "half2", "__half2", "__nv_bfloat16"} & context.source.uses.keys()
    )


def _spelled(context: Context, name: Name) -> str:
    """The HIP spelling for the target release."""
    # hipBLAS 2 (ROCm 6) keeps the calls with hipDataType arguments under a _v2 name; hipBLAS 3 made them the plain ones.
    if name.hip in _HIPBLAS_V2 and context.options.rocm_at_least("6.0") and not context.options.rocm_at_least("7.0"):
        return f"{name.hip}_v2"
    if name.cuda in _BF16 and not context.options.rocm_at_least("5.7"):
        return "hip_bfloat16"  # the type with the other name and its header came with ROCm 5.7
    return name.hip


_BF16 = frozenset({"__nv_bfloat16", "nv_bfloat16"})
_HIPBLAS_V2 = frozenset(
    {"hipblasGemmEx", "hipblasGemmBatchedEx", "hipblasGemmStridedBatchedEx", "hipblasTrsmEx", "hipblasAxpyEx", "hipblasDotEx", "hipblasDotcEx", "hipblasNrm2Ex", "hipblasRotEx", "hipblasScalEx"}
)  # fmt: skip
