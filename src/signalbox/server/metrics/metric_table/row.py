"""One row of the table of metrics: the family's name on the metrics page, its type, its unit and its meaning."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.common.metrics import MetricName
from signalbox.server.metrics.metrics_text import prometheus_names, prometheus_type


@dataclass(frozen=True, slots=True)
class MetricRow:
    """`labels` as on the page. `when`: the condition under which the family is on a page; "" means always."""

    name: MetricName
    kind: Kind
    unit: str
    doc: str
    labels: tuple[str, ...] = ()
    when: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names on the page; the first is the preferred one."""
        return prometheus_names(self.name, self.kind)

    @property
    def type(self) -> Kind:
        return prometheus_type(self.name, self.kind)

    @property
    def mbean(self) -> str:
        return f"{self.name.group}:type={self.name.type},name={self.name.name}"


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A metric of the process, which prometheus-client's collector reads from `/proc`."""

    name: str
    type: Kind
    unit: str
    doc: str


PROCESS_ROWS = (
    ProcessRow("process_cpu_seconds_total", Kind.COUNTER, "seconds", "Processor time of the process."),
    ProcessRow("process_resident_memory_bytes", Kind.GAUGE, "bytes", "Resident memory."),
    ProcessRow("process_virtual_memory_bytes", Kind.GAUGE, "bytes", "Virtual memory."),
    ProcessRow("process_open_fds", Kind.GAUGE, "descriptors", "Open file descriptors."),
    ProcessRow("process_max_fds", Kind.GAUGE, "descriptors", "The limit of open file descriptors."),
    ProcessRow("process_start_time_seconds", Kind.GAUGE, "seconds", "When the process started, since the epoch."),
)


def rows_of(group: str, type_: str, kind: Kind, labels: tuple[str, ...], *rows: tuple[str, ...]) -> list[MetricRow]:
    """Rows that share an MBean's type; each is (name, unit, sentence) or (name, unit, sentence, when)."""
    return [
        MetricRow(MetricName(group, type_, name), kind, unit, doc, labels, *when) for name, unit, doc, *when in rows
    ]
