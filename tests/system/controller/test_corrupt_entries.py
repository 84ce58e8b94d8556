"""Entries in ZooKeeper that another program has corrupted: the next controller is elected and works, logs which entries
it cannot read and does not overwrite them; the controller after it reads the entry that was repaired."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import BROKERS, QUICK, controller_id
from tests.system.security.test_delegation_tokens import create_topic
from tests.system.wire import dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("M3")]

CORRUPT = {
    "/feature": b'{"version":2,"status":1,"features":{"signalbox.version":{"max_version_level":1e999}}}',
    "/delegation_token/tokens/torn": b'{"version":3,"owner":',
    "/delegation_token/tokens/late": b'{"version":3,"tokenId":"late","expiryTimestamp":99999999999999999999}',
    "/latest_producer_id_block": b"1000",
    "/signalbox_forwarded/torn": b"{",
    "/brokers/ids/none": b"{}",
    "/config/users/zoe": b'{"version":1,"config":[]}',
    "/config/clients/app": b'{"version":1,"config":{"producer_byte_rate":"NaN"}}',
    "/config/ips/127.0.0.1": b'{"version":1,"config":{"connection_creation_rate":"Infinity"}}',
    "/config/topics/torn": b"\xff",
    "/config/brokers/9": b"null",
    "/kafka-acl/Topic/torn": b"\xff\x00",
    "/admin/reassign_partitions": b"{",
    "/isr_change_notification/isr_change_0000000001": b"\xff",
    "/brokers/topics/no topic": b'{"version":3,"partitions":{"0":[1]}}',
    "/brokers/topics/torn": b"\x00",
}
# No node reads the first two; the other two can be read, and the broker that applies them logs the bad value.
NOT_NAMED = {
    "/admin/reassign_partitions",
    "/isr_change_notification/isr_change_0000000001",
    "/config/clients/app",
    "/config/ips/127.0.0.1",
}
# A change history that starts again, counters that are written again, notifications that were read: these corrupt
# entries may be overwritten or deleted.
OVERWRITTEN = {
    "/signalbox_shared_changes": b"[" * 100_000,
    "/controller_epoch": b"\xff",
    "/log_dir_event_notification/log_dir_event_0000000001": b"\xff",
    "/admin/delete_topics/gone/below": b"",
}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[ProcessCluster, KazooClient]]:
    provision.zookeeper()
    with ensemble(tmp_path / "zookeeper") as (server,):
        connect = f"{server.address}/corrupt"
        over = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{connect}",
            "delegation.token.secret.key": "of this test",
        }
        with ProcessCluster(tmp_path / "cluster", len(BROKERS), overrides=over) as cluster:
            zookeeper = KazooClient(connect)
            zookeeper.start()
            yield cluster, zookeeper
            zookeeper.stop()
            zookeeper.close()


def finalize(cluster: ProcessCluster, level: int) -> tuple[Error, str]:
    update = UpdateFeaturesRequest.FeatureUpdateKey(feature="signalbox.version", max_version_level=level)
    with dial(cluster, controller_id(cluster)) as wire:
        answer = wire.ask(ApiKey.UPDATE_FEATURES, 1, UpdateFeaturesRequest(feature_updates=[update]))
    return Error.of(answer.error_code), answer.error_message or ""


def next_controller(cluster: ProcessCluster) -> int:
    """Kills the controller and returns its id, once another one is elected and the live brokers have removed the dead
    one from their metadata: until then they may name it as the controller, and librdkafka would wait for it."""
    killed = until(lambda: max(controller_id(cluster), 0), "a controller: one whose epoch entry is corrupt resigns")
    cluster.kill(killed)
    until(lambda: controller_id(cluster) not in (-1, killed), "another controller")
    live = [node_id for node_id in cluster.brokers if node_id != killed]
    until(lambda: all(killed not in brokers_in_metadata(cluster, node_id) for node_id in live), "metadata without it")
    return killed


def brokers_in_metadata(cluster: ProcessCluster, node_id: int) -> set[int]:
    """The brokers in one broker's Metadata response."""
    with dial(cluster, node_id) as wire:
        response = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
    return {broker.node_id for broker in response.brokers}


def test_the_next_controller_works_and_overwrites_nothing(running: tuple[ProcessCluster, KazooClient]) -> None:
    cluster, zookeeper = running
    feature_entry, _ = zookeeper.get("/feature")
    for path, data in (CORRUPT | OVERWRITTEN).items():
        zookeeper.ensure_path(path)
        zookeeper.set(path, data)
    next_controller(cluster)
    with dial(cluster, controller_id(cluster)) as wire:
        assert create_topic(wire, "made-meanwhile") is Error.NONE
    error, words = finalize(cluster, 1)
    assert error is Error.FEATURE_UPDATE_FAILED
    assert "/feature" in words
    for path, data in CORRUPT.items():
        assert zookeeper.get(path)[0] == data
    log = cluster.brokers[controller_id(cluster)].log_file.read_text()
    for path in CORRUPT.keys() - NOT_NAMED:
        assert path in log
    assert "Traceback" not in log

    zookeeper.set("/feature", feature_entry)
    for broker in cluster.brokers.values():
        if not broker.running:
            cluster.start_broker(broker.node_id)
    next_controller(cluster)
    until(partial(lambda: finalize(cluster, 1)[0] is Error.NONE), "a level")
