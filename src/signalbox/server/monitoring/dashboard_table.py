"""The panels of the dashboard's first rows: what an operator looks at first. All families have a panel of their own
below them, which needs no table.

A query here is a function of the window for rates; `$job` and `$instance` are variables of the dashboard.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.server.monitoring.queries import row_of, series

SELECTOR = 'job="$job",instance=~"$instance"'
WINDOW = "$__rate_interval"
_LONG = "1h"


@dataclass(frozen=True, slots=True)
class Panel:
    """`queries`: (query, legend). `bad_from`: the value from which a number is red; None for a line chart.
    `names`: the families, whose meanings are the panel's description."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    bad_from: float | None = None


def _number(title: str, name: str, fold: str, bad_from: float = 1) -> Panel:
    return Panel(title, "short", ((f"{fold}({series(name, SELECTOR)})", ""),), (name,), bad_from)


def _growth(title: str, name: str) -> Panel:
    query = f"sum(increase({series(name, SELECTOR)}[{_LONG}])) or vector(0)"
    return Panel(f"{title}, last hour", "short", ((query, ""),), (name,), 1)


def _rates(title: str, unit: str, by: str, *names: str) -> Panel:
    labels = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    legend = labels if len(names) == 1 else f"{labels} {{{{__name__}}}}"
    queries = tuple(
        (f"sum by ({by}) (rate({series(name, SELECTOR)}[{WINDOW}]))", legend.replace("{{__name__}}", _last(name)))
        for name in names
    )
    return Panel(title, unit, queries, names)


def _values(title: str, unit: str, legend: str, *names: str, more: tuple[str, ...] = ()) -> Panel:
    return Panel(title, unit, tuple((series(name, SELECTOR, *more), legend) for name in names), names)


def _last(name: str) -> str:
    return name.removesuffix("_total").rpartition("_")[2]


_CONTROLLER = "kafka_controller_kafkacontroller_"
_REPLICAS = "kafka_server_replicamanager_"
_TOPICS = "kafka_server_brokertopicmetrics_"

FIRST_PANELS: tuple[Panel, ...] = (
    _number("Active controllers", f"{_CONTROLLER}activecontrollercount", "sum", 2),
    _number("Brokers", f"{_CONTROLLER}activebrokercount", "max", 1e9),
    _number("Partitions without a leader", f"{_CONTROLLER}offlinepartitionscount", "max"),
    _number("Partitions under min ISR", f"{_REPLICAS}underminisrpartitioncount", "sum"),
    _number("Under-replicated partitions", f"{_REPLICAS}underreplicatedpartitions", "sum"),
    _number("Log directories offline", "kafka_log_logmanager_offlinelogdirectorycount", "sum"),
    _number("Worst advertised address", "signalbox_server_advertisedaddresses_state", "max", 2),
    _growth("Misrouted connections", "signalbox_network_socketserver_misroutedconnections_total"),
    _rates("Records appended", "short", "topic", f"{_TOPICS}messagesin_total"),
    _rates("Bytes in and out", "Bps", "instance", f"{_TOPICS}bytesin_total", f"{_TOPICS}bytesout_total"),
    _rates("Requests", "reqps", "request", "kafka_network_requestmetrics_requests_total"),
    _values("Total time of requests, 99th percentile", "ms", "{{instance}} {{request}}",
            "kafka_network_requestmetrics_totaltimems", more=('quantile="0.99"', 'request=~"Produce|FetchConsumer"')),
    _values("Idle share of the thread that serves requests", "percentunit", "{{instance}}",
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent"),
    _values("Open connections", "short", "{{instance}} {{plane}}", "signalbox_network_socketserver_connections"),
    _values("Lag of followers", "short", "{{instance}} {{clientId}}", "kafka_server_replicafetchermanager_maxlag"),
    _rates("Requests forwarded to the controller", "reqps", "instance",
           "kafka_server_forwardingmanager_num_messages_redirected_count"),
    _values("Events that wait for the controller", "short", "{{instance}}",
            "kafka_controller_controllereventmanager_eventqueuesize"),
    _rates("Audit events", "short", "instance", "signalbox_audit_audittrail_writtenevents_total",
           "signalbox_audit_audittrail_droppedevents_total"),
    _rates("Processor time of the nodes", "percentunit", "instance", "process_cpu_seconds_total"),
    _values("Resident memory", "bytes", "{{instance}}", "process_resident_memory_bytes"),
)  # fmt: skip


def description(panel: Panel) -> str:
    """The meanings of a panel's families, from the table of metrics."""
    return " ".join(f"{name}: {row_of(name).doc}" for name in panel.names)
