"""The alert rules: names, labels and pages exist. tests/system/deploy raises each of them with promtool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from signalbox.server.metrics.metric_table import METRIC_ROWS, PAGE_NAMES
from signalbox.server.monitoring.alert_table import ALERTS, Alert

DOCS = Path(__file__).parents[3] / "docs"
BY_ALERT = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def metrics_of(alert: Alert) -> set[str]:
    return set(re.findall(r"\b(?:kafka|signalbox|process)_\w+", alert.condition))


@BY_ALERT
def test_it_asks_for_metrics_of_the_page(alert: Alert) -> None:
    assert metrics_of(alert) <= PAGE_NAMES
    assert metrics_of(alert) or alert.condition == 'up{job="signalbox"} == 0'


@BY_ALERT
def test_its_text_uses_labels_that_the_condition_has(alert: Alert) -> None:
    used = set(re.findall(r"\{(\w+)\}", alert.meaning + alert.action)) - {"value"}
    folded = re.search(r"\bby \(([\w, ]+)\)", alert.condition)
    if folded is not None:
        labels = set(folded[1].split(", "))
    else:
        labels = {"instance"}.union(*(row.labels for row in METRIC_ROWS if row.names[0] in metrics_of(alert)))
    assert used <= labels


@BY_ALERT
def test_it_is_complete(alert: Alert) -> None:
    assert alert.severity in {"critical", "warning"}
    assert re.fullmatch(r"\d+m", alert.hold)
    assert (DOCS / alert.page).exists()
    assert alert.meaning.endswith(".")
    assert alert.action.endswith((".", "?"))


def test_names_are_unique() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
