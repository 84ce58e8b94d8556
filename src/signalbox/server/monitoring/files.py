"""The files that are rendered: rules, dashboard, and the page of docs/ that lists the alerts."""

from __future__ import annotations

import sys
from pathlib import Path

from signalbox.server.monitoring.alert_rules import alert_rows, alert_rules
from signalbox.server.monitoring.dashboard import dashboard

_INTRODUCTION = """# Monitoring: Prometheus and Grafana

Every node has a page of [metrics](metrics.md), and with it [health and readiness](health.md). `deploy/monitoring/` has
what reads them:

| file | for |
|---|---|
| `deploy/monitoring/prometheus.yml` | Prometheus: where the nodes are; change the addresses |
| `deploy/monitoring/alerts.yml` | Prometheus' `rule_files`: the alerts below |
| `deploy/monitoring/dashboard.json` | Grafana: Dashboards, New, Import. All metrics, the important ones first |

1. Set `signalbox.metrics.http.host=0.0.0.0` and `signalbox.metrics.http.port=9404` in each `server.properties`. The
   page needs no password: let only Prometheus reach the port.
2. Name the nodes in `prometheus.yml`. The job must be called `signalbox`. For several clusters add a label `cluster` to
   the nodes of each: alerts are grouped by it.
3. `promtool check config prometheus.yml` reads the rules too.

Rules and dashboard are rendered by `python -m signalbox.server.monitoring` from tables in
`src/signalbox/server/monitoring/` and the table of metrics, so that neither asks for a metric that brokers do not have.
A test lets `promtool` read both, and raises each alert with the values of its fault; the page of a healthy broker
raises none.

## Alerts

`critical`: clients have errors, or records are in danger. `warning`: look at it within a day. The limits (1,000 events,
100 ms, a tenth idle) are a start: change them for your load.

| alert | severity | when | meaning, and what to do | condition |
|---|---|---|---|---|
"""


def monitoring_page() -> str:
    """Returns the text of docs/monitoring.md."""
    return _INTRODUCTION + "\n".join(alert_rows()) + "\n"


FILES = {
    "deploy/monitoring/alerts.yml": alert_rules,
    "deploy/monitoring/dashboard.json": dashboard,
    "docs/monitoring.md": monitoring_page,
}


def main(arguments: list[str]) -> int:
    """Writes the files below the working directory; with `--check` returns 1 if one is not current."""
    stale = []
    for name, render in FILES.items():
        file = Path(name)
        if "--check" not in arguments:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(render(), encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != render():
            stale.append(f"{name} is not current: run python -m signalbox.server.monitoring")
    for problem in stale:
        print(problem, file=sys.stderr)
    return 1 if stale else 0
