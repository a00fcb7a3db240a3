"""Each rule's own example raises it; its near miss does not."""

from __future__ import annotations

import re

import pytest

from rocsteady.port.rules import Rule, rules
from tests.port.snippets import rule_ids

PATHS = {"cmake": "CMakeLists.txt", "options": "Makefile", "make": "Makefile", "setup": "setup.py"}


def path_of(rule: Rule) -> str:
    return PATHS.get(rule.by, "kernel.cu")


@pytest.mark.parametrize("rule", [rule for rule in rules().values() if rule.example], ids=lambda rule: rule.id)
def test_the_example_raises_the_rule(rule: Rule) -> None:
    assert rule.id in rule_ids(rule.example, path_of(rule))


@pytest.mark.parametrize("rule", [rule for rule in rules().values() if rule.clean], ids=lambda rule: rule.id)
def test_the_near_miss_does_not(rule: Rule) -> None:
    assert rule.id not in rule_ids(rule.clean, path_of(rule))


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_the_words_are_whole(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.category)
    assert rule.source.startswith("https://")
    assert rule.do.endswith(".")
    assert not rule.reason.endswith(".")
    assert len(rule.reason) < 240
