"""The tables beside the failure modes: settings, GPU parts, compatibility. One file each, one row a line.

Every row names its source and the day it was read. Absent means "not found", never "not supported".
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import yaml

DATA = Path(__file__).parent / "data"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """An environment variable, engine flag, module, kernel or sysctl parameter.

    ``status``: exists, removed (``removed`` says since when), folklore (people set it, no component reads it).
    """

    id: str
    name: str
    kind: str
    status: str
    component: str | None = None
    type: str | None = None
    allowed: str | None = None
    default: str | None = None
    since: str | None = None
    removed: str | None = None
    source: str | None = None
    retrieved: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU product. Peak figures are dense and vendor-stated; absent ones were not found in a source we opened."""

    id: str
    product: str
    gfx: str
    retrieved: str
    sources: tuple[str, ...] = ()
    architecture: str | None = None
    pci_device_ids: tuple[str, ...] = ()
    memory_gib: float | tuple[float, ...] | None = None
    driver_visible_total: str | None = None
    memory_type: str | None = None
    hbm_stacks: int | str | None = None
    xcds: int | str | None = None
    gcds: int | str | None = None
    rocm_devices_per_card: int | str | None = None
    compute_units: int | str | None = None
    wavefront_size: int | str | None = None
    lds_kib: int | str | None = None
    l3_mib: float | str | None = None
    fp8_format: str | None = None
    max_pcie_gen: float | str | None = None
    xgmi: dict[str, str | float | None] | str | None = None
    peak_memory_bandwidth_tb_s: float | str | None = None
    peak_tflops: dict[str, float | str | None] = {}
    tdp_w: float | str | None = None


class System(msgspec.Struct, frozen=True, kw_only=True):
    """An operating system that a ROCm release lists. ``version`` may be a range: ``8.6 to 8.7``."""

    name: str
    version: str = ""
    kernel: str | None = None
    only: str | None = None
    source: str


class GpuSupport(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU target in a release's table."""

    gfx: str
    support: str
    product: str | None = None
    source: str | None = None


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """One ROCm release. Empty tables mean that no table of its own was found."""

    id: str
    version: str
    retrieved: str
    stream: str | None = None
    released: str | None = None
    source: str | None = None
    systems: tuple[System, ...] = ()
    gpus: tuple[GpuSupport, ...] = ()
    pytorch: tuple[str, ...] = ()
    pytorch_source: str | None = None
    drivers: tuple[str, ...] = ()
    tested_user_space: tuple[str, ...] = ()
    driver_source: str | None = None


class DriverTested(msgspec.Struct, frozen=True, kw_only=True):
    """User spaces that AMD tested with one driver release."""

    driver: str
    user_space: tuple[str, ...]
    source: str
    retrieved: str


class EngineBuild(msgspec.Struct, frozen=True, kw_only=True):
    """Which ROCm and PyTorch a stretch of vLLM releases was built or documented with."""

    id: str
    vllm: str
    rocm: str
    kind: str
    retrieved: str
    pytorch: str | None = None
    source: str | None = None


class Quantization(msgspec.Struct, frozen=True, kw_only=True):
    """Quantization methods that a vLLM release accepts on ROCm at start-up."""

    vllm: str
    methods: tuple[str, ...]
    source: str
    retrieved: str


class TorchPin(msgspec.Struct, frozen=True, kw_only=True):
    """The torch that the CUDA wheel of a vLLM release pins: only for recognising such a wheel."""

    vllm: str
    torch: str


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """The compatibility tables."""

    rocm: tuple[Release, ...]
    driver_tested: tuple[DriverTested, ...]
    vllm: tuple[EngineBuild, ...]
    vllm_quantization: tuple[Quantization, ...]
    vllm_cuda_torch: tuple[TorchPin, ...]


class _Settings(msgspec.Struct):
    settings: tuple[Setting, ...]


class _Parts(msgspec.Struct):
    parts: tuple[Part, ...]


@cache
def settings() -> tuple[Setting, ...]:
    """All settings, by kind and name."""
    return msgspec.json.decode((DATA / "settings.json").read_bytes(), type=_Settings).settings


@cache
def parts() -> tuple[Part, ...]:
    """All GPU products."""
    return msgspec.json.decode((DATA / "parts.json").read_bytes(), type=_Parts).parts


@cache
def compat() -> Compat:
    """The compatibility tables."""
    return msgspec.json.decode((DATA / "compat.json").read_bytes(), type=Compat)


def part_by_device(device: str) -> Part | None:
    """The product with this PCI device id (hexadecimal, without 0x); None when none or several have it."""
    found = [p for p in parts() if device.lower() in p.pci_device_ids]
    return found[0] if len(found) == 1 else None


def find_part(text: str) -> Part | None:
    """The product that a person means: ``mi300x``, ``MI210``, ``w7900``, ``Instinct MI250X``."""
    wanted = "".join(c for c in text.lower() if c.isalnum())
    if not wanted:
        return None
    names = [("".join(c for c in p.id if c.isalnum()), p) for p in parts()]
    for name, part in names:
        if name == wanted:
            return part
    ends = [p for name, p in names if name.endswith(wanted)]
    return ends[0] if ends else None


def find_settings(name: str) -> list[Setting]:
    """Settings with this name (case ignored), of whatever kind: ``amdgpu.noretry``, ``--max-model-len``, a variable."""
    wanted = name.lower().lstrip("-")
    return [s for s in settings() if s.name.lower().lstrip("-") == wanted]


class ClaimExamples(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that follow the claim, near misses, and lines that do not tell."""

    bad: tuple[str, ...]
    good: tuple[str, ...]
    unknown: tuple[str, ...]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A popular recommendation and what was found when it was checked at its source."""

    id: str
    slug: str
    claim: str
    verdict: Literal["confirmed", "partly", "contradicted", "no-trace", "removed", "redundant"]
    truth: str
    pattern: str
    sources: tuple[str, ...]
    retrieved: str
    examples: ClaimExamples
    claimed_by: tuple[str, ...] = ()


@cache
def claims() -> tuple[Claim, ...]:
    """All checked claims."""
    raw = yaml.load((DATA / "claims.yaml").read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return msgspec.convert(raw, tuple[Claim, ...])
