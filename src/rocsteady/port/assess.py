"""`--assess`: how big is this port? Names by family, places by category, libraries to replace, build system, days."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from rocsteady.port import headers, mapping
from rocsteady.port.context import Options
from rocsteady.port.convert import Result
from rocsteady.port.report import Document
from rocsteady.port.source import Source
from rocsteady.port.tokens import Kind

SCHEMA = "rocsteady.port-assessment/1"
# What stands in for each library. "stays" needs nothing but a ROCm build of the same project.
_LIBRARIES = {
    "cudnn": ("cuDNN", "MIOpen", "rewrite: other calls and descriptors"),
    "cublas": ("cuBLAS", "hipBLAS", "renamed"),
    "cublaslt": ("cuBLASLt", "hipBLASLt", "renamed; fewer layouts and epilogues"),
    "curand": ("cuRAND", "hipRAND", "renamed; other sequences of numbers"),
    "cufft": ("cuFFT", "hipFFT", "renamed"),
    "cusparse": ("cuSPARSE", "hipSPARSE", "renamed"),
    "cusolver": ("cuSOLVER", "hipSOLVER", "renamed"),
    "nccl": ("NCCL", "RCCL", "same names, other header and library"),
    "nvtx": ("NVTX", "roctx", "renamed"),
    "nvml": ("NVML", "AMD SMI", "rewrite: other calls"),
    "nvrtc": ("NVRTC", "hiprtc", "renamed; other options"),
    "cub": ("CUB", "hipCUB", "namespace and header"),
}
_TEXT_LIBRARIES = (
    (re.compile(rb"#\s*include\s*[<\"](?:cutlass|cute)/"), "CUTLASS", "Composable Kernel", "rewrite"),
    (re.compile(rb"#\s*include\s*<thrust/"), "Thrust", "rocThrust", "same names"),
    (
        re.compile(rb"#\s*include\s*[<\"](?:ATen|c10|torch)/"),
        "PyTorch C++",
        "PyTorch for ROCm",
        "converts extension sources when it builds them",
    ),
    (re.compile(rb"#\s*include\s*<cuda/"), "libcu++", "libhipcxx", "not part of a standard ROCm installation"),
    (re.compile(rb"\bimport triton\b|@triton\.jit"), "Triton", "Triton", "stays"),
)


class Assessment(msgspec.Struct, frozen=True):
    """The JSON document of `port --assess`."""

    schema: str
    files_read: int
    files_with_cuda: int
    lines: int
    lines_with_cuda: int
    kernels: int
    launches: int
    names: dict[str, dict[str, int]]  # family -> uses, distinct, supported, newer, unsupported
    unsupported: dict[str, int]
    newer_rocm: dict[str, str]
    places: dict[str, dict[str, int]]  # category -> high, medium, low
    libraries: list[dict[str, str | int]]
    build: dict[str, int]
    already_hip: int
    effort: dict[str, object]
    targets: list[str]
    rocm: str


def assess(results: list[Result], document: Document, options: Options, extra: dict[str, bytes]) -> Assessment:
    """Count everything; `extra` holds further texts of the tree (Python sources) that may name libraries."""
    table = mapping.names()
    uses: dict[str, Counter[str]] = {}
    unsupported: Counter[str] = Counter()
    newer: dict[str, str] = {}
    kernels = launches = with_cuda = hip = 0
    libraries: Counter[tuple[str, str, str]] = Counter()
    build: Counter[str] = Counter()
    distinct: dict[str, set[str]] = {}
    for result in results:
        report = result.report
        if report.kind in {"cmake", "make", "setup"}:
            build[report.kind] += 1
            continue
        if report.structure == "none" or report.skipped:
            continue
        source = Source(result.before.decode("latin-1"), report.path)
        own = {entry.name for entry in report.unconverted}
        found_any = False
        for word, indices in source.uses.items():
            name = table.get(word)
            if name is None or (name.family == "device" and not name.hip and word not in own):
                continue
            if name.family == "device" and not any(source.is_call(index) for index in indices):
                continue
            found_any = True
            counter = uses.setdefault(name.family, Counter())
            counter["uses"] += len(indices)
            distinct.setdefault(name.family, set()).add(word)
            if not name.hip or name.state == "unsupported":
                counter["unsupported"] += len(indices)
                unsupported[word] += len(indices)
            elif name.hip_since and not options.rocm_at_least(name.hip_since):
                counter["newer"] += len(indices)
                newer[word] = name.hip_since
            else:
                counter["supported"] += len(indices)
        kernels += len(source.uses.get("__global__", ()))
        launches += sum(token.text == "<<<" for token in source.code if token.kind is Kind.PUNCT)
        with_cuda += report.lines if found_any or "__global__" in source.uses else 0
        hip += any(include.path.startswith("hip/") for include in headers.includes(source))
        _count_libraries(result.before, libraries)
    for data in extra.values():
        _count_libraries(data, libraries)
    for family, words in distinct.items():
        uses[family]["distinct"] = len(words)
        if family in _LIBRARIES:
            libraries[_LIBRARIES[family]] += uses[family]["uses"]
    cub = sum(report.families.get("cub", 0) for report in document.files)
    if cub:
        libraries[_LIBRARIES["cub"]] += cub
    places: dict[str, dict[str, int]] = {}
    for report in document.files:
        for note in report.reviews:
            row = places.setdefault(note.category, {"high": 0, "medium": 0, "low": 0})
            row[note.severity] += 1
    effort = document.summary["effort"]
    assert isinstance(effort, dict)
    return Assessment(
        SCHEMA,
        len(results),
        len(document.files),
        sum(result.report.lines for result in results),
        with_cuda,
        kernels,
        launches,
        {
            family: {key: counter.get(key, 0) for key in ("uses", "distinct", "supported", "newer", "unsupported")}
            for family, counter in sorted(uses.items())
        },
        dict(unsupported.most_common()),
        dict(sorted(newer.items())),
        dict(sorted(places.items(), key=lambda pair: -sum(pair[1].values()))),
        [
            {"cuda": cuda, "rocm": rocm, "how": how, "uses": count}
            for (cuda, rocm, how), count in sorted(libraries.items())
        ],
        dict(sorted(build.items())),
        hip,
        effort,
        list(options.targets),
        options.rocm,
    )


def _count_libraries(data: bytes, libraries: Counter[tuple[str, str, str]]) -> None:
    for pattern, cuda, rocm, how in _TEXT_LIBRARIES:
        count = len(pattern.findall(data))
        if count:
            libraries[(cuda, rocm, how)] += count


def as_json(assessment: Assessment) -> str:
    """The document, indented."""
    return msgspec.json.format(msgspec.json.encode(assessment), indent=1).decode() + "\n"


def as_text(found: Assessment) -> Iterator[str]:
    """The answer for a person."""
    if not found.files_with_cuda:
        yield "nothing to port\n"
        return
    yield f"{found.files_with_cuda} of {found.files_read} files hold something to port ({found.lines_with_cuda} of {found.lines} lines); {found.kernels} kernels, {found.launches} launches"
    yield f"; {found.already_hip} files include HIP already\n" if found.already_hip else "\n"
    yield f"target: ROCm {found.rocm}, {', '.join(found.targets)}\n\nnames by API family\n"
    yield f"  {'family':10} {'uses':>7} {'distinct':>9} {'supported':>10} {'newer ROCm':>11} {'no HIP':>7}\n"
    for family, row in found.names.items():
        yield f"  {family:10} {row['uses']:7} {row['distinct']:9} {row['supported']:10} {row['newer']:11} {row['unsupported']:7}\n"
    if found.unsupported:
        yield (
            "names without a HIP name: "
            + ", ".join(f"{name} ({count})" for name, count in found.unsupported.items())
            + "\n"
        )
    if found.newer_rocm:
        yield (
            "names that need a newer ROCm: "
            + ", ".join(f"{name} ({since})" for name, since in found.newer_rocm.items())
            + "\n"
        )
    yield f"\nplaces a person must look at\n  {'category':24} {'high':>5} {'medium':>7} {'low':>5}\n"
    for category, row in found.places.items():
        yield f"  {category:24} {row['high']:5} {row['medium']:7} {row['low']:5}\n"
    if found.libraries:
        yield "\nlibraries\n"
        for entry in found.libraries:
            yield f"  {entry['cuda']} -> {entry['rocm']}: {entry['how']} ({entry['uses']} uses)\n"
    if found.build:
        yield "\nbuild system: " + ", ".join(f"{kind} ({count} files)" for kind, count in found.build.items()) + "\n"
    yield f"\neffort: {found.effort['person_days']} person-days\n  basis: {found.effort['basis']}\n"
