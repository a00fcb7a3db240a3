"""Fills the templates of titles, causes and remedies: ``{ring}``, ``{code|error|not shown}``.

Of several names the first one that has a value is taken; what stands behind the last bar is the default.
"""

from __future__ import annotations

import re

from rocsteady.diagnose.evaluate import show
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import Gpu, NodeFacts

_FIELD = re.compile(r"\{([a-zA-Z_][\w.\[\]-]*)(?:\|([^{}]*))?\}")


def fill(template: str, bindings: dict[str, str], facts: NodeFacts, gpu: Gpu | None) -> str:
    """Replace every field by an event's field, a fact, or the default behind '|'; '?' when there is neither."""

    def value(match: re.Match[str]) -> str:
        *others, default = match[2].split("|") if match[2] is not None else ["?"]
        for name in (match[1], *others):
            if bindings.get(name):
                return bindings[name]
            if "." in name:
                found = lookup(facts, name, gpu)
                if found.value not in (None, "", ()):
                    return show(found.value)
        return default

    return " ".join(_FIELD.sub(value, template).split())


def shorten(text: str, limit: int) -> str:
    """Cut at a word and mark the cut."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(",;: ") + "…"
