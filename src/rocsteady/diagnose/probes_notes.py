"""Comparisons that a person noted: "older ROCm: ok", "cudagraph_mode PIECEWISE: ok", "96 GB in the BIOS: ok".

What makes the failure go away is the best evidence there is, better than most log lines. A comparison counts only
when something failed: an error in a log, or a note that says so.
"""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.model import Gpu, Note, Subject

GOOD = re.compile(
    r"\b(?:ok|works?|working|fine|good|succeeds?|stable|solved|fixed|no (?:error|problem|fault|hang|issue|crash)(?:e?s)?)\b",
    re.IGNORECASE,
)
BAD = re.compile(
    r"\b(?:fail\w*|crash\w*|hang\w*|hung|broken|breaks?|error\w*|fault\w*|abort\w*|not work\w*|no longer|wrong|garbage|out of memory"
    r"|oom|cannot|never|stuck|slow)\b|n't work",
    re.IGNORECASE,
)

TOPICS: dict[str, str] = {
    "rocm_version_compared": r"\b(?:older|previous|earlier|former|other|another|newer|later|last) (?:rocm|hip)\b"
    r"|\brocm[ -]?v?\d+(?:\.\d+)+|\brocm (?:version )?(?:before|after|up to)\b|\bdowngrad\w+ (?:to )?rocm",
    "graph_mode_compared": r"cudagraph|\b(?:cuda|hip)[ -]?graphs?\b|piecewise|enforce[-_ ]?eager|\beager\b",
    "memory_carve_out_compared": r"\b(?:bios|uma|carve|vgm|dedicated|vram setting)\b.*\b(?:\d+ ?G|vram|memory)|\b\d+ ?GB? (?:of )?vram\b"
    r".*\b(?:bios|set)\b|pages_limit|gttsize|\bgtt\b",
}


def _good_note(world: World, topic: str) -> Note | None:
    wanted = re.compile(topic, re.IGNORECASE)
    for note in world.facts.notes:
        text = note.value[:200]
        if wanted.search(note.key) and GOOD.search(text) and not BAD.search(text):
            return note
    return None


def _something_failed(world: World) -> bool:
    return any(e.level == "error" for e in world.log.events) or any(
        BAD.search(n.value) or BAD.search(n.key) for n in world.facts.notes
    )


def _compared(topic: str) -> Probe:
    def probe(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
        if not world.facts.notes:
            return Probed(None)
        note = _good_note(world, topic)
        if note is None or not _something_failed(world):
            return Probed(False)
        errors = tuple(e for e in world.log.events if e.level == "error")[:3]
        quotes = (*(e.evidence for e in errors), note.evidence)
        return Probed(True, quotes, {"better": note.key[:90], "note": note.value[:60]}, errors)

    return probe


PROBES: dict[str, Probe] = {name: _compared(topic) for name, topic in TOPICS.items()}
