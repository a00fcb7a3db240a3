"""Host memory that the GPU or other programs cannot reach: the GTT limit of APUs, reserved huge pages."""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.model import Evidence, Gpu, Subject

NO = Probed(False)
UNKNOWN = Probed(None)
GIB = 1 << 30
HALF = (0.45, 0.55)
"""TTM's default limit is half of the RAM that the kernel manages (ttm_tt.c, ttm_global_init); RAM figures differ by
what firmware and kernel keep, so some slack."""
NEAR = 0.04
"""Share by which the size that an engine reports and the GTT size may differ: MiB against GiB with two digits."""
APU = re.compile(
    r"gfx(?:902|909|90c|103[3-6]|110[3]|115[0-3])|80[56]0S|8[89]0M|7[48]0M|6[68]0M|Ryzen AI|Strix|Phoenix|Renoir|Cezanne",
    re.I,
)
"""Targets and names of AMD APUs: the targets of LLVM's AMDGPU guide marked APU, and product names."""
OVER_RESERVED = 0.75
"""Own judgement, no source: an inference node needs its RAM for weights on their way to the GPU and for the page
cache; beyond three quarters in huge pages little of either is left."""


def apu_gtt_default(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """An APU whose GTT is half of the RAM, and an engine that ran out of what is the GTT size or less."""
    facts = world.facts
    lines = world.events(("gtt-memory-ready",))
    sizes = [(int(e.fields["gtt_mib"]) << 20, e.evidence) for e in lines]
    for gpu in facts.gpus:
        origin = next((e for k, e in facts.origins.items() if k.endswith("memory.gtt_total")), None)
        if gpu.memory.gtt_total and origin is not None:
            sizes.append((gpu.memory.gtt_total, origin))
    names = [f"{g.gfx or ''} {g.name or ''} {g.product_name or ''}" for g in facts.gpus] + [facts.host.cpu or ""]
    names += [n.value for n in facts.notes if n.key.lower() in ("gpu", "apu", "cpu", "hardware", "machine")]
    apu = any(g.is_apu for g in facts.gpus) or APU.search(" ".join(names)) is not None
    if not sizes:
        return UNKNOWN
    if not apu:
        return NO if facts.gpus else UNKNOWN
    size, where = sizes[-1]
    total = facts.memory.total
    evidence: list[Evidence] = [where]
    half = total is not None and HALF[0] <= size / total <= HALF[1]
    if half:
        evidence += [e for k, e in facts.origins.items() if k == "memory.total"][:1]
    ran_out = world.events(
        ("torch-out-of-memory", "hip-out-of-memory", "ggml-out-of-memory", "vllm-no-memory-for-kv-cache")
    )
    if not ran_out:
        return UNKNOWN
    reported = [r for e in ran_out if (r := _bytes(e.fields.get("total"))) is not None]
    same = any(abs(r - size) <= NEAR * size for r in reported)
    if not half and not (same and total is None):
        return NO if total is not None else UNKNOWN
    bindings = {"gtt": f"{size / GIB:.0f} GiB"}
    return Probed(True, (ran_out[0].evidence, *evidence), bindings, (ran_out[0],))


def _bytes(text: str | None) -> float | None:
    match = re.match(r"([\d.]+) ?([GM])iB", text or "")
    return None if match is None else float(match[1]) * (GIB if match[2] == "G" else 1 << 20)


def huge_pages_over_reserved(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """Most of the RAM is set aside as huge pages, which nothing but huge-page users can have."""
    memory = world.facts.memory
    if not memory.total or memory.hugepages_total is None or memory.hugepage_bytes is None:
        return UNKNOWN
    reserved = memory.hugepages_total * memory.hugepage_bytes
    if reserved < OVER_RESERVED * memory.total:
        return NO
    origins = world.facts.origins
    evidence = [origins[k] for k in ("memory.hugepages_total", "memory.total") if k in origins]
    free = memory.hugepages_free
    unused = "unknown" if free is None else f"{free * memory.hugepage_bytes / GIB:.0f} GiB"
    bindings = {"reserved": f"{reserved / GIB:.0f} GiB", "total": f"{memory.total / GIB:.0f} GiB", "unused": unused}
    return Probed(True, tuple(evidence), bindings)


PROBES: dict[str, Probe] = {
    "apu_gtt_default": apu_gtt_default,
    "huge_pages_over_reserved": huge_pages_over_reserved,
}
