"""Templates of titles and causes."""

from __future__ import annotations

from rocsteady.diagnose.template import fill
from rocsteady.model import NodeFacts


def test_first_name_with_a_value_wins() -> None:
    facts = NodeFacts()
    assert fill("{code|error|not shown}", {"error": "-62"}, facts, None) == "-62"
    assert fill("{code|error|not shown}", {"code": "-5", "error": "-62"}, facts, None) == "-5"
    assert fill("{code|error|not shown}", {}, facts, None) == "not shown"
    assert fill("{code}", {}, facts, None) == "?"
