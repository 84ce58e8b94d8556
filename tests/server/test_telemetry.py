"""The metrics and the audit trail of a node, which also watch its connections."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.server.telemetry import Telemetry, measure_disks
from signalbox.testing.cluster import Cluster
from tests.broker.handler_requests import RecordingAuditSink, context, request_of
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.configuration.settings import config_of
from tests.metric_values import metric_values


def test_a_disabled_audit_trail_records_nothing() -> None:
    for enabled, last_seq in (("true", 0), ("false", -1)):
        telemetry = Telemetry.begin(config_of(signalbox__audit__enable=enabled), ManualClock(), ImmediateScheduler())
        telemetry.audit.record(AuditEvent(kind=AuditKind.ADMIN))
        assert telemetry.audit.last_seq == last_seq


def test_roll_ups_are_written_before_the_one_close_event(cluster: Cluster) -> None:
    components = cluster.nodes[1].components
    host, _, port = str(cluster.nodes[1].describe()["listeners"]["CLIENT"]).rpartition(":")
    sink, kept, closed = RecordingAuditSink(), components.telemetry.audit.record, threading.Event()

    def record(event: object) -> None:
        sink.record(event)  # type: ignore[arg-type]
        kept(event)  # type: ignore[arg-type]
        if event.kind == AuditKind.CONNECTION_CLOSE and event.client_id == "watched":  # type: ignore[attr-defined]
            closed.set()

    components.telemetry.audit.record = record  # type: ignore[method-assign]
    body = encode_request_header(ApiKey.METADATA, 12, 1, "watched") + MetadataRequest(topics=[]).encode(12)
    with socket.create_connection((host, int(port)), 5) as peer:
        name = "{}:{}".format(*peer.getsockname())
        peer.sendall(len(body).to_bytes(4) + body)
        assert peer.recv(4)
    assert closed.wait(5)
    del components.telemetry.audit.record
    mine = [e for e in sink.events if e.client_id == "watched" or name.rpartition(":")[2] in e.connection_id]
    kinds = [event.kind.value for event in mine]
    assert kinds.count("connection_close") == 1
    assert kinds.count("connection_open") == 1
    assert kinds.index("rollup") < kinds.index("connection_close")


def test_a_connection_without_requests_writes_no_roll_up() -> None:
    telemetry = Telemetry.begin(config_of(signalbox__audit__enable="true"), ManualClock(), ImmediateScheduler())

    class Gone:
        connection_id = "c-1"
        context = context()

    telemetry.opened(Gone())  # type: ignore[arg-type]
    telemetry.closed(Gone(), "gone")  # type: ignore[arg-type]
    assert telemetry.audit.last_seq == -1


def test_a_connection_that_fails_before_its_login_writes_no_roll_up() -> None:
    telemetry = Telemetry.begin(config_of(signalbox__audit__enable="true"), ManualClock(), ImmediateScheduler())

    class Gone:
        connection_id = "c-1"
        context = context()

    telemetry.rollups.add(request_of(ApiVersionsRequest(), 0), "API_VERSIONS", False, 1, 0.0)
    telemetry.setup_failed(Gone())  # type: ignore[arg-type]
    telemetry.rollups.flush()
    assert telemetry.audit.last_seq == -1


def test_the_kernels_counts_are_shown(tmp_path: Path) -> None:
    registry, io = MetricRegistry(), tmp_path / "io"
    io.write_text("rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 0\n")
    measure_disks(registry, io)
    assert metric_values(registry) == {("linux-disk-read-bytes",): 4096, ("linux-disk-write-bytes",): 512}


def test_where_the_kernel_does_not_tell_there_are_none(tmp_path: Path) -> None:
    registry = MetricRegistry()
    measure_disks(registry, tmp_path / "missing")
    assert metric_values(registry) == {}
