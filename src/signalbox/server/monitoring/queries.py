"""Queries of Prometheus for rows of the table of metrics. A name that no row has is a KeyError: no query of ours asks
for a metric that brokers do not have.

A selector is the text between the braces. Alert rules select the job by its name, dashboards by their variables.
"""

from __future__ import annotations

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.server.metrics.metric_table import METRIC_ROWS
from signalbox.server.metrics.metric_table.row import PROCESS_ROWS, MetricRow, ProcessRow

JOB = "signalbox"
ROWS: dict[str, MetricRow] = {row.names[0]: row for row in METRIC_ROWS}
_PROCESS = {row.name: row for row in PROCESS_ROWS}

WITHOUT_QUANTILES = frozenset({"kafka_network_requestmetrics_requestbytes"})
"""Summaries that have a count and a sum only."""
GROWING_GAUGES = frozenset(
    {"kafka_server_kafkaserver_linux_disk_read_bytes", "kafka_server_kafkaserver_linux_disk_write_bytes"}
)
"""Counts that Kafka has as gauges."""


def row_of(name: str) -> MetricRow | ProcessRow:
    """The row of the family with this name on the page."""
    return _PROCESS[name] if name in _PROCESS else ROWS[name]


def series(name: str, selector: str, *more: str) -> str:
    """`name{selector,more}`."""
    return f"{row_of(name) and name}{{{','.join((selector, *more))}}}"


def is_count(row: MetricRow) -> bool:
    """Whether only the growth of the values says something."""
    return row.kind is Kind.COUNTER or row.names[0] in GROWING_GAUGES


def shown(row: MetricRow, selector: str, window: str, most: int) -> str:
    """The query for a panel with this family alone: growth per second of counts, the 99th percentile of summaries, else
    the values. A family with labels shows its `most` largest series."""
    name = row.names[0]
    by = ", ".join(("instance", *(label for label in row.labels if label != "quantile")))
    if is_count(row):
        query = f"sum by ({by}) (rate({series(name, selector)}[{window}]))"
    elif row.kind is Kind.SUMMARY and name in WITHOUT_QUANTILES:
        total, count = (f"rate({name}{suffix}{{{selector}}}[{window}])" for suffix in ("_sum", "_count"))
        query = f"sum by ({by}) ({total}) / sum by ({by}) ({count})"
    elif row.kind is Kind.SUMMARY:
        query = series(name, selector, 'quantile="0.99"')
    else:
        query = series(name, selector)
    return f"topk({most}, {query})" if row.labels else query
