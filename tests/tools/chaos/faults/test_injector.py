"""Real signals to real processes: a killed broker restarts, a paused one resumes, a broken cluster is reported."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.chaos.faults.injector import ClusterUnhealthy, FaultInjector
from tools.chaos.plan import Fault, Kind, Target
from tools.chaos.state_reader import StateReader, state_in_file

from signalbox.testing.process_cluster import ProcessCluster

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    overrides = {"signalbox.metrics.http.port": "-1", "controlled.shutdown.enable": "false"}
    with ProcessCluster(tmp_path_factory.mktemp("chaos"), 3, overrides=overrides) as running:
        yield running


@pytest.fixture
def state(cluster: ProcessCluster) -> Iterator[StateReader]:
    with state_in_file(cluster.folder / "metadata.db") as reader:
        yield reader


def pid(cluster: ProcessCluster, broker_id: int) -> int:
    process = cluster.brokers[broker_id].process
    assert process is not None
    return process.pid


def test_the_killed_controller_is_another_process_afterwards(cluster: ProcessCluster, state: StateReader) -> None:
    controller_id = state.controller_id()
    before = pid(cluster, controller_id)
    injector = FaultInjector(cluster, state, "no-topic", time.monotonic())
    done = injector.inject(Fault(Kind.KILL, Target.CONTROLLER, 0.0, 0.0, 0.5))
    assert (done.kind, done.broker, done.was_controller, done.led) == ("SIGKILL", controller_id, True, 0)
    assert pid(cluster, controller_id) != before
    assert state.controller_id() not in (-1, controller_id)
    assert state.what_is_missing(3) == ""


def test_a_stopped_broker_goes_on(cluster: ProcessCluster, state: StateReader) -> None:
    before = {broker_id: pid(cluster, broker_id) for broker_id in cluster.brokers}
    done = FaultInjector(cluster, state, "no-topic", time.monotonic()).inject(
        Fault(Kind.PAUSE, Target.BYSTANDER, 0.3, 0.0, 0.9)
    )
    assert (done.kind, done.was_controller, done.killed_by_peers) == ("SIGSTOP", False, False)
    assert {broker_id: pid(cluster, broker_id) for broker_id in cluster.brokers} == before


def test_a_cluster_that_does_not_recover_is_reported(state: StateReader, tmp_path: Path) -> None:
    four = ProcessCluster(tmp_path, 4)
    with pytest.raises(ClusterUnhealthy, match=r"only the brokers 1, 2, 3 are registered"):
        FaultInjector(four, state, "no-topic", time.monotonic(), recovery_timeout_s=0.2).wait_until_healthy()
