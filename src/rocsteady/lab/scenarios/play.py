"""Plays a scenario into the tree of a node."""

from __future__ import annotations

from rocsteady.lab.node import Node
from rocsteady.lab.scenarios.load import Scenario
from rocsteady.lab.scenarios.night_crash import play_night_crash
from rocsteady.lab.tree import NOTE
from rocsteady.model import InputError


def play(node: Node, scenario: Scenario) -> None:
    """Change the tree as if the scenario had happened on the node.

    Raises:
        InputError: the scenario belongs to another shape.
    """
    if node.shape.name != scenario.shape:
        raise InputError(f"scenario {scenario.name} needs the shape {scenario.shape}, not {node.shape.name}")
    play_night_crash(node, scenario)
    note = node.tree.files[NOTE].decode()
    node.tree.text(NOTE, f"{note}\nScenario {scenario.name}: {scenario.text}.\n")
