"""deploy/monitoring/dashboard.json: a Grafana dashboard. First the panels of `dashboard_table.py`, then one collapsed
row per MBean type with a panel for each family of the table of metrics, so that none is missing."""

from __future__ import annotations

import itertools
import json
from typing import Any

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.server.metrics.metric_table import METRIC_ROWS
from signalbox.server.metrics.metric_table.row import MetricRow
from signalbox.server.monitoring.dashboard_table import FIRST_PANELS, SELECTOR, WINDOW, Panel, description
from signalbox.server.monitoring.queries import JOB, WITHOUT_QUANTILES, is_count, shown

_WIDTH = 24  # Grafana's grid
_MOST_SERIES = 20
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_UNITS = {"bytes": "bytes", "ms": "ms", "seconds": "s", "µs": "µs", "share": "percentunit", "percent": "percent"}
_UNITS_PER_SECOND = {"bytes": "Bps", "requests": "reqps"}


def dashboard() -> str:
    """Returns the dashboard as JSON."""
    return json.dumps(_dashboard(), indent=1, ensure_ascii=False) + "\n"


def queries(panels: list[dict[str, Any]]) -> list[str]:
    """All queries of panels, those of collapsed rows included."""
    return [target["expr"] for panel in panels for target in panel.get("targets", ())] + [
        query for panel in panels for query in queries(panel.get("panels", []))
    ]


def _dashboard() -> dict[str, Any]:
    ids = itertools.count(1)
    numbers = [panel for panel in FIRST_PANELS if panel.bad_from is not None]
    charts = [panel for panel in FIRST_PANELS if panel.bad_from is None]
    panels = _placed([_number(panel, next(ids)) for panel in numbers], 0, width=3, height=4)
    panels += _placed([_chart(panel, next(ids)) for panel in charts], 4, width=8, height=7)
    y = 4 + 7 * -(-len(charts) // 3)
    for title, rows in itertools.groupby(METRIC_ROWS, lambda row: f"{row.name.group}: {row.name.type}"):
        collapsed = {"type": "row", "id": next(ids), "title": title, "collapsed": True}
        collapsed["gridPos"] = {"x": 0, "y": y, "w": _WIDTH, "h": 1}
        inner = [_chart(_panel_of(row), next(ids)) for row in rows]
        collapsed["panels"] = _placed(inner, y + 1, width=8, height=7)
        panels.append(collapsed)
        y += 1
    return {
        "uid": "signalbox",
        "title": "Signalbox",
        "description": "Written by `python -m signalbox.server.monitoring` from the table of metrics.",
        "tags": ["kafka", "signalbox"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _variables()},
        "annotations": {"list": []},
        "panels": panels,
    }


def _variables() -> list[dict[str, Any]]:
    instances = 'label_values(up{job="$job"}, instance)'
    return [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        {"name": "job", "type": "textbox", "query": JOB, "current": {"text": JOB, "value": JOB}, "label": "Job"},
        {
            "name": "instance", "type": "query", "datasource": _SOURCE, "query": instances, "definition": instances,
            "refresh": 2, "sort": 1, "multi": True, "includeAll": True, "allValue": ".*", "label": "Node",
            "current": {"text": "All", "value": "$__all"},
        },
    ]  # fmt: skip


def _panel_of(row: MetricRow) -> Panel:
    name = row.names[0]
    legend = " ".join(f"{{{{{label}}}}}" for label in ("instance", *row.labels))
    query = shown(row, SELECTOR, WINDOW, _MOST_SERIES)
    if is_count(row):
        return Panel(
            f"{row.name.name}, per second", _UNITS_PER_SECOND.get(row.unit, "short"), ((query, legend),), (name,)
        )
    if row.kind is not Kind.SUMMARY:
        suffix = ""
    else:
        suffix = ", mean" if name in WITHOUT_QUANTILES else ", 99th percentile"
    return Panel(f"{row.name.name}{suffix}", _UNITS.get(row.unit, "short"), ((query, legend),), (name,))


def _placed(panels: list[dict[str, Any]], y: int, *, width: int, height: int) -> list[dict[str, Any]]:
    """Panels side by side from row `y` of the grid on."""
    per_line = _WIDTH // width
    for number, panel in enumerate(panels):
        line, column = divmod(number, per_line)
        panel["gridPos"] = {"x": column * width, "y": y + line * height, "w": width, "h": height}
    return panels


def _number(panel: Panel, panel_id: int) -> dict[str, Any]:
    steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.bad_from}]
    return {
        **_base(panel, panel_id, "stat"),
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}}, "overrides": [],
        },
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "graphMode": "area"},
    }  # fmt: skip


def _chart(panel: Panel, panel_id: int) -> dict[str, Any]:
    return {
        **_base(panel, panel_id, "timeseries"),
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": {"lineWidth": 1}}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    }


def _base(panel: Panel, panel_id: int, kind: str) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": query, "legendFormat": legend or "__auto"}
        for number, (query, legend) in enumerate(panel.queries)
    ]
    return {
        "id": panel_id, "type": kind, "title": panel.title, "description": description(panel),
        "datasource": _SOURCE, "targets": targets,
    }  # fmt: skip
