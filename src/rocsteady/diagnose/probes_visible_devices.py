"""Which GPUs a process can see: what it was told, what its build is made for, and what the kernel has room for."""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.diagnose.versions import satisfies
from rocsteady.model import Event, Evidence, Gpu, Subject

_INTEGRATED_NAME = re.compile(
    r"\b(?:6[1689]0M|7[4678]0M|8[2468]0M|8[89]0M|80[456]0S|Vega \d+ Graphics|Radeon(?:\(TM\))? Graphics|iGPU|Renoir|Cezanne"
    r"|Rembrandt|Phoenix|Raphael|Strix|Barcelo|Lucienne|Mendocino)\b",
    re.IGNORECASE,
)
"""Marketing and code names of GPUs that sit in a processor. "Radeon Graphics" alone is also what a new discrete card
without a name is called, so such a name counts only beside a second device."""
_INTEGRATED_GFX = {
    "gfx902", "gfx909", "gfx90c", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150", "gfx1152", "gfx1153",
}  # fmt: skip
"""Targets of processors. gfx1151 is left out: it is meant for inference and often the only GPU."""
_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def _integrated(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """An error on an integrated GPU that is visible beside a discrete one."""
    devices = {e.fields.get("hip_index"): e for e in world.by_kind.get("engine-llamacpp-device", [])}
    if len(devices) < 2:
        return Probed(False)
    places: list[Event] = world.by_kind.get("ggml-error-place", [])
    for place in places:
        device = devices.get(place.fields.get("hip_index"))
        if device is None:
            continue
        if _is_integrated(device) and not all(_is_integrated(d) for d in devices.values()):
            bindings = {
                "hip_index": place.fields["hip_index"], "name": device.fields.get("name", ""),
                "keep": ",".join(i for i, d in devices.items() if i and not _is_integrated(d)),
                "call": place.fields.get("call") or place.fields.get("function", ""),
            }  # fmt: skip
            evidence = (device.evidence, place.evidence, *place.more)
            return Probed(True, evidence, bindings, (device, place))
    return Probed(False)


def _is_integrated(device: Event) -> bool:
    return device.fields.get("gfx", "") in _INTEGRATED_GFX or bool(
        _INTEGRATED_NAME.search(device.fields.get("name", "")) and "RX" not in device.fields.get("name", "")
    )


def _numbers(value: str) -> list[int] | None:
    """Indices of a visible-devices list; None where it holds something else (UUIDs)."""
    parts = [p.strip() for p in value.split(",") if p.strip()]
    return [int(p) for p in parts] if parts and all(re.fullmatch(r"\d+", p) for p in parts) else None


def _env(world: World, name: str) -> tuple[str | None, Evidence | None]:
    return _found(world, f"env.{name}")


def _masked_twice(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """ROCR_VISIBLE_DEVICES leaves N GPUs, and HIP_ or CUDA_VISIBLE_DEVICES names an index of N or more."""
    outer, where = _env(world, "ROCR_VISIBLE_DEVICES")
    if outer is None:
        return Probed(False)
    left = len([p for p in outer.split(",") if p.strip()])
    for name in _VARIABLES[1:]:
        inner, also = _env(world, name)
        indices = _numbers(inner) if inner is not None else None
        if left and indices and max(indices) >= left:
            evidence = tuple(e for e in (where, also) if e is not None)
            return Probed(True, evidence, {"variable": name, "inner": inner or "", "outer": outer, "left": str(left)})
    return Probed(False)


def _differ(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES are both set and name different GPUs."""
    hip, where = _env(world, "HIP_VISIBLE_DEVICES")
    cuda, also = _env(world, "CUDA_VISIBLE_DEVICES")
    if hip is None or cuda is None or hip.replace(" ", "") == cuda.replace(" ", ""):
        return Probed(False)
    return Probed(True, tuple(e for e in (where, also) if e is not None), {"hip": hip, "cuda": cuda})


def _none_left(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """A visible-devices variable that hides every GPU: empty, or -1."""
    for name in _VARIABLES:
        value, where = _env(world, name)
        if value is not None and value.strip() in ("", "-1", "NoDevFiles", "none"):
            evidence = (where,) if where is not None else ()
            return Probed(True, evidence, {"variable": name, "value": value or "(empty)"})
    return Probed(False)


def _beyond(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """An index that is not below the number of GPUs of the node."""
    count = len([g for g in world.facts.gpus if g.gfx or g.unique_id or g.driver])
    if count == 0:
        return Probed(None)
    for name in _VARIABLES:
        value, where = _env(world, name)
        indices = _numbers(value) if value is not None else None
        if indices and max(indices) >= count:
            evidence = (where,) if where is not None else ()
            return Probed(True, evidence, {"variable": name, "value": value or "", "gpus": str(count)})
    return Probed(False)


MINORS = 64
"""DRM minors of one type before Linux 6.13: render nodes renderD128 to renderD191."""


def _minors_exhausted(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """A few partitions of CPX mode have no render node because the kernel has only 64 minors."""
    short = _short_of_partitions(world)
    if short is not None and not satisfies(world.facts.kernel.release or "", ">=6.13"):
        return short
    modes = {(g.compute_mode or "").upper() for g in world.facts.gpus}
    if "CPX" not in modes or satisfies(world.facts.kernel.release or "", ">=6.13"):
        return Probed(False)
    headings = world.by_kind.get("smi-gpu-heading", [])
    indices = [int(e.fields["index"]) for e in headings]
    indices += [g.smi_index for g in world.facts.gpus if g.smi_index is not None]
    seen = max(indices, default=-1) + 1
    if not MINORS - 4 <= seen < MINORS or world.facts.gpus_expected not in (None, 8, MINORS):
        return Probed(False)
    last = [e for e in headings if int(e.fields["index"]) == seen - 1]
    mode = lookup(world.facts, "gpu.compute_mode", world.facts.gpus[0]).evidence
    evidence = (*(e.evidence for e in last), *((mode,) if mode is not None else ()))
    return Probed(True, evidence, {"seen": str(seen)}, tuple(last))


def _short_of_partitions(world: World) -> Probed | None:
    """Eight GPUs in CPX of which the KFD topology lists a few partitions too few."""
    counts = {g.bdf or "": g.partitions for g in world.facts.gpus if g.partitions}
    whole = max(counts.values(), default=0)
    total = sum(counts.values())
    if len(counts) != MINORS // 8 or whole != 8 or not MINORS - 4 <= total < MINORS:
        return None
    places = (world.facts.origins.get(f"gpus.{bdf}.partitions") for bdf, count in counts.items() if count < whole)
    return Probed(True, tuple(p for p in places if p is not None), {"seen": str(total)}, ())


_AMD_NOTE = re.compile(r"\bAMD\b|Instinct|Radeon|\bMI\d{2,3}|\bgfx\d|\bRX ?\d{4}", re.IGNORECASE)


def _cuda_torch_beside_amd(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The environment's torch is a CUDA build, and the machine has an AMD GPU and no NVIDIA one."""
    version, where = _found(world, "python_packages.torch")
    build, also = _found(world, "python.torch_build")
    if not (re.search(r"\+cu\d", version or "") or build == "cuda"):
        return Probed(False)
    facts = world.facts
    amd = bool(facts.rocm.version or facts.rocm.installs or facts.dkms) or any(
        g.gfx or g.driver == "amdgpu" or g.vendor == "1002" for g in facts.gpus
    )
    amd = amd or any(d.vendor == "1002" and (d.class_code or "").startswith(("03", "12")) for d in facts.pci.values())
    amd = amd or "amdgpu" in facts.modules
    amd = amd or any(k in world.by_kind for k in ("lspci-gpu", "gfx942-mentioned", "engine-llamacpp-device"))
    amd = amd or any(_AMD_NOTE.search(n.value) for n in facts.notes if "gpu" in n.key.lower())
    if not amd:
        return Probed(None)
    evidence = tuple(e for e in (where, also) if e is not None)[:1]
    return Probed(True, evidence, {"torch": version or "a CUDA build"})


def _found(world: World, path: str) -> tuple[str | None, Evidence | None]:
    found = lookup(world.facts, path)
    return (None if found.value is None else str(found.value)), found.evidence


PROBES: dict[str, Probe] = {
    "drm-minors-exhausted": _minors_exhausted,
    "cuda-torch-beside-amd-gpu": _cuda_torch_beside_amd,
    "integrated-gpu-in-use": _integrated,
    "visible-devices-masked-twice": _masked_twice,
    "visible-devices-differ": _differ,
    "visible-devices-none-left": _none_left,
    "visible-devices-beyond-count": _beyond,
}
