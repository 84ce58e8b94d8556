"""The forced control plane rejects data requests and accepts control requests."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.cli.demo import control_plane
from signalbox.cli.demo.control_plane import reject_data, watch_latency
from signalbox.cli.demo.stage import CheckFailed, Stage
from tests.transport.self_connecting import dial_themselves


@pytest.mark.spec("C4")
def test_data_is_rejected_and_counted(stage: Stage) -> None:
    reject_data(stage)
    assert [(check.claim, check.seen) for check in stage.checks[-3:]] == [
        ("a data request on the control plane is not answered", "connection closed"),
        ("the broker counted it as rejected", "1 request"),
        (
            "the control plane lists set-up and controller requests alone",
            "ApiVersions, ControlledShutdown, LeaderAndIsr, SaslAuthenticate, SaslHandshake, StopReplica, "
            "UpdateMetadata",
        ),
    ]


@pytest.mark.parametrize(("listener", "claim"), [("CLIENT", "is not answered"), ("REPLICATION", "is not answered")])
def test_a_plane_that_is_not_forced_fails_the_check(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, listener: str, claim: str
) -> None:
    monkeypatch.setattr(control_plane, "_LISTENER", listener)
    with pytest.raises(CheckFailed, match=claim):
        reject_data(stage)


def test_a_broker_that_does_not_answer_fails_the_check(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(sock: object) -> bytes:
        return b""

    monkeypatch.setattr(control_plane, "_read_frame", closed)
    with pytest.raises(CheckFailed, match=r"broker 1: it closed the connection"), watch_latency(stage, "silent"):
        threading.Event().wait(0.2)


def test_latencies_of_all_brokers_in_order(stage: Stage) -> None:
    with watch_latency(stage, "test"):
        threading.Event().wait(0.2)
    found = stage.facts["control_latency_ms"]["test"]
    assert len(found) >= 3
    assert found == sorted(found)


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    port = dial_themselves(monkeypatch)
    broker = SimpleNamespace(address=lambda listener: f"127.0.0.1:{port}")
    stopped: Any = SimpleNamespace(cluster=SimpleNamespace(brokers={1: broker}), metric=lambda *_, **__: 0)
    with pytest.raises(ConnectionRefusedError, match="socket connected to itself"):
        reject_data(stopped)
