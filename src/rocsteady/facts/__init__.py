"""Facts about a node: ``read_x(fs)`` over a pure ``parse_x(text)`` per interface. Judges nothing."""

from rocsteady.facts.builder import Builder
from rocsteady.facts.read import read_facts

__all__ = ["Builder", "read_facts"]
