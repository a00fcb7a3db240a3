"""The catalog hangs together: references exist, every entry has its three kinds of examples and a dated source."""

from __future__ import annotations

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.catalog.modes import Mode

CATALOG = load_catalog()
AGREED = {
    "gpu-init-failed",
    "gpu-not-added-to-kfd",
    "hsa-init-failed",
    "no-gpu-visible",
    "gpu-page-fault",
    "gpu-memory-access-fault",
    "ring-timeout",
    "gpu-reset",
    "gpu-reset-failed",
    "queue-preemption-timeout",
    "gpu-not-responding",
    "hung-task",
    "ras-poison-consumed",
    "engine-start-failed",
    "engine-process-died",
    "python-traceback-unexplained",
    "model-output-garbage",
    "collective-timeout",
    "rccl-error",
    "pod-pending",
    "container-restarting",
    "host-oom-kill",
}
"""Symptoms that many causes name."""


@pytest.mark.parametrize("mode", [pytest.param(m, id=m.id) for m in CATALOG.modes.values()])
def test_references_exist(mode: Mode) -> None:
    """Slugs in explains and supersedes are modes of this catalog."""
    slugs = AGREED | {m.slug for m in CATALOG.modes.values()} | {a for m in CATALOG.modes.values() for a in m.aliases}
    assert not [s for s in (*mode.explains, *mode.supersedes) if s not in slugs]
    assert mode.examples.bad and mode.examples.good and mode.examples.unknown
    assert all(s.url.startswith("https://") and s.retrieved for s in mode.sources) and mode.sources
