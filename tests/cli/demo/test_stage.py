"""The stage: checks that are counted, metrics read from the brokers' own pages."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.cli.demo.stage import CheckFailed, Stage
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
