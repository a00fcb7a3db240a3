"""The result as SARIF 2.1.0, for code review tools."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady import __version__
from rocsteady.port.report import Document
from rocsteady.port.rules import rules

_LEVEL = {"high": "error", "medium": "warning", "low": "note"}
_UNCONVERTED = "unconverted-name"


def as_sarif(document: Document) -> str:
    """One SARIF log with one run."""
    results: list[dict[str, Any]] = []
    for report in document.files:
        for entry in report.unconverted:
            results.append(_result(_UNCONVERTED, "error", f"not converted: {entry.name}", report.path, entry.line))
        for note in report.reviews:
            results.append(_result(note.rule, _LEVEL[note.severity], note.reason, report.path, note.line))
    for error in document.check or []:
        results.append(_result(error.rule or "check", "error", error.message, error.path, error.line or 1))
    used = {result["ruleId"] for result in results}
    described: list[dict[str, Any]] = [
        {
            "id": rule.id,
            "name": rule.title,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.reason},
            "help": {"text": rule.do},
            "helpUri": rule.source,
            "defaultConfiguration": {"level": _LEVEL[rule.severity]},
            "properties": {"category": rule.category},
        }
        for rule in rules().values()
        if rule.id in used
    ]
    described += [{"id": name} for name in sorted(used - rules().keys())]
    log = {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [
            {
                "tool": {"driver": {"name": "rocsteady", "version": __version__, "rules": described}},
                "results": results,
                "columnKind": "utf16CodeUnits",
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(log), indent=1).decode() + "\n"


def _result(rule: str, level: str, text: str, path: str, line: int) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": {"uri": path.replace("\\", "/")}, "region": {"startLine": line}}}
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [place]}
