"""Every event kind: its samples match, hold a needle, and are found by the scanner as that kind."""

from __future__ import annotations

import io

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.diagnose.matching import kinds_of
from rocsteady.events.kinds import Kind
from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner


def test_names_are_unique() -> None:
    names = [k.name for k in KINDS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", [pytest.param(k, id=k.name) for k in KINDS])
def test_samples(kind: Kind) -> None:
    for sample in kind.samples:
        assert any(n.lower().removeprefix("^") in sample.lower() for n in kind.needles), sample
        scanner = Scanner([kind], 2026)
        scanner.scan("log", io.BytesIO(sample.encode() + b"\n"))
        if kind.level == "noise":
            assert not scanner.unexplained() or "error" not in sample, sample
            assert kind.regex.search(sample)
        else:
            assert [e.kind for e in scanner.events()] == [kind.name], sample
    assert kind.source.startswith("https://")
    assert all(len(n) >= 4 for n in kind.needles), "a needle of three letters is everywhere"


def test_rules_name_kinds_that_exist() -> None:
    names = {k.name for k in KINDS}
    for mode in load_catalog().modes.values():
        conditions = [mode.condition, *(c for c, _ in mode.raised)]
        if mode.exception is not None:
            conditions.append(mode.exception)
        for condition in conditions:
            assert kinds_of(condition) <= names, (mode.id, kinds_of(condition) - names)
