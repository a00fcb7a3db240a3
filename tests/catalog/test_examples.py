"""Every example of every failure mode: bad ones are found, good and unknown ones are not."""

from __future__ import annotations

import pytest

from rocsteady.catalog import Catalog, load_catalog
from rocsteady.catalog.modes import Example, Mode
from tests.support import example_input, judged

CATALOG = load_catalog()
CASES = [
    pytest.param(mode, kind, example, id=f"{mode.id}-{kind}{number}")
    for mode in CATALOG.modes.values()
    for kind in ("bad", "good", "unknown")
    for number, example in enumerate(getattr(mode.examples, kind))
]


@pytest.mark.parametrize(("mode", "kind", "example"), CASES)
def test_example(mode: Mode, kind: str, example: Example) -> None:
    """The mode alone decides: other modes are left out, so that superseding does not hide it."""
    answer = judged(example_input(example), Catalog({mode.id: mode}))
    found = [f for f in answer.findings if f.mode == mode.id]
    if kind != "bad":
        assert not found, f"{mode.id} must not be found in its {kind} example: {found[0].title}"
        return
    assert found, f"{mode.id} not found"
    if example.finds:
        assert {f.subject.id for f in found} == set(example.finds)
    for finding in found:
        assert finding.evidence, "no line quoted"
        assert "?" not in finding.title, f"a field of the title is empty: {finding.title}"
        assert len(finding.title) <= 160 and len(finding.cause) <= 600
        assert not finding.cause.endswith("…"), "cause too long"


@pytest.mark.parametrize("mode", [pytest.param(m, id=m.id) for m in CATALOG.modes.values()])
def test_whole_catalog_keeps_the_mode_first(mode: Mode) -> None:
    """With every rule on, a cause's first bad example still shows the mode, and nothing else above it as a cause
    unless that one explains or supersedes it."""
    if mode.role != "cause":
        return
    answer = judged(example_input(mode.examples.bad[0]), CATALOG)
    causes = [f for f in answer.findings if f.role == "cause"]
    assert causes and causes[0].mode == mode.id, [(f.mode, f.slug, f.confidence) for f in causes]
