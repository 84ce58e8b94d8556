"""kafka-features of Apache Kafka against a running cluster: described, raised, lowered, rejected (SPEC F2)."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK, RoutedCluster
from tests.system.console_tools import tool, tried
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)
SPAN = r"SupportedMinVersion: 1\s+SupportedMaxVersion: 1"
LINE = rf"Feature: signalbox.version\s+{SPAN}\s+FinalizedVersionLevel: (\d)\s+Epoch: (\d+)"


@pytest.mark.slow
@pytest.mark.spec("F2")
def test_a_feature_is_raised_and_lowered_and_every_broker_reports_it(
    cluster: RoutedCluster, kafka_bootstrap: str
) -> None:
    at = ["--bootstrap-server", kafka_bootstrap]
    feature = ["--feature", "signalbox.version=1"]

    def described(address: str) -> tuple[int, int]:
        found = re.search(LINE, out := tool("kafka-features", "--bootstrap-server", address, "describe"))
        assert found, out
        return int(found[1]), int(found[2])

    def tells(address: str, level_and_epoch: tuple[int, int]) -> bool:
        return described(address) == level_and_epoch

    level, epoch = described(kafka_bootstrap)
    assert level == 0
    dry = tool("kafka-features", *at, "upgrade", "--dry-run", *feature)
    assert "signalbox.version can be upgraded to 1." in dry
    assert described(kafka_bootstrap) == (0, epoch)
    assert "signalbox.version was upgraded to 1." in tool("kafka-features", *at, "upgrade", *feature)
    for address in kafka_bootstrap.split(","):
        until(partial(tells, address, (1, epoch + 1)), f"level 1 at {address}")
    rejected = tried("kafka-features", *at, "upgrade", "--feature", "signalbox.version=2")
    assert rejected.code == 1
    assert "Invalid update version 2 for feature signalbox.version. Local controller" in rejected.out + rejected.err
    down = tool("kafka-features", *at, "downgrade", "--feature", "signalbox.version=0")
    assert "signalbox.version was downgraded to 0." in down
    tool("kafka-features", *at, "upgrade", *feature)
    assert "signalbox.version was disabled." in tool("kafka-features", *at, "disable", "--feature", "signalbox.version")
    for address in kafka_bootstrap.split(","):
        until(partial(tells, address, (0, epoch + 4)), f"nothing finalized at {address}")


@pytest.mark.slow
def test_kafkas_own_features_are_rejected(kafka_bootstrap: str) -> None:
    at = ["--bootstrap-server", kafka_bootstrap]
    for asked in (["--feature", "group.version=1"], ["--release-version", "4.0"]):
        rejected = tried("kafka-features", *at, "upgrade", *asked)
        assert rejected.code == 1
        assert "does not support this feature." in rejected.out + rejected.err


@pytest.mark.slow
@pytest.mark.spec("F2", "F15")
def test_a_dedicated_controller_finalizes_for_all(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 2, overrides=QUICK, controllers=1) as cluster:
        upgrade = ["upgrade", "--feature", "signalbox.version=1"]
        done = tool("kafka-features", "--bootstrap-server", cluster.brokers[1].address("CLIENT"), *upgrade)
        assert "signalbox.version was upgraded to 1." in done
        for broker in cluster.brokers.values():
            until(partial(is_at_level_1, broker.address("CLIENT")), f"level 1 on broker {broker.node_id}")
        cluster.kill(2)
        cluster.start_broker(2)
        assert is_at_level_1(cluster.brokers[2].address("CLIENT")), "for who comes later too"


def is_at_level_1(address: str) -> bool:
    found = re.search(LINE, out := tool("kafka-features", "--bootstrap-server", address, "describe"))
    assert found, out
    return found[1] == "1"
