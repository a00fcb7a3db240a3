"""Whether the gfx target that the runtime reports is the one that the GPU really has."""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import Gpu, Subject

_FAMILIES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(name, re.IGNORECASE), gfx)
    for name, gfx in (
        (r"\bMI(?:50|60)\b", "gfx906"),
        (r"\bMI100\b", "gfx908"),
        (r"\bMI2[15]0X?\b", "gfx90a"),
        (r"\bMI3(?:00[AX]?|08X|25X)\b", "gfx94"),
        (r"\bMI35[05]X?\b", "gfx950"),
        (r"\bRX ?6[4-9]\d0|\bW6[468]00\b|\bV620\b", "gfx103"),
        (r"\bRX ?7[5-9]00|\bW7[5-9]00\b", "gfx110"),
        (r"\bRX ?90[67]0|\bR9[67]00\b", "gfx120"),
    )
)
"""Product name -> start of its LLVM target; AMD's GPU hardware table,
https://rocm.docs.amd.com/en/latest/reference/gpu-arch-specs.html."""


def _contradicts(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """A tool shows a product with a target of another family: HSA_OVERRIDE_GFX_VERSION is set somewhere."""
    known = False
    for one in [gpu] if gpu is not None else world.facts.gpus:
        if one is None or not one.gfx or not (one.name or one.product_name):
            continue
        name = one.product_name or one.name or ""
        right = next((gfx for pattern, gfx in _FAMILIES if pattern.search(name)), None)
        if right is None:
            continue
        known = True
        if not one.gfx.startswith(right):
            where = lookup(world.facts, "gpu.gfx", one).evidence
            bindings = {"name": name, "reported": one.gfx, "right": right}
            return Probed(True, (where,) if where is not None else (), bindings)
    return Probed(False if known else None)


PROBES: dict[str, Probe] = {"gfx-contradicts-name": _contradicts}
