"""Settings that are made but that nothing reads: folklore, and names that a version no longer has."""

from __future__ import annotations

from rocsteady.catalog.knowledge import Setting, settings
from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.diagnose.versions import numbers
from rocsteady.model import Evidence, Gpu, Subject

SHOWN = 6


def inert_settings(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """Environment variables that no component reads, or that the engine's version no longer reads."""
    env = world.facts.env
    if not env:
        return Probed(None)
    known: dict[str, list[Setting]] = {}
    for setting in settings():
        if setting.kind == "env" and setting.name in env:
            known.setdefault(setting.name, []).append(setting)
    names: list[str] = []
    evidence: list[Evidence] = []
    for name, rows in sorted(known.items()):
        if any(r.status == "exists" for r in rows):
            continue
        if not all(r.status == "folklore" or _gone(r, world) for r in rows):
            continue
        why = "nothing reads it" if rows[0].status == "folklore" else f"gone: {rows[0].removed}"
        names.append(f"{name} ({why})")
        found = lookup(world.facts, f"env.{name}")
        if found.evidence is not None:
            evidence.append(found.evidence)
    if not names:
        return Probed(False)
    return Probed(True, tuple(evidence), {"settings": ", ".join(names[:SHOWN]), "count": str(len(names))})


def _gone(setting: Setting, world: World) -> bool:
    """Whether the engine that runs is known to be past the version that removed the setting."""
    version = world.facts.engine.version or world.facts.python_packages.get("vllm")
    if setting.status != "removed" or not setting.removed or not version:
        return False
    gone = numbers(setting.removed, 3)
    return bool(gone) and numbers(version, 3) >= gone


PROBES: dict[str, Probe] = {"inert_settings": inert_settings}
