"""A whole cluster in the test's process: brokers go and come back with their data, at their addresses."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from signalbox.testing.chaos.group import read_everything
from signalbox.testing.chaos.ledger import RecordId
from signalbox.testing.cluster import Cluster


def test_a_broker_comes_back_where_it_was_with_what_it_had() -> None:
    with Cluster(1, overrides={"auto.create.topics.enable": "true", "num.partitions": "1"}) as cluster:
        before = cluster.bootstrap_servers
        producer = Producer({"bootstrap.servers": before, "acks": "all", "log_level": 2})
        producer.produce("kept", RecordId(0, 7).encode() + b"-")
        assert producer.flush(20) == 0
        cluster.stop_broker(1)
        assert cluster.bootstrap_servers == ""
        cluster.start_broker(1)
        assert cluster.bootstrap_servers == before
        assert read_everything(before, "kept", 1, 20) == {0: [(0, RecordId(0, 7))]}


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(ValueError, match=r"num\.partitions"):
        Cluster(1, overrides={"num.partitions": "many"}).start()


def test_a_cluster_that_is_not_started_runs_nothing() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        Cluster(1).run(_nothing())


async def _nothing() -> None:
    """Never run."""
