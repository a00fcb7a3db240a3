"""Options of nvcc and of NVRTC, and what hipcc and hiprtc take in their place."""

from __future__ import annotations

import re
from typing import NamedTuple


class Change(NamedTuple):
    """What an option becomes ("" = dropped) and the rule that explains it ("" = nothing to look at)."""

    text: str
    rule: str = ""


# Options that stand alone. Sources: nvcc's and clang's option references.
_PLAIN = {
    "--use_fast_math": Change("-ffast-math", "option-fast-math"),
    "-use_fast_math": Change("-ffast-math", "option-fast-math"),
    "-lineinfo": Change("-gline-tables-only"),
    "--generate-line-info": Change("-gline-tables-only"),
    "-G": Change("-g", "option-device-debug"),
    "--device-debug": Change("-g", "option-device-debug"),
    "--expt-relaxed-constexpr": Change(""),
    "-expt-relaxed-constexpr": Change(""),
    "--expt-extended-lambda": Change(""),
    "-expt-extended-lambda": Change(""),
    "--extended-lambda": Change(""),
    "-extended-lambda": Change(""),
    "-rdc=true": Change("-fgpu-rdc", "option-rdc"),
    "--relocatable-device-code=true": Change("-fgpu-rdc", "option-rdc"),
    "-dc": Change("-fgpu-rdc -c", "option-rdc"),
    "--device-c": Change("-fgpu-rdc -c", "option-rdc"),
    "-rdc=false": Change(""),
    "-dlink": Change("-fgpu-rdc --hip-link", "option-rdc"),
    "--ptxas-options=-v": Change(""),
    "-Xptxas=-v": Change(""),
    "-Xptxas -v": Change(""),
    "--resource-usage": Change("-Rpass-analysis=kernel-resource-usage"),
    "-res-usage": Change("-Rpass-analysis=kernel-resource-usage"),
    "--default-stream=per-thread": Change("-fgpu-default-stream=per-thread"),
    "-default-stream=per-thread": Change("-fgpu-default-stream=per-thread"),
    "--fmad=false": Change("-ffp-contract=off"),
    "-fmad=false": Change("-ffp-contract=off"),
    "--fmad=true": Change("-ffp-contract=fast"),
    "-fmad=true": Change("-ffp-contract=fast"),
    "--ftz=true": Change("-fgpu-flush-denormals-to-zero"),
    "-ftz=true": Change("-fgpu-flush-denormals-to-zero"),
    "--ftz=false": Change(""),
    "--prec-div=false": Change("-fno-hip-fp32-correctly-rounded-divide-sqrt", "option-precision"),
    "-prec-div=false": Change("-fno-hip-fp32-correctly-rounded-divide-sqrt", "option-precision"),
    "--prec-sqrt=false": Change("-fno-hip-fp32-correctly-rounded-divide-sqrt", "option-precision"),
    "-prec-sqrt=false": Change("-fno-hip-fp32-correctly-rounded-divide-sqrt", "option-precision"),
    "--prec-div=true": Change(""),
    "--prec-sqrt=true": Change(""),
    "--keep": Change("-save-temps"),
    "-keep": Change("-save-temps"),
    "--disable-warnings": Change("-w"),
    "-lcudart": Change("-lamdhip64"),
    "-lcudart_static": Change("-lamdhip64"),
    "-lcuda": Change("-lamdhip64"),
    "-lcublas": Change("-lhipblas"),
    "-lcublasLt": Change("-lhipblaslt"),
    "-lcurand": Change("-lhiprand"),
    "-lcufft": Change("-lhipfft"),
    "-lcusparse": Change("-lhipsparse"),
    "-lcusolver": Change("-lhipsolver"),
    "-lnvrtc": Change("-lhiprtc"),
    "-lnccl": Change("-lrccl"),
    "-lcudnn": Change("-lMIOpen", "option-library"),
    "-lnvToolsExt": Change("-lroctx64", "option-library"),
    "-lnvidia-ml": Change("-lamd_smi", "option-library"),
    "-lcudadevrt": Change("", "option-device-runtime"),
    "-lcuda_runtime": Change("-lamdhip64"),
}
_PATTERNS = (
    (
        re.compile(
            r"^(?:--?gpu-architecture|-arch|--arch|-code|--gpu-code)=(?:sm|compute|native|all|all-major|lto)\S*$"
        ),
        "arch",
    ),
    (re.compile(r"^(?:-gencode|--generate-code)[= ]\S+$"), "arch"),
    (re.compile(r"^--?maxrregcount[= ]\S+$"), "registers"),
    (re.compile(r"^(?:-Xptxas|--ptxas-options)[= ]\S+$"), "ptxas"),
    (re.compile(r"^(?:-Xcompiler|--compiler-options)[= ](\S+)$"), "host"),
    (
        re.compile(r"^(?:-Xcudafe|-Xlinker|-Xnvlink|--diag[_-]suppress|-diag-suppress|--nvlink-options)[= ]\S+$"),
        "front",
    ),
    (re.compile(r"^(?:-ccbin|--compiler-bindir)[= ]\S+$"), "ccbin"),
    (re.compile(r"^(?:--std|-std)=(\S+)$"), "std"),
    (re.compile(r"^(?:--threads|-t)[= ]?\d+$"), "threads"),
)


def compile_option(option: str, targets: tuple[str, ...]) -> Change | None:
    """What one nvcc option becomes for hipcc; None where it stays as it is."""
    known = _PLAIN.get(option)
    if known is not None:
        return known
    for pattern, kind in _PATTERNS:
        match = pattern.match(option)
        if not match:
            continue
        if kind == "arch":
            return Change(" ".join(f"--offload-arch={target}" for target in targets), "option-arch")
        if kind == "registers":
            return Change("", "option-registers")
        if kind == "ptxas":
            return Change("", "option-ptxas")
        if kind == "host":
            return Change(match[1].strip("\"'").replace(",", " "))
        if kind == "front":
            return Change("", "option-front-end")
        if kind in {"ccbin", "threads"}:
            return Change("")
        if kind == "std":
            return Change(f"-std={match[1]}") if option.startswith("--") else None
    return None


def runtime_option(option: str, targets: tuple[str, ...]) -> str | None:
    """The hiprtc form of an NVRTC option: "" where there is none, None where the string is no such option."""
    if option.startswith(("--gpu-architecture=", "-arch=")):
        return f"--offload-arch={targets[0]}"
    if option in {"--use_fast_math", "-use_fast_math"}:
        return "-ffast-math"
    if option in {"--fmad=false", "-fmad=false"}:
        return "-ffp-contract=off"
    if option in {"--fmad=true", "-fmad=true"}:
        return "-ffp-contract=fast"
    if option.startswith("--std="):
        return "-std=" + option.removeprefix("--std=")
    if option in {"--device-debug", "-G"}:
        return "-g"
    if option in {"--generate-line-info", "-lineinfo"}:
        return "-gline-tables-only"
    if option in {"--relocatable-device-code=true", "-rdc=true", "-dc"}:
        return "-fgpu-rdc"
    if option.startswith(
        (
            "--maxrregcount",
            "-maxrregcount",
            "--ptxas-options",
            "--device-as-default-execution-space",
            "-default-device",
            "--extra-device-vectorization",
        )
    ):
        return ""
    return None
