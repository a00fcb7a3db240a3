"""Whose fault an answer is. Pure.

A request that no worker could serve must not take workers out: 4xx is the client's, and so is the 500 that vLLM gives
for a prompt that is too long (vllm-project/router issue 148, sgl-project/sglang issue 25811).
"""

from __future__ import annotations

import re
from typing import Literal

Fault = Literal["none", "client", "busy", "worker", "misconfigured"]
TOO_LONG = re.compile(
    rb"maximum context length|maximum model length|max_model_len|longer than the (?:maximum )?model|"
    rb"prompt is too long|input is too long|exceeds? the (?:model'?s? )?(?:maximum )?context",
    re.IGNORECASE,
)
"""What vLLM and SGLang say of a prompt that does not fit (vLLM 0.4 to 0.32, SGLang 0.4)."""
NO_MODEL = re.compile(rb"model [^\n]{0,200}does not exist|model_not_found|model not found", re.IGNORECASE)


def fault(status: int, body: bytes) -> Fault:
    """Judge one answer of a worker. ``body``: its beginning is enough."""
    if status < 400:
        return "none"
    if status in (401, 403):
        return "misconfigured"  # the worker refuses our token; the client's was checked before
    if status == 404 and NO_MODEL.search(body, 0, 4096):
        return "misconfigured"
    if status in (408, 429, 529):
        return "busy"
    if status < 500:
        return "client"
    if status == 500 and TOO_LONG.search(body, 0, 8192):
        return "client"
    return "worker"
