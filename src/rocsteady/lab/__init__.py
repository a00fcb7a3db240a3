"""Synthetic nodes: faithful trees of sysfs, procfs, logs and binary tables, to try everything on without hardware."""

from rocsteady.lab.node import build_node
from rocsteady.lab.shapes import SHAPES, Shape
from rocsteady.lab.tree import Tree

__all__ = ["SHAPES", "Shape", "Tree", "build_node"]
