"""What is missing comes with the command that would supply it."""

from __future__ import annotations

from rocsteady.catalog import load_catalog
from rocsteady.catalog.conditions import AllOf, AnyOf, Condition, Not, OnFact
from rocsteady.diagnose.supply import how_to_supply


def paths(condition: Condition) -> set[str]:
    match condition:
        case AllOf(parts) | AnyOf(parts):
            return set().union(*(paths(p) for p in parts))
        case Not(part):
            return paths(part)
        case OnFact(path=path):
            return {path}
    return set()


def test_every_fact_that_a_rule_asks_for_can_be_supplied() -> None:
    asked = set().union(*(paths(m.condition) for m in load_catalog().modes.values()))
    assert not [p for p in sorted(asked) if how_to_supply(p) is None]
