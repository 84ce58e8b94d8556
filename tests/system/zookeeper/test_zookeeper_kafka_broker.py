"""A broker of Apache Kafka 3.9 on the same chroot: it accepts Signalbox's entries as those of a cluster, and
Signalbox's controller as its own (SPEC M2). It does not replicate with Signalbox here; that it can run beside it shows
that the entries are Kafka's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tools.chaos.state_reader import state_in_zookeeper

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest
from signalbox.testing.free_ports import free_ports
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import QUICK
from tests.system.wire import Wire, dial
from tests.system.zookeeper.test_zookeeper_cluster import create
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow, pytest.mark.spec("M2")]

_KAFKAS_ID = 9
_READY_S = 90.0


@contextmanager
def kafka_broker(
    folder: Path, connect: str, node_id: int = _KAFKAS_ID, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Kafka 3.9.2 with Signalbox's listeners and with `settings`; `host:port` of its CLIENT listener."""
    client, replication, control = free_ports(3)
    properties = folder / "kafka.properties"
    lines = [
        f"broker.id={node_id}",
        f"zookeeper.connect={connect}",
        f"listeners=CLIENT://127.0.0.1:{client},REPLICATION://127.0.0.1:{replication},CONTROL://127.0.0.1:{control}",
        "listener.security.protocol.map=CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        "inter.broker.listener.name=REPLICATION",
        "control.plane.listener.name=CONTROL",
        f"log.dirs={folder / 'kafka-logs'}",
        *(f"{key}={value}" for key, value in (settings or {}).items()),
    ]
    properties.write_text("\n".join(lines) + "\n")
    command = [
        *provision.java(heap="512m"),
        "-cp",
        provision.jars("kafka39") + ":/usr/share/java/slf4j-simple.jar",
        "kafka.Kafka",
        str(properties),
    ]
    with (folder / "kafka.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield f"127.0.0.1:{client}"
        assert process.poll() is None, (folder / "kafka.log").read_text()[-3000:]
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_a_broker_of_kafka_reads_our_cluster_and_follows_our_controller(tmp_path: Path) -> None:
    provision.zookeeper()
    with ensemble(tmp_path / "ensemble") as (server,):
        connect = f"{server.address}/kafka"
        overrides = {**QUICK, "signalbox.metadata.store": f"zookeeper:{connect}"}
        with ProcessCluster(tmp_path / "cluster", 3, overrides=overrides) as cluster:
            own = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
            create(own, "read-by-kafka")
            set_config(own, ResourceType.TOPIC, "read-by-kafka", "retention.ms", "3600000")
            with state_in_zookeeper(connect) as state, kafka_broker(tmp_path, connect) as address:
                controller, epoch = state.controller_id(), state.controller_epoch()
                until(lambda: knows(address) == {1, 2, 3, _KAFKAS_ID}, "all brokers", timeout_s=_READY_S)
                response = metadata(address)
                assert response.controller_id == controller
                assert response.cluster_id == own.list_topics(timeout=20).cluster_id
                assert led(response, "read-by-kafka") == state.leaders("read-by-kafka")
                assert described(address, "read-by-kafka") == {"retention.ms": "3600000", "min.insync.replicas": "2"}

                # Changes that are made while it runs reach it too, and Signalbox's brokers list it as one of the
                # brokers.
                set_config(own, ResourceType.TOPIC, "read-by-kafka", "retention.ms", "7200000")
                until(lambda: described(address, "read-by-kafka")["retention.ms"] == "7200000", "the change of config")
                until(lambda: created(own, "made-meanwhile"), "a metadata response that names a broker that forwards")
                until(lambda: led(metadata(address), "made-meanwhile"), "the new topic")
                until(lambda: set(broker_ids(own)) == {1, 2, 3, _KAFKAS_ID}, "all brokers on our side")
                assert (state.controller_id(), state.controller_epoch()) == (controller, epoch)
                rejected = finalized(cluster)
                assert (rejected.error_code, rejected.error_message.rpartition(". ")[2]) == (
                    Error.INVALID_UPDATE_VERSION,
                    f"Broker {_KAFKAS_ID} does not support this feature.",
                )
            until(lambda: set(broker_ids(own)) == {1, 2, 3}, "its end")
            until(lambda: finalized(cluster).error_code == Error.NONE, "a feature of ours, now that it is gone")


def created(admin: AdminClient, topic: str) -> bool:
    """Creates a topic. False if librdkafka sent the request to Kafka's broker, which does not forward it: a metadata
    response names any live broker as the controller. The Java client asks for metadata again by itself."""
    try:
        create(admin, topic)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.NOT_CONTROLLER:
            raise
        return False
    return True


def finalized(cluster: ProcessCluster) -> Any:
    """The response to finalizing a feature level that only brokers of this release support."""
    wanted = UpdateFeaturesRequest.FeatureUpdateKey(feature="signalbox.version", max_version_level=1)
    with dial(cluster, 1) as wire:
        return wire.ask(ApiKey.UPDATE_FEATURES, 2, UpdateFeaturesRequest(feature_updates=[wanted], timeout_ms=20_000))


def broker_ids(admin: AdminClient) -> list[int]:
    try:
        return list(admin.list_topics(timeout=5).brokers)
    except KafkaException:  # the client does not know any broker yet
        return []


def set_config(admin: AdminClient, kind: ResourceType, name: str, key: str, value: str) -> None:
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    for done in admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])]).values():
        done.result(20)


def metadata(address: str) -> Any:
    """The Metadata response of exactly this broker; a client would send the request to any broker."""
    with Wire(address) as wire:
        return wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None))


def knows(address: str) -> set[int]:
    """The ids of the brokers in its Metadata; empty while it does not accept connections."""
    try:
        return {broker.node_id for broker in metadata(address).brokers}
    except OSError:
        return set()


def led(response: Any, topic: str) -> dict[int, int]:
    """The leader of each partition; empty if the topic does not exist."""
    found = [each for each in response.topics if each.name == topic]
    return {part.partition_index: part.leader_id for each in found for part in each.partitions}


def described(address: str, topic: str) -> dict[str, str]:
    """The topic's own configs in this broker's response."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=2, resource_name=topic)
    with Wire(address) as wire:
        [found] = wire.ask(ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(resources=[resource])).results
    return {each.name: str(each.value) for each in found.configs if each.config_source == 1}
