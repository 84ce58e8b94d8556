"""The components of a node belong together: each uses the same cache, epochs and audit trail."""

from __future__ import annotations

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.testing.cluster import Cluster
from signalbox.wiring.node_components import Telemetry
from tests.wiring.settings import config_of


def test_shared_parts(cluster: Cluster) -> None:
    for node_id, node in cluster.nodes.items():
        components = node.components
        assert components.epochs.node_id == node_id
        assert components.cache is components.context.cache
        assert components.cache.image.is_alive(node_id)
        assert components.cluster_id == components.context.cluster_id
        assert components.epochs.broker_epoch > 0


def test_a_disabled_audit_trail_records_nothing() -> None:
    for enabled, last_seq in (("true", 0), ("false", -1)):
        telemetry = Telemetry.begin(config_of(signalbox__audit__enable=enabled), ManualClock())
        telemetry.audit.record(AuditEvent(kind=AuditKind.ADMIN))
        assert telemetry.audit.last_seq == last_seq
