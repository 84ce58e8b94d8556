"""The metrics and the audit trail of a node, as one value: what the other components count and record with."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.audit.audit_trail import AuditTrail
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.metrics.request_metrics import RequestMetrics
from signalbox.broker.routing.misroutes import MisrouteLog
from signalbox.common.clock import Clock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.configuration import NodeConfig
from signalbox.server.metrics.disk_metrics import measure_disks


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
