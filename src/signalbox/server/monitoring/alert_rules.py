"""deploy/monitoring/alerts.yml, and the table of alerts for docs/monitoring.md."""

from __future__ import annotations

import json
import re

from signalbox.server.monitoring.alert_table import ALERTS, Alert

_HEAD = """# Alert rules for Prometheus (docs/monitoring.md). Written by `python -m signalbox.server.monitoring` from
# src/signalbox/server/monitoring/alert_table.py and the table of metrics: change the tables.
groups:
  - name: signalbox
    rules:
"""


def alert_rules() -> str:
    """Returns the rules as YAML; strings are written as in JSON, which YAML reads."""
    return _HEAD + "".join(_rule(alert) for alert in ALERTS)


def alert_rows() -> list[str]:
    """One line of a table for each alert."""
    return [
        f"| `{alert.name}` | {alert.severity} | {_hold(alert)} | {_plain(alert.meaning)} {_plain(alert.action)}"
        f" [{_title(alert.page)}]({alert.page}) | `{_in_cell(alert.condition)}` |"
        for alert in ALERTS
    ]


def _rule(alert: Alert) -> str:
    lines = [f"- alert: {alert.name}", f"  expr: {json.dumps(alert.condition)}", f"  for: {alert.hold}"]
    lines += ["  labels:", f"    severity: {alert.severity}", "  annotations:"]
    texts = {"summary": alert.meaning, "action": alert.action, "page": f"docs/{alert.page}"}
    lines += [f"    {name}: {json.dumps(_template(text))}" for name, text in texts.items()]
    return "".join(f"      {line}\n" for line in lines)


def _template(text: str) -> str:
    """`{instance}` as Prometheus writes it."""
    return re.sub(r"\{(\w+)\}", lambda label: "{{ " + _reference(label[1]) + " }}", text)


def _reference(label: str) -> str:
    return '$value | printf "%.0f"' if label == "value" else f"$labels.{label}"


def _plain(text: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda label: "N" if label[1] == "value" else f"<{label[1]}>", text)


def _title(page: str) -> str:
    return page.removesuffix(".md").removesuffix("/README").replace("-", " ")


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _hold(alert: Alert) -> str:
    return "at once" if alert.hold == "0m" else f"after {alert.hold.removesuffix('m')} min"
