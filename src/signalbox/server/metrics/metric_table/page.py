"""Renders docs/metrics.md from the table of metrics and from docs/dashboard-metrics.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from signalbox.server.metrics.metric_table import METRIC_ROWS
from signalbox.server.metrics.metric_table.row import PROCESS_ROWS, MetricRow

DASHBOARDS = Path("docs/dashboard-metrics.toml")

_INTRODUCTION = """# Metrics

Every node serves them on `signalbox.metrics.http.host` and `signalbox.metrics.http.port`, path `/metrics`, as
Prometheus' text; a dedicated controller has no metrics of logs, replicas, topics and groups. Metrics that Apache Kafka
has too are named as the usual rules of Prometheus' JMX exporter name Kafka's MBeans (its example for Kafka 2.0.0,
Strimzi's rules): `PerSec` is stripped from counters and `_total` added, histograms have `_count`, `_sum` and
`quantile`. Shares (`...percent`) have a second name, as in Strimzi's rules: `..._percent`. What Kafka does not have
begins with `signalbox_`. Quantiles (0.5, 0.75, 0.95, 0.98, 0.99, 0.999) are of the latest 1,024 values. Counts are
since the node started. A label that a sample does not have is empty for Prometheus: `topic=""` is the sum over all
topics.

The same port has `/ready` and `/health` ([health.md](health.md)).
"""
_BOARDS = """
## Grafana boards

What the panels and variables of well-known boards for Kafka ask for, and what of it this page does not have.
"""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard. `exists`: names that the metrics page has; `absent`: names that it does not have, with the
    reason."""

    name: str
    exists: tuple[str, ...]
    absent: dict[str, str]


def read_boards(path: Path = DASHBOARDS) -> list[Board]:
    """Returns the dashboards in the file."""
    entries = tomllib.loads(path.read_text())["board"]
    return [Board(entry["name"], tuple(entry["exists"]), dict(entry["absent"])) for entry in entries]


def metrics_page() -> str:
    """Returns the text of docs/metrics.md."""
    lines = [_INTRODUCTION]
    for title, prefix in (("Kafka's", "kafka."), ("Of Signalbox alone", "signalbox.")):
        lines += [f"## {title}", "", "| metric | type | labels | unit | meaning | MBean |", "|---|---|---|---|---|---|"]
        lines += [_line(row) for row in METRIC_ROWS if row.name.group.startswith(prefix)]
        lines.append("")
    lines += ["## The process", "", "| metric | type | unit | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.type} | {row.unit} | {row.doc} |" for row in PROCESS_ROWS]
    lines += [_BOARDS, *_boards()]
    return "\n".join(lines)


def _line(row: MetricRow) -> str:
    labels = ", ".join(f"`{label}`" for label in row.labels)
    doc = row.doc + (f" Only when {row.when}." if row.when else "")
    return f"| `{row.names[0]}` | {row.type} | {labels} | {row.unit} | {doc} | `{row.mbean}` |"


def _boards() -> Iterator[str]:
    for board in read_boards():
        yield f"### {board.name}\n"
        yield "Here: " + ", ".join(f"`{name}`" for name in board.exists) + ".\n"
        yield "| not here | because |\n|---|---|"
        yield from (f"| `{name}` | {reason} |" for name, reason in board.absent.items())
        yield ""
