"""The GPU that is planned for: memory as the driver shows it, target, platform."""

from __future__ import annotations

import re

import msgspec

from rocsteady.catalog.knowledge import Part, find_part
from rocsteady.model import InputError
from rocsteady.plan.constants import constants


class Device(msgspec.Struct, frozen=True):
    """One ROCm or CUDA device. ``total_gib`` is what mem_get_info reports."""

    name: str
    gfx: str
    rocm: bool
    total_gib: float
    notes: tuple[str, ...]
    doubt_gib: float = 0.0
    part: Part | None = None


NVIDIA = re.compile(r"nvidia|geforce|rtx|gtx|tesla|\b[ahlbv]\d{2,3}s?\b|gb\d|dgx|cuda", re.IGNORECASE)


def device_of(text: str, mem_gib: float | None) -> Device:
    """The device that ``--gpu`` and ``--gpu-mem-gib`` mean.

    Raises:
        InputError: an unknown part without a memory size, or an impossible size.
    """
    if mem_gib is not None and not 0.1 <= mem_gib <= 4096:
        raise InputError(f"--gpu-mem-gib {mem_gib:g}: expected 0.1 to 4096")
    plain = re.sub(r"\(.*?\)|\bclass\b|\bAMD\b", " ", text)
    part = find_part(plain) or next((p for w in re.findall(r"[A-Za-z]*\d[\w+-]*", plain) if (p := find_part(w))), None)
    match = re.search(r"gfx[0-9a-f]{3,4}", text.lower())
    gfx = match[0] if match else (part.gfx if part else "")
    rocm = bool(gfx) or bool(re.search(r"\bamd\b|radeon|instinct|\brx\b|\bpro w\d|\bmi\d", text, re.IGNORECASE))
    notes: list[str] = []
    if not gfx and not rocm and not NVIDIA.search(text):
        notes.append(f"GPU {text!r} is not known: planned as a CUDA device")
    if rocm and not gfx:
        notes.append(f"the target of GPU {text!r} is not known: constants of other ROCm parts used")
    if mem_gib is not None:
        return Device(text, gfx, rocm, mem_gib, tuple(notes), 0.0, part)
    if part is None:
        raise InputError(f"--gpu {text}: no such part in the catalog; give its memory with --gpu-mem-gib")
    measured = re.match(r"([\d.,]+) (MiB|GiB)$", part.driver_visible_total or "")
    if measured:
        size = float(measured[1].replace(",", ""))
        return Device(text, gfx, rocm, size / 1024 if measured[2] == "MiB" else size, tuple(notes), 0.0, part)
    sizes = part.memory_gib
    if sizes is None:
        raise InputError(f"--gpu {text}: its memory is not known; give it with --gpu-mem-gib")
    nominal = min(sizes) if isinstance(sizes, tuple) else sizes
    if isinstance(sizes, tuple):
        notes.append(
            f"{part.product} exists with {' and '.join(f'{s:g}' for s in sizes)} GiB: the smaller is planned; --gpu-mem-gib says otherwise"
        )
    if part.rocm_devices_per_card == 2:
        nominal /= 2
        notes.append(f"{part.product} shows two devices: planned per device")
    reserve = constants()["driver_reserve"]
    notes.append(f"driver total of {part.product} not measured: nominal {nominal:g} GiB less {reserve.point:.2%}")
    return Device(
        text, gfx, rocm, nominal * (1 - reserve.point), tuple(notes), nominal * (reserve.high - reserve.point), part
    )
