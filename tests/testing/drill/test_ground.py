"""The clusters of the drill between two stories."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from signalbox.client import SyncClient
from signalbox.client.failures import ConnectFailed
from signalbox.testing.drill.drill_client import TOPIC
from signalbox.testing.drill.ground import NODES, DrillGround
from signalbox.testing.faults import Stall, SwapAddresses
from tests.testing.faults.probes import metadata_of

pytestmark = pytest.mark.spec("R7")


def test_reset_makes_everything_as_it_was() -> None:
    with DrillGround() as ground, ExitStack() as stack:
        ground.apply(stack, SwapAddresses(1, 2), Stall(3))
        ground.cluster.brokers.stop_broker(3)
        assert ground.cluster.stopped() == [3]
        ground.reset()
        assert ground.cluster.stopped() == []
        assert ground.cluster.topics.leaders(TOPIC) == {0: 1, 1: 2, 2: 3}
        assert ground.cluster.describe_state() == []
        assert ground.cluster.cluster_id != ground.other.cluster_id


def test_records_are_counted_in_both_clusters() -> None:
    with DrillGround() as ground:
        for cluster, values in ((ground.cluster, [b"a", b"b", b"b"]), (ground.other, [b"c"])):
            with SyncClient(cluster.client_config().settings()) as client, client.producer() as producer:
                for value in values:
                    producer.send(TOPIC, value).result(60)
        assert ground.stored() == {b"a": 1, b"b": 2}
        assert ground.misplaced() == {b"c": 1}


def test_more_addresses_until_the_end_of_the_stack() -> None:
    with DrillGround() as ground:
        with ExitStack() as stack:
            moved = ground.show_moved(stack)
            rows = metadata_of(moved[2]).brokers
            assert {row.node_id: (row.host, row.port) for row in rows} == moved
        for node in NODES:
            with pytest.raises(ConnectFailed):
                metadata_of(moved[node])
