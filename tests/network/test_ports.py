from __future__ import annotations

from signalbox.common.audit_event import NullAudit
from signalbox.common.metrics import NullMetrics
from signalbox.network.ports import NetworkPorts
from signalbox.security.principal import DefaultPrincipalBuilder
from tests.network.serving import EVERY_API, EchoSink


def test_sink_and_gate_are_enough() -> None:
    ports = NetworkPorts(request_sink=EchoSink(), served_versions=EVERY_API)
    assert (ports.fast_path, ports.watcher, dict(ports.security)) == (None, None, {})
    assert isinstance(ports.audit, NullAudit)
    assert isinstance(ports.metrics, NullMetrics)
    assert isinstance(ports.principal_builder, DefaultPrincipalBuilder)
