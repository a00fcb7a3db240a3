"""Synthetic nodes: faithful trees of sysfs, procfs, logs and binary tables, to try everything on without hardware."""

from rocsteady.lab.node import Node, build_node
from rocsteady.lab.scenarios import SCENARIOS, Scenario, play
from rocsteady.lab.shapes import SHAPES, Shape
from rocsteady.lab.tree import Tree

__all__ = ["SCENARIOS", "SHAPES", "Node", "Scenario", "Shape", "Tree", "build_node", "play"]
