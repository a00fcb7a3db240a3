"""Grafana dashboards: ``dashboards/*.yaml`` -> JSON that Grafana imports."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import msgspec
import yaml

from rocsteady.alerts.load import files
from rocsteady.alerts.settings import Settings
from rocsteady.model import CatalogError

COLUMNS = 24
SCHEMA_VERSION = 38
"""Of Grafana 10; newer ones migrate it."""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
Unit = Literal[
    "none", "percentunit", "celsius", "watt", "joule", "hertz", "bytes", "Bps", "s", "short", "volt", "cps", "rotrpm"
]
PanelType = Literal["timeseries", "stat", "table", "bargauge", "matrix", "state-timeline"]


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """PromQL and the legend of its series."""

    expr: str
    legend: str = "{{gpu}}"


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One panel. ``rows`` and ``columns``: labels of a matrix. ``steps``: values from which a colour holds."""

    title: str
    type: PanelType = "timeseries"
    unit: Unit = "none"
    width: int = 8
    height: int = 8
    about: str
    queries: tuple[Query, ...]
    rows: str = "gpu"
    columns: str = ""
    steps: tuple[tuple[str, float | None], ...] = ()


class Variable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A choice at the top: values of a label of a metric."""

    name: str
    metric: str
    label: str
    selector: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


class Dashboard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dashboard."""

    uid: str
    title: str
    about: str
    refresh: str = "30s"
    span: str = "now-3h"
    variables: tuple[Variable, ...] = ()
    rows: tuple[Row, ...]


@cache
def dashboards() -> dict[str, Dashboard]:
    """By name of the file.

    Raises:
        CatalogError: a file is malformed.
    """
    found = {}
    for name, path in files("dashboards"):
        try:
            found[name] = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Dashboard)
        except (yaml.YAMLError, msgspec.ValidationError) as error:
            raise CatalogError(f"dashboards/{name}: {' '.join(str(error).split())}") from error
    return found


def dashboard_files(settings: Settings) -> dict[str, str]:
    """JSON by path below the output directory."""
    return {
        f"dashboards/{name}.json": msgspec.json.format(
            msgspec.json.encode(document(board, settings)), indent=1
        ).decode()
        + "\n"
        for name, board in dashboards().items()
    }


def expressions(board: Dashboard, settings: Settings) -> list[tuple[str, str]]:
    """(panel, PromQL) of a dashboard, as Grafana sends it but for its variables."""
    return [
        (panel.title, _filled(query.expr, settings))
        for row in board.rows
        for panel in row.panels
        for query in panel.queries
    ]


def document(board: Dashboard, settings: Settings) -> dict[str, Any]:
    """The dashboard as Grafana's JSON."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row in board.rows:
        panels.append(
            {"id": len(panels) + 1, "type": "row", "title": row.title, "collapsed": False, "panels": [],
             "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}}
        )  # fmt: skip
        y += 1
        x = tallest = 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            panels.append(_panel(panel, len(panels) + 1, x, y, settings))
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest
    return {
        "uid": board.uid, "title": board.title, "description": board.about, "tags": ["rocsteady", "amd"],
        "schemaVersion": SCHEMA_VERSION, "version": 1, "editable": True, "refresh": board.refresh, "timezone": "",
        "time": {"from": board.span, "to": "now"}, "graphTooltip": 1, "templating": {"list": _variables(board)},
        "annotations": {"list": [_alerts()]}, "panels": panels, "links": [_links()],
    }  # fmt: skip


def _filled(expr: str, settings: Settings) -> str:
    return " ".join(expr.replace("%job%", settings.general.job).split())


def _variables(board: Dashboard) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0}
    ]
    for variable in board.variables:
        query = f"label_values({variable.metric}{variable.selector}, {variable.label})"
        made.append(
            {"name": variable.name, "label": variable.name, "type": "query", "datasource": SOURCE, "query": query,
             "definition": query, "refresh": 2, "multi": True, "includeAll": True, "allValue": ".*", "sort": 1,
             "current": {"text": "All", "value": "$__all"}}
        )  # fmt: skip
    return made


def _alerts() -> dict[str, Any]:
    return {
        "name": "alerts", "datasource": SOURCE, "enable": True, "iconColor": "red", "titleFormat": "{{alertname}}",
        "expr": 'ALERTS{alertname=~"Rocsteady.*",alertstate="firing",severity=~"critical|warning"}', "step": "60s",
        "textFormat": "{{instance}} {{gpu}}",
    }  # fmt: skip


def _links() -> dict[str, Any]:
    return {
        "type": "dashboards", "title": "rocsteady", "tags": ["rocsteady"], "asDropdown": True, "includeVars": True,
        "keepTime": True, "targetBlank": False, "icon": "external link", "url": "", "tooltip": "",
    }  # fmt: skip


def _panel(panel: Panel, number: int, x: int, y: int, settings: Settings) -> dict[str, Any]:
    matrix = panel.type == "matrix"
    instant = matrix or panel.type in ("table", "bargauge", "stat")
    steps = [{"color": color, "value": value} for color, value in panel.steps] or [{"color": "green", "value": None}]
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}
    if matrix or (panel.type == "table" and panel.steps):
        defaults["custom"] = {"cellOptions": {"type": "color-background", "mode": "basic"}, "align": "center"}
    if panel.type == "timeseries" and panel.steps:
        defaults["custom"] = {"thresholdsStyle": {"mode": "line"}}
    made: dict[str, Any] = {
        "id": number, "type": "table" if matrix else panel.type, "title": panel.title, "description": panel.about,
        "datasource": SOURCE, "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": defaults, "overrides": []}, "options": {},
        "targets": [
            {
                "refId": chr(ord("A") + n), "datasource": SOURCE, "expr": _filled(query.expr, settings),
                "legendFormat": query.legend, "instant": instant, "range": not instant,
                "format": "table" if matrix or panel.type == "table" else "time_series",
            }
            for n, query in enumerate(panel.queries)
        ],
    }  # fmt: skip
    if matrix:
        made["transformations"] = [
            {"id": "groupingToMatrix",
             "options": {"rowField": panel.rows, "columnField": panel.columns, "valueField": "Value"}}
        ]  # fmt: skip
    return made
