"""Nodes that live: values move with simulated time, faults come and go."""

from rocsteady.lab.live.fault import Fault
from rocsteady.lab.live.node import LivingNode
from rocsteady.lab.live.scenario import HEALTHY, LivingScenario, living_scenarios

__all__ = ["HEALTHY", "Fault", "LivingNode", "LivingScenario", "living_scenarios"]
