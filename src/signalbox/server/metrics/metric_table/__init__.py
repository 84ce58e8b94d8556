"""The table of all metrics: rendered as docs/metrics.md, and compared with a real broker's page in tests."""

from __future__ import annotations

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.server.metrics.metric_table.kafka import KAFKA_ROWS
from signalbox.server.metrics.metric_table.own import OWN_ROWS
from signalbox.server.metrics.metric_table.row import PROCESS_ROWS, MetricRow

METRIC_ROWS: tuple[MetricRow, ...] = (*KAFKA_ROWS, *OWN_ROWS)
PAGE_NAMES = frozenset(
    {name for row in METRIC_ROWS for name in row.names}
    | {row.names[0] + suffix for row in METRIC_ROWS if row.kind is Kind.SUMMARY for suffix in ("_count", "_sum")}
    | {row.name for row in PROCESS_ROWS}
)
"""Names that queries can use, for example those of dashboards."""
