"""Single values changed in a healthy tree: the right GPU is named, and what was read is not called missing."""

from __future__ import annotations

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.cli.gather import diagnose_input
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.lab import SHAPES, build_node
from rocsteady.model import Diagnosis
from tests.support import NOW


def changed(shape: str, name: str, content: str | bytes) -> tuple[Diagnosis, str]:
    """The diagnosis after one file of the third GPU was changed, and that GPU's address."""
    node = build_node(SHAPES[shape])
    files = node.tree.contents()
    path = f"sys/devices/{node.slots[2].place}/{name}"
    assert path in files
    files[path] = content
    source = Input(HostFS(MemoryStore(files), live=False), "tree", "synthetic")
    return diagnose_input(source, load_catalog(), NOW), node.slots[2].bdf


@pytest.mark.parametrize("shape", ["mi300x8", "mi300x8-cpx"])
def test_uncorrected_memory_errors(shape: str) -> None:
    answer, bdf = changed(shape, "ras/umc_err_count", "ue: 2\nce: 0\nde: 0\n")
    first = answer.findings[0]
    assert (first.category, first.role, first.subject.id) == ("hardware-ras", "cause", bdf)
    assert first.evidence[0].text.strip() == "ue: 2"
    assert not [gap for gap in answer.gaps if "ras" in gap.path]


def test_retired_pages_are_counted() -> None:
    answer, bdf = changed("mi300x8", "ras/gpu_vram_bad_pages", "0x00000001 : 0x00001000 : P\n" * 3)
    assert {f.subject.id for f in answer.findings if f.category == "hardware-ras"} == {bdf}


def test_narrow_slot() -> None:
    answer, bdf = changed("mi210x4", "current_link_width", "4\n")
    (finding,) = [f for f in answer.findings if f.slug == "pcie-link-narrower-than-card"]
    assert "x4 of x16" in finding.title and bdf in finding.cause and finding.evidence[0].text == "4"


def test_half_written_table_costs_one_gap() -> None:
    answer, _ = changed("mi210x4", "gpu_metrics", b"\x78\x00\x01\x03junk")
    assert answer.verdict == "healthy"
    assert [(g.path, g.why) for g in answer.gaps] == [
        ("sys/class/drm/card3/device/gpu_metrics", "malformed: cut short: 8 bytes of 120")
    ]
