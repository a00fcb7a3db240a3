"""Checks rules: do metrics and labels exist, does each rule say what an operator needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from rocsteady.alerts.generate import recorded
from rocsteady.alerts.load import recordings
from rocsteady.alerts.promql import strangers
from rocsteady.alerts.settings import Settings
from rocsteady.metrics.external import series_labels
from rocsteady.model import InputError

MOST_BYTES = 8 << 20


def check_rules(text: str) -> list[str]:
    """What is wrong with a Prometheus rule file, one line each; empty: nothing.

    Metrics that do not start with our prefix are the business of whoever exports them, unless they are declared here.

    Raises:
        InputError: the text is not a rule file.
    """
    groups = _groups(text)
    known: dict[str, tuple[str, ...] | frozenset[str]] = dict(series_labels())
    rules = [rule for group in groups for rule in group]
    problems: list[str] = []
    for rule in rules:
        name = str(rule.get("alert") or rule.get("record") or "?")
        expr = rule.get("expr")
        if not isinstance(expr, str):
            problems.append(f"{name}: no expr")
            continue
        try:
            wrong = strangers(expr, {**known, **_recorded(rules)})
        except ValueError as error:
            problems.append(f"{name}: {error}")
            continue
        problems += [f"{name}: {problem}" for problem in wrong if _ours(problem)]
        if "alert" in rule:
            problems += _describes(name, rule)
    return problems


def _ours(problem: str) -> bool:
    return "rocsteady" in problem or not problem.startswith("no metric ")


def known_series(settings: Settings) -> dict[str, frozenset[str]]:
    """Labels of every series that our rules and dashboards may name, those that we record included."""
    groups = [{"record": rule["record"]} for group in recordings() for rule in recorded(group, settings)]
    return {name: frozenset(labels) for name, labels in series_labels().items()} | _recorded(groups)


def _recorded(rules: list[dict[str, Any]]) -> dict[str, frozenset[str]]:
    """Series that the file records itself; they may carry any label of ours."""
    every = frozenset(label for labels in series_labels().values() for label in labels)
    return {str(rule["record"]): every | frozenset(rule.get("labels") or {}) for rule in rules if "record" in rule}


def _describes(name: str, rule: dict[str, Any]) -> list[str]:
    labels, annotations = rule.get("labels") or {}, rule.get("annotations") or {}
    missing = [f"label {key}" for key in ("severity",) if key not in labels]
    missing += [f"annotation {key}" for key in ("summary", "description", "runbook_url") if key not in annotations]
    return [f"{name}: no {key}" for key in missing]


def _groups(text: str) -> list[list[dict[str, Any]]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict) or not isinstance(document.get("groups"), list):
        raise InputError("not a rule file: no list 'groups'")
    groups = []
    for group in document["groups"]:
        rules = group.get("rules") if isinstance(group, dict) else None
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise InputError("not a rule file: a group without a list 'rules'")
        groups.append(rules)
    return groups


def read_text(path: Path) -> str:
    """The text of a file to check.

    Raises:
        InputError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: larger than {MOST_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text") from error
