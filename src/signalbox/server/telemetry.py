"""The metrics and the audit trail of a node, as one value: what the other components count and record with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.audit.audit_trail import AuditTrail
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.metrics.request_metrics import RequestMetrics
from signalbox.broker.routing.misroutes import MisrouteLog
from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.configuration import NodeConfig
from signalbox.network.connection import Connection

_IO = Path("/proc/self/io")
_GAUGES = {"linux-disk-read-bytes": "read_bytes", "linux-disk-write-bytes": "write_bytes"}


@dataclass(slots=True, kw_only=True)
class Telemetry:
    """Metrics and audit of this broker."""

    metrics: MetricRegistry
    audit: AuditTrail
    rollups: AuditRollups
    misroutes: MisrouteLog
    requests: RequestMetrics
    software: ClientSoftware

    @classmethod
    def begin(cls, config: NodeConfig, clock: Clock, scheduler: TaskScheduler) -> Telemetry:
        metrics = MetricRegistry()
        measure_disks(metrics)
        audit = AuditTrail(config.node_id, clock, metrics, scheduler, config["signalbox.audit.enable"])
        return cls(
            metrics=metrics,
            audit=audit,
            rollups=AuditRollups(audit, clock),
            misroutes=MisrouteLog(metrics, audit, clock),
            requests=RequestMetrics(metrics),
            software=ClientSoftware(metrics),
        )

    def opened(self, connection: Connection) -> None:
        """Count the client's software while the connection is open (`network/ports.ConnectionWatcher`)."""
        self.software.opened(connection.context)

    def closed(self, connection: Connection, reason: str) -> None:
        """Write the roll-ups of the connection, immediately before the network records that it is closed."""
        self.software.closed(connection.context)
        self.rollups.close(connection.connection_id)

    def setup_failed(self, connection: Connection) -> None:
        """Forget the ApiVersions requests of a connection that was closed before its login was complete."""
        self.rollups.discard(connection.connection_id)


def measure_disks(metrics: Metrics, io: Path = _IO) -> None:
    """Registers the bytes that this process has read from and written to disks, under Kafka's names. Linux counts them
    in `/proc/self/io`: reads from the page cache are not reads from a disk. No metric if the kernel does not give the
    numbers (another user's process, no task accounting)."""
    try:
        io.read_text()
    except OSError:
        return
    for name, field in _GAUGES.items():
        metrics.gauge(MetricName("kafka.server", "KafkaServer", name), partial(_read, io, field))


def _read(io: Path, field: str) -> int:
    rows = dict(line.split(": ") for line in io.read_text().splitlines())
    return int(rows[field])
