"""Fills the templates of titles, causes and remedies: ``{ring}``, ``{kernel.release|this kernel}``."""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import show
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import Gpu, NodeFacts

_FIELD = re.compile(r"\{([a-zA-Z_][\w.\[\]-]*)(?:\|([^{}]*))?\}")


def fill(template: str, bindings: dict[str, str], facts: NodeFacts, gpu: Gpu | None) -> str:
    """Replace every field by an event's field, a fact, or the default behind '|'; '?' when there is neither."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if bindings.get(name):
            return bindings[name]
        if "." in name:
            found = lookup(facts, name, gpu)
            if found.value not in (None, "", ()):
                return show(found.value)
        return match[2] if match[2] is not None else "?"

    return " ".join(_FIELD.sub(value, template).split())


def shorten(text: str, limit: int) -> str:
    """Cut at a word and mark the cut."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(",;: ") + "…"
