"""Fault scenarios: each is data (a YAML file here) and is played into the tree of a node."""

from rocsteady.lab.scenarios.load import SCENARIOS, Scenario
from rocsteady.lab.scenarios.play import play

__all__ = ["SCENARIOS", "Scenario", "play"]
