"""From the facts of a node to a combination that can be looked up."""

from __future__ import annotations

import re

from rocsteady.catalog.compatibility import Combination
from rocsteady.catalog.knowledge import find_part
from rocsteady.model import InputError, NodeFacts


def combination_of(facts: NodeFacts) -> Combination:
    """What the node runs, as far as it was read."""
    return Combination(
        os=facts.host.os_name,
        kernel=facts.kernel.release,
        driver=facts.rocm.driver,
        rocm=facts.rocm.version,
        gfx=next((g.gfx for g in facts.gpus if g.gfx), None),
        pytorch=facts.python_packages.get("torch"),
        vllm=facts.python_packages.get("vllm") or (facts.engine.version if facts.engine.name == "vllm" else None),
    )


def target_of(text: str) -> str:
    """The LLVM target that a person names: ``gfx942`` or ``MI300X``."""
    match = re.search(r"gfx[0-9a-f]{3,4}", text.lower())
    if match:
        return match[0]
    part = find_part(text)
    if part is None:
        raise InputError(f"--gpu {text!r}: neither a target like gfx942 nor a known part")
    return part.gfx
