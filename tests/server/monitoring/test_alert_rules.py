"""The alert table as Prometheus' rules and as lines of a page."""

from __future__ import annotations

import re

from signalbox.server.monitoring.alert_rules import alert_rows, alert_rules
from signalbox.server.monitoring.alert_table import ALERTS


def test_all_are_rendered() -> None:
    names = [alert.name for alert in ALERTS]
    assert re.findall(r"- alert: (\w+)", alert_rules()) == names
    assert [row.split("`")[1] for row in alert_rows()] == names


def test_labels_and_values_become_templates() -> None:
    rules = alert_rules()
    assert 'summary: "Node {{ $labels.instance }} does not respond on its metrics port."' in rules
    assert '"{{ $value | printf \\"%.0f\\" }} partitions have no leader."' in rules
    assert "N partitions have no leader." in "\n".join(alert_rows())
