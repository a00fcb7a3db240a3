"""Checks a catalog against its own examples."""

from __future__ import annotations

from rocsteady.catalog import Catalog, Mode
from rocsteady.catalog.modes import Example
from rocsteady.cli.gather import diagnose_input
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore

NOW = 1_796_000_000.0
"""Examples are judged at one fixed moment, so that the answer does not change with the day."""


def example_input(example: Example) -> Input:
    """The input that an example describes; logs of a tree lie in var/log."""
    if example.tree:
        files = {**example.tree, **{f"var/log/{name}": text for name, text in example.log.items()}}
        return Input(HostFS(MemoryStore(files), live=False), "tree", "example")
    return Input(HostFS(MemoryStore(example.log), live=False), "heap", "example")


def problems(catalog: Catalog) -> list[str]:
    """One line per example that is judged wrong and per reference that leads nowhere."""
    slugs = {name for m in catalog.modes.values() for name in (m.slug, *m.aliases)}
    found: list[str] = []
    for mode in catalog.modes.values():
        found.extend(f"{mode.id}: {s!r} is no slug" for s in (*mode.explains, *mode.supersedes) if s not in slugs)
        found.extend(_examples(mode))
    return found


def _examples(mode: Mode) -> list[str]:
    alone = Catalog({mode.id: mode})
    found: list[str] = []
    for kind in ("bad", "good", "unknown"):
        examples: tuple[Example, ...] = getattr(mode.examples, kind)
        if not examples:
            found.append(f"{mode.id}: no {kind} example")
        for number, example in enumerate(examples):
            subjects = {f.subject.id for f in diagnose_input(example_input(example), alone, NOW).findings}
            if kind == "bad" and (not subjects or (example.finds and subjects != set(example.finds))):
                found.append(f"{mode.id}: bad example {number} finds {sorted(subjects) or 'nothing'}")
            if kind != "bad" and subjects:
                found.append(f"{mode.id}: {kind} example {number} is found")
    return found
