"""Build the CUDA-to-HIP name tables of the port room from public packages.

Names are taken from declarations only; nothing of a header is copied.

    python tools/build_port_mapping.py --cuda 11.8=DIR --cuda 12.9=DIR --cuda 13.5=DIR \
        --hip 5.2=/usr/include/hip --hip 6.3=DIR --hip 10.0=DIR --interop DIR -o src/rocsteady/port/data/mapping

CUDA side: the header folders of NVIDIA's wheels (nvidia-cuda-runtime-cu11/-cu12, nvidia-cuda-runtime, nvidia-cuda-crt,
nvidia-cuda-nvrtc, nvidia-cublas, nvidia-cusparse, nvidia-cusolver, nvidia-curand, nvidia-cufft, nvidia-cudnn,
nvidia-nvtx, nvidia-nvml-dev, nvidia-nccl), unpacked. HIP side: a HIP installation's headers, header folders of ROCm
sources, and the unpacked `rocm-bindings-hip`, `-libraries`, `-systems` wheels; the version is the label before `=`.
`--interop` is the unpacked `hip-python-interop` wheel, whose `cimport A as B` lines are the vendor's own pairs.

A name's `hip_since` is the oldest label in which the HIP name was found, so `5.2` reads "5.2 or earlier".
`overrides.tsv` in the output folder is written by hand and wins over everything found here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
ENUM = re.compile(r"\benum\b[^;{]*\{([^}]*)\}", re.S)
ENUM_ITEM = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
IDENT = re.compile(r"\b[A-Za-z_]\w*")
PAIR = re.compile(r"from rocm\.bindings\.\w+ cimport (\w+) as (\w+)")
HEADER_SUFFIXES = {".h", ".hpp", ".cuh", ".inl", ".pxd", ".in"}


@dataclass(frozen=True)
class Family:
    """One library: which CUDA names belong to it and how its HIP names are spelled."""

    name: str
    headers: re.Pattern[str]
    names: re.Pattern[str]
    hip_header: str
    renames: tuple[tuple[str, str], ...] = ()


FAMILIES = (
    Family(
        "runtime",
        re.compile(r"cuda_runtime|driver_types|texture_types|surface_types|channel_desc|vector_|library_types|device_types|cuda_device_runtime|host_defines|cuda_gl|cuda_profiler"),
        re.compile(r"^(cuda[A-Z]\w*|CUDA_R_\w+|CUDA_C_\w+|CUDART_\w+|libraryPropertyType\w*)$"),
        "hip/hip_runtime.h",
        ((r"^cuda", "hip"), (r"^CUDA_", "HIP_")),
    ),
    Family(
        "driver",
        re.compile(r"(^|/)(cuda|cudaGL|cudaProfiler)\.h$"),
        re.compile(r"^(cu[A-Z]\w*|CU[a-z]\w*|CU_\w+|CUDA_[A-Z]\w*)$"),
        "hip/hip_runtime.h",
        ((r"_v[23]$", ""), (r"^cu", "hip"), (r"^CU_", "hip"), (r"^CU", "hip"), (r"^CUDA_", "HIP_")),
    ),
    Family("nvrtc", re.compile(r"nvrtc"), re.compile(r"^(nvrtc[A-Z]\w*|NVRTC_\w+)$"), "hip/hiprtc.h", ((r"^nvrtc", "hiprtc"), (r"^NVRTC_", "HIPRTC_"))),
    Family(
        "cublas",
        re.compile(r"cublas(_api|_v2|)\.h|cublasXt"),
        re.compile(r"^(cublas(?!Lt)\w+|CUBLAS_\w+)$"),
        "hipblas/hipblas.h",
        ((r"_v2(?=$|_64$)", ""), (r"^cublas", "hipblas"), (r"^CUBLAS_", "HIPBLAS_")),
    ),
    Family("cublaslt", re.compile(r"cublasLt"), re.compile(r"^(cublasLt\w+|CUBLASLT_\w+)$"), "hipblaslt/hipblaslt.h", ((r"^cublasLt", "hipblasLt"), (r"^CUBLASLT_", "HIPBLASLT_"))),
    Family("curand", re.compile(r"curand"), re.compile(r"^(_?curand_?\w+|CURAND_\w+)$"), "hiprand/hiprand.h", ((r"curand", "hiprand"), (r"^CURAND_", "HIPRAND_"))),
    Family("cufft", re.compile(r"cufft"), re.compile(r"^(cufft[A-Z]\w*|CUFFT_\w+)$"), "hipfft/hipfft.h", ((r"^cufft", "hipfft"), (r"^CUFFT_", "HIPFFT_"))),
    Family("cusparse", re.compile(r"cusparse"), re.compile(r"^(cusparse[A-Z]\w*|CUSPARSE_\w+)$"), "hipsparse/hipsparse.h", ((r"^cusparse", "hipsparse"), (r"^CUSPARSE_", "HIPSPARSE_"))),
    Family("cusolver", re.compile(r"cusolver"), re.compile(r"^(cusolver[A-Z]\w*|CUSOLVER_\w+)$"), "hipsolver/hipsolver.h", ((r"^cusolver", "hipsolver"), (r"^CUSOLVER_", "HIPSOLVER_"))),
    Family("cudnn", re.compile(r"cudnn"), re.compile(r"^(cudnn\w*|CUDNN_\w+)$"), "miopen/miopen.h", ((r"_v\d$", ""), (r"^cudnn", "miopen"))),
    Family("nvtx", re.compile(r"nvtx|nvToolsExt"), re.compile(r"^(nvtx[A-Z]\w*|NVTX_\w+)$"), "roctracer/roctx.h", ((r"^nvtx", "roctx"),)),
    Family("nvml", re.compile(r"nvml"), re.compile(r"^(nvml[A-Z]\w*|NVML_\w+)$"), "amd_smi/amdsmi.h"),
    Family("nccl", re.compile(r"nccl"), re.compile(r"^(nccl[A-Z]\w*|NCCL_\w+)$"), "rccl/rccl.h"),
    Family(
        "complex",
        re.compile(r"cuComplex"),
        re.compile(r"^(cuC\w+|cuFloat\w+|cuDouble\w+|make_cu\w+|cuComplex\w*)$"),
        "hip/hip_complex.h",
        ((r"^cu", "hip"), (r"^make_cu", "make_hip"), (r"cuComplex", "hipComplex")),
    ),
    Family(
        "constants",
        re.compile(r"math_constants"),
        re.compile(r"^CUDART_\w+$"),
        "hip/hip_math_constants.h",
        ((r"^CUDART_", "HIP_"),),
    ),
    Family(
        "device",
        re.compile(r"device_functions|intrinsics|device_atomic|atomic_functions|math_functions|device_double|cuda_fp|cuda_bf16|common_functions|cuda_pipeline|cuda_awbarrier|mma|sm_\d+"),
        re.compile(r"^(__\w+|atomic[A-Z]\w*|make_half\w*|half2?|nv_\w+|nvcuda|h[a-z0-9_]+|tex\w+|surf\w+)$"),
        "",
    ),
)  # fmt: skip
# Fixed differences in spelling that no prefix rule gives, tried as a last candidate.
SPELLINGS = (
    (r"^hipHostAlloc", "hipHostMalloc"),
    (r"^HIP_ERROR_", "hipError"),
    (r"^hipDevAttr", "hipDeviceAttribute"),
    (r"_st$", ""),
)


@dataclass
class Names:
    """Names of one side with the labels (versions) in which each was seen, oldest first."""

    seen: dict[str, list[str]] = field(default_factory=dict)
    kind: dict[str, str] = field(default_factory=dict)
    headers: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, label: str, kind: str, header: str) -> None:
        """Note that `name` occurs in `header` of version `label`."""
        labels = self.seen.setdefault(name, [])
        if label not in labels:
            labels.append(label)
        if kind != "type" or name not in self.kind:
            self.kind[name] = kind
        self.headers.setdefault(name, []).append(header)


def header_files(root: Path) -> Iterator[Path]:
    """Header-like files under `root`."""
    files = [root] if root.is_file() else sorted(root.rglob("*"))
    yield from (path for path in files if path.suffix in HEADER_SUFFIXES and path.is_file())


def declared(text: str) -> Iterator[tuple[str, str]]:
    """(name, kind) of everything a header mentions outside comments; kind is function, macro, constant or type."""
    text = COMMENT.sub(" ", text)
    macros = set(DEFINE.findall(text))
    constants = {name for body in ENUM.findall(text) for name in ENUM_ITEM.findall(re.sub(r"\([^()]*\)", "", body))}
    functions = set(FUNCTION.findall(text))
    for name in set(IDENT.findall(text)):
        if name in constants:
            yield name, "constant"
        elif name in functions:
            yield name, "function"
        elif name in macros:
            yield name, "macro"
        else:
            yield name, "type"


def read_side(sources: Iterable[str]) -> tuple[Names, list[str]]:
    """All names of one side; sources are LABEL=PATH with labels from old to new, a label may repeat."""
    names, labels = Names(), []
    for source in sources:
        label, _, path = source.partition("=")
        if label not in labels:
            labels.append(label)
        for header in header_files(Path(path)):
            for name, kind in declared(header.read_text(encoding="utf-8", errors="replace")):
                names.add(name, label, kind, header.as_posix())
    return names, labels


def vendor_pairs(root: Path) -> dict[str, str]:
    """CUDA name to HIP name from the `cimport A as B` lines of hip-python-interop."""
    pairs: dict[str, str] = {}
    for path in sorted(root.rglob("*.pxd")):
        for hip, cuda in PAIR.findall(path.read_text(encoding="utf-8")):
            pairs.setdefault(cuda, hip)
    return pairs


def hip_name(family: Family, name: str, hip: Names, pairs: dict[str, str]) -> str:
    """The HIP name of a CUDA name, or an empty string when none is declared anywhere."""
    if name in pairs and pairs[name] in hip.seen:
        return pairs[name]
    candidate, folded = name, {}
    if not family.renames:
        return name if name in hip.seen else ""
    for pattern, text in family.renames:
        candidate = re.sub(pattern, text, candidate)
        if candidate != name and candidate in hip.seen:
            return candidate
    for pattern, text in SPELLINGS:
        spelled = re.sub(pattern, text, candidate)
        if spelled in hip.seen and spelled != name:
            return spelled
    folded = {candidate.lower().replace("_", ""), (candidate + "_t").lower().replace("_", "")}
    for option in FOLDED_INDEX.get(next(iter(folded)), []) or [o for key in folded for o in FOLDED_INDEX.get(key, [])]:
        if option != name:
            return option
    return ""


FOLDED_INDEX: dict[str, list[str]] = {}


def rows(family: Family, cuda: Names, labels: list[str], hip: Names, pairs: dict[str, str]) -> Iterator[list[str]]:
    """Table rows of one family, sorted by CUDA name."""
    for name in sorted(cuda.seen):
        homes = [header.rsplit("/include/", 1)[-1] for header in cuda.headers[name]]
        header = next((home for home in homes if family.headers.search(home)), None)
        if header is None or not family.names.match(name):
            continue
        target = hip_name(family, name, hip, pairs)
        state = "unsupported" if not target else "same" if target == name else "renamed"
        if (
            family.name == "device"
            and state == "unsupported"
            and name.startswith(("__NV", "__CUDA", "__cuda", "__DEV", "__nv_is", "__SM", "__MATH", "__COMMON"))
        ):
            continue  # guards and internals of the headers
        if family.name == "device" and re.match(r"cu(C|Float|Double)|CUDART_", name):
            continue  # in tables of their own
        seen = cuda.seen[name]
        # A family that came from a single toolkit says nothing about when its names appeared or went.
        since = seen[0] if len(labels) > 1 and seen[0] != labels[0] else ""
        removed = (
            ""
            if seen[-1] == labels[-1] or family.name not in {"runtime", "driver"}
            else labels[labels.index(seen[-1]) + 1]
        )
        yield [name, target, cuda.kind[name], state, header if family.name == "device" else family.hip_header, since if family.name in {"runtime", "driver"} else "", removed, hip.seen[target][0] if target else ""]  # fmt: skip


def overridden(output: Path, tables: dict[str, list[list[str]]]) -> None:
    """Apply the hand-written `overrides.tsv`: family, cuda, hip, state; a name that is new to a family is added."""
    path = output / "overrides.tsv"
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        family, cuda, hip, state, header = line.split("\t")[:5]
        table = tables[family]
        row = next((row for row in table if row[0] == cuda), None)
        if row is None:
            row = [cuda, "", "type", "", "", "", "", ""]
            table.append(row)
        row[1], row[3] = hip, state
        if family in {"nvtx", "cudnn"}:
            row[7] = ""  # roctx and MIOpen are older than every set of headers read here
        row[4] = header or row[4] or next(f.hip_header for f in FAMILIES if f.name == family)
        table.sort()


def main(arguments: list[str] | None = None) -> int:
    """Write one table per family and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="append", required=True, metavar="VERSION=DIR")
    parser.add_argument("--hip", action="append", required=True, metavar="VERSION=DIR")
    parser.add_argument("--interop", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    cuda, labels = read_side(options.cuda)
    hip, _ = read_side(options.hip)
    for name in hip.seen:
        if name.startswith(("hip", "HIP")):
            FOLDED_INDEX.setdefault(name.lower().replace("_", ""), []).append(name)
    pairs = vendor_pairs(options.interop)
    options.output.mkdir(parents=True, exist_ok=True)
    tables = {family.name: list(rows(family, cuda, labels, hip, pairs)) for family in FAMILIES}
    overridden(options.output, tables)
    for family in FAMILIES:
        table = tables[family.name]
        lines = [
            "cuda\thip\tkind\tstate\theader\tcuda_since\tcuda_removed\thip_since",
            *("\t".join(row) for row in table),
        ]
        (options.output / f"{family.name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        counts = {state: sum(row[3] == state for row in table) for state in ("same", "renamed", "unsupported")}
        print(family.name, len(table), counts, file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
