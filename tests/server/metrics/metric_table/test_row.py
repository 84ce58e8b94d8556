from __future__ import annotations

from collections import Counter

import pytest

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.server.metrics.metric_table import METRIC_ROWS
from signalbox.server.metrics.metric_table.row import MetricRow


@pytest.mark.parametrize("row", METRIC_ROWS, ids=lambda row: row.names[0])
def test_rows_are_complete(row: MetricRow) -> None:
    assert row.name.group.startswith(("kafka.", "signalbox."))
    assert row.unit
    assert row.doc.endswith(".")
    assert list(row.labels) == sorted(row.labels)
    assert (row.type is Kind.COUNTER) == row.names[0].endswith("_total")


def test_no_two_rows_share_a_name() -> None:
    names = Counter(name for row in METRIC_ROWS for name in row.names)
    assert [name for name, count in names.items() if count > 1] == []
