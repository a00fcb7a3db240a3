"""The smallest shared types: evidence, gaps, subjects."""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["cause", "symptom", "risk"]
Severity = Literal["critical", "warning", "info"]
SubjectKind = Literal["node", "gpu", "partition", "link", "process", "service", "container"]
Verdict = Literal["healthy", "at-risk", "failing", "unknown"]
Risk = Literal["safe", "disruptive", "destructive"]
Category = Literal[
    "driver-kernel-mismatch", "firmware", "permissions", "pcie", "iommu-p2p", "memory-host", "gpu-oom",
    "host-oom", "hardware-ras", "xgmi", "thermal-power", "hang-reset", "container-devices", "config",
    "gfx-target", "version-mismatch", "wheel-mismatch", "rccl-hang", "limits", "visible-devices",
    "quantization", "kernel-fault", "compile", "graph-capture", "k8s", "probe-timeout", "disk",
    "engine-bug", "other",
]  # fmt: skip


class Evidence(msgspec.Struct, frozen=True):
    """One quoted place of the input.

    ``file`` is the path inside the input, ``line`` 1-based or None (a whole file, a binary file,
    a line that is missing), ``text`` verbatim.
    """

    file: str
    line: int | None
    text: str


class Gap(msgspec.Struct, frozen=True):
    """Something that could not be read. ``why`` starts with absent, denied, malformed, timeout or failed."""

    path: str
    why: str


class Subject(msgspec.Struct, frozen=True):
    """What a finding or an event is about. A GPU's id is its BDF, or ``GPU n`` where only that is known."""

    kind: SubjectKind
    id: str


NODE = Subject("node", "node")
