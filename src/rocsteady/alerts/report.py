"""The rules as a document: ``rocsteady alerts list``."""

from __future__ import annotations

from rocsteady.alerts.amounts import duration
from rocsteady.alerts.generate import expression_of
from rocsteady.alerts.runbook import mode_of, runbook
from rocsteady.alerts.settings import Chosen, Settings, all_thresholds, source_of


def document(settings: Settings) -> dict[str, object]:
    """``rocsteady.alerts/1``."""
    return {"schema": "rocsteady.alerts/1", "rules": [row(choice, settings) for choice in settings.rules]}


def row(choice: Chosen, settings: Settings) -> dict[str, object]:
    """One rule."""
    rule = choice.rule
    return {
        "id": rule.id, "alert": rule.alert, "group": choice.group, "severity": choice.severity,
        "respond": rule.respond, "subject": rule.subject, "mode": rule.mode, "slug": mode_of(rule.mode, rule.id).slug,
        "runbook": runbook(rule.mode, settings.general.runbook_base_url), "unknown": rule.unknown,
        "expr": expression_of(choice, settings.general), "for": duration(choice.amounts["for"]), "action": rule.action,
        "thresholds": [
            {"name": name, "value": _shown(choice, name), "changed": name in choice.changed, "source": source_of(limit)}
            for name, limit in all_thresholds(rule, choice.amounts).items()
        ],
    }  # fmt: skip


def _shown(choice: Chosen, name: str) -> str | float:
    return duration(choice.amounts[name]) if name in choice.durations else choice.amounts[name]


def text(settings: Settings) -> str:
    """Lines for people."""
    lines: list[str] = []
    group = ""
    for choice in settings.rules:
        if choice.group != group:
            group = choice.group
            lines += ["", group] if lines else [group]
        rule = choice.rule
        numbers = ", ".join(f"{name} {_shown(choice, name)}" for name in choice.amounts)
        lines.append(f"  {rule.id:<28} {choice.severity:<8} respond {rule.respond:<4} {rule.mode:<10} {numbers}")
    return "\n".join(lines) + f"\n\n{len(settings.rules)} rules\n"
