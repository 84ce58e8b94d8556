"""The stage: checks that are counted, metrics read from the brokers' own pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.cli.demo.stage import CheckFailed, Stage, StepFailed, counted, listing
from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from tests.transport.self_connecting import dial_themselves


def test_a_check_that_does_not_hold_ends_the_demo(stage: Stage) -> None:
    before, began = len(stage.checks), time.monotonic()
    with stage.step("Somewhere"):
        stage.check("one is one", True, 1)
        with pytest.raises(CheckFailed, match="Somewhere: one is two: 1"):
            stage.check("one is two", False, 1)
    assert [(check.step, check.claim, check.seen) for check in stage.checks[before:]] == [
        ("Somewhere", "one is one", "1")
    ]
    assert 0 < stage.seconds["Somewhere"] <= time.monotonic() - began


def test_metrics_are_summed_over_labels(stage: Stage) -> None:
    controller = stage.controller_id()
    assert controller in stage.cluster.brokers
    name = "kafka_controller_kafkacontroller_activecontrollercount"
    assert sum(stage.metric(node_id, name) for node_id in stage.cluster.brokers) == 1
    assert stage.metric(controller, "no_such_metric") == 0
    requests = "kafka_network_requestmetrics_requests_total"
    assert stage.metric(1, requests, request="ApiVersions") <= stage.metric(1, requests)


def test_a_metrics_page_of_a_stopped_broker_is_not_its_own_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    port = dial_themselves(monkeypatch)
    broker = SimpleNamespace(ready={"metrics": f"http://127.0.0.1:{port}/metrics"})
    stopped: Any = SimpleNamespace(cluster=SimpleNamespace(brokers={1: broker}))
    with pytest.raises(OSError, match="socket connected to itself"):
        Stage.metric(stopped, 1, "requests")


def _kafka_client_fails(stage: Stage) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": stage.cluster.bootstrap(), "log_level": 2})
    admin.create_topics([NewTopic("stage", 1, replication_factor=7)])["stage"].result(20)


def _kafka_python_fails(stage: Stage) -> None:
    from kafka import KafkaConsumer

    KafkaConsumer(no_such_config=1)


def _our_client_fails(stage: Stage) -> None:
    asyncio.run(connect(Address("127.0.0.1", 1), ConnectionSettings()))


def _metrics_page_fails(stage: Stage) -> None:
    stage.cluster.brokers[2].ready["metrics"] = "http://127.0.0.1:1/metrics"
    stage.metric(2, "up")


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (_kafka_client_fails, "INVALID_REPLICATION_FACTOR"),
        (_kafka_python_fails, "no_such_config"),
        (_our_client_fails, "could not connect to 127.0.0.1:1"),
        (_metrics_page_fails, "Connection refused"),
    ],
)
def test_a_failed_client_ends_the_demo_with_the_step_and_the_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, failing: Callable[[Stage], None], reason: str
) -> None:
    monkeypatch.setitem(stage.cluster.brokers[2].ready, "metrics", stage.cluster.brokers[2].ready["metrics"])
    with pytest.raises(StepFailed, match=f"Somewhere: .*{reason}"), stage.step("Somewhere"):
        failing(stage)


def test_one_and_many() -> None:
    assert [counted(number, "time") for number in (0, 1, 2000)] == ["0 times", "1 time", "2,000 times"]
    assert counted(2, "entry", "entries") == "2 entries"


def test_lists() -> None:
    assert listing({"b", "a"}) == "a, b"
    assert listing([]) == "none"
