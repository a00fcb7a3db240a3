"""Dashboards: each panel names only metrics and labels that exist, and lies on the grid by itself."""

from __future__ import annotations

import json
import re

import pytest

from rocsteady.alerts.check import known_series
from rocsteady.alerts.grafana import COLUMNS, Dashboard, dashboard_files, dashboards, expressions
from rocsteady.alerts.promql import names, strangers
from rocsteady.alerts.settings import load_settings

SETTINGS = load_settings()
ALERTS = frozenset({"alertname", "alertstate", "severity", "respond", "gpu"})
KNOWN = known_series(SETTINGS) | {"ALERTS": ALERTS}


@pytest.mark.parametrize("board", [pytest.param(b, id=n) for n, b in dashboards().items()])
def test_panels_name_only_what_exists(board: Dashboard) -> None:
    for title, expr in expressions(board, SETTINGS):
        assert strangers(expr, KNOWN) == [], title
    for variable in board.variables:
        assert variable.label in KNOWN[variable.metric] or variable.label == "instance"
    for row in board.rows:
        for panel in row.panels:
            assert panel.about.endswith(".") and (panel.type != "matrix" or panel.columns), panel.title
            for query in panel.queries:
                named = names(query.expr)
                labels = {"instance"} | {label for s in named.selectors for label in KNOWN[s.metric]}
                assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= labels, panel.title


def test_the_five_are_there() -> None:
    assert list(dashboards()) == ["fleet", "gpu", "node", "serving", "xgmi"]


@pytest.mark.parametrize("name", list(dashboards()))
def test_json_is_what_grafana_takes(name: str) -> None:
    board = json.loads(dashboard_files(SETTINGS)[f"dashboards/{name}.json"])
    assert board["schemaVersion"] and board["uid"].startswith("rocsteady-")
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        grid = panel["gridPos"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert grid["x"] + grid["w"] <= COLUMNS and not cells & taken, panel["title"]
        taken |= cells
        assert all(target["expr"] and "%job%" not in target["expr"] for target in panel.get("targets", []))
