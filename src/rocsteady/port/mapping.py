"""The CUDA-to-HIP name tables: built by `tools/build_port_mapping.py`, read here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Name:
    """One CUDA name.

    `state`: same, renamed, signature (the call changes too), unsupported (no HIP name), review (renamed, and a person
    must look). `hip_since` is the oldest HIP release in which the name was seen, "" where there is none.
    """

    cuda: str
    hip: str
    kind: str  # function, constant, macro, type
    state: str
    header: str
    cuda_since: str
    cuda_removed: str
    hip_since: str
    family: str


@dataclass(frozen=True, slots=True)
class Header:
    """One CUDA header; `state` as for names, `removed` where HIP needs nothing in its place."""

    cuda: str
    hip: str
    state: str
    rule: str


@cache
def names() -> dict[str, Name]:
    """All names by their CUDA spelling; where two families hold one, the supported entry wins."""
    table: dict[str, Name] = {}
    folder = files("rocsteady.port") / "data" / "mapping"
    for resource in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not resource.name.endswith(".tsv") or resource.name in {"overrides.tsv", "headers.tsv"}:
            continue
        family = resource.name.removesuffix(".tsv")
        for line in resource.read_text(encoding="utf-8").splitlines()[1:]:
            cuda, hip, kind, state, header, since, removed, hip_since = line.split("\t")
            name = Name(cuda, hip, kind, state, header, since, removed, hip_since, family)
            known = table.get(name.cuda)
            if known is None or (name.hip and not known.hip):
                table[name.cuda] = name
    return table


@cache
def headers() -> dict[str, Header]:
    """CUDA headers by the name that stands in the include line."""
    text = (files("rocsteady.port") / "data" / "mapping" / "headers.tsv").read_text(encoding="utf-8")
    return {header.cuda: header for header in (Header(*line.split("\t")[:4]) for line in text.splitlines()[1:])}


@cache
def hip_names() -> frozenset[str]:
    """Every HIP name that some CUDA name maps to."""
    return frozenset(name.hip for name in names().values() if name.hip)


def version(text: str) -> tuple[int, ...]:
    """A release as numbers, for comparing: "6.3" < "10.0"."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())
