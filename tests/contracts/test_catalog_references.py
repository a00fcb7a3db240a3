"""The catalog hangs together: references exist, every entry has its three kinds of examples and a dated source."""

from __future__ import annotations

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.catalog.modes import Mode

CATALOG = load_catalog()


@pytest.mark.parametrize("mode", [pytest.param(m, id=m.id) for m in CATALOG.modes.values()])
def test_references_exist(mode: Mode) -> None:
    """Slugs in explains and supersedes are modes of this catalog."""
    slugs = {m.slug for m in CATALOG.modes.values()} | {a for m in CATALOG.modes.values() for a in m.aliases}
    assert not [s for s in (*mode.explains, *mode.supersedes) if s not in slugs]
    assert mode.examples.bad and mode.examples.good and mode.examples.unknown
    assert all(s.url.startswith("https://") and s.retrieved for s in mode.sources) and mode.sources
