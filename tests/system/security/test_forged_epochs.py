"""Control requests with epochs from the future, forged on listeners without authentication: brokers compare the epochs
with the metadata store, and apply the real controller's requests as before. On both stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.state_reader import StateReader, state_in_file, state_in_zookeeper

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ZooKeeperServer, ensemble
from tests.system import provision
from tests.system.wire import dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("M3", "F1")]

TOPIC = "led-by-another-epoch"
LEADER, FOLLOWER = 1, 2
EVIL = UpdateMetadataRequest.UpdateMetadataBroker(
    id=9,
    endpoints=[
        UpdateMetadataRequest.UpdateMetadataEndpoint(host="evil", port=43999, listener=name, security_protocol=0)
        for name in ("CLIENT", "REPLICATION", "CONTROL")
    ],
)


@dataclass
class Attacked:
    """Two brokers; broker 2 is a follower of the topic and receives forged requests."""

    cluster: ProcessCluster
    state: StateReader
    zookeeper: ZooKeeperServer | None

    def send(self, kind: ApiKey, version: int, request: Any) -> Error:
        with dial(self.cluster, FOLLOWER, "CONTROL") as wire:
            return Error.of(wire.ask(kind, version, request).error_code)

    def create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap(), "log_level": 2})
        new = NewTopic(topic, 1, replica_assignment=[[LEADER, FOLLOWER]])
        admin.create_topics([new], operation_timeout=30)[topic].result(60)

    def metadata(self, topic: str) -> Any:
        """The Metadata response of broker 2."""
        asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        with dial(self.cluster, FOLLOWER) as wire:
            return wire.ask(ApiKey.METADATA, 12, asked)

    def applies_requests(self, topic: str) -> None:
        """The real controller's next requests reach broker 2 and are applied."""
        self.create(topic)
        answer = until(lambda: (found := self.metadata(topic)).topics[0].error_code == 0 and found, "the new topic")
        assert {broker.node_id for broker in answer.brokers} == {LEADER, FOLLOWER}
        assert set(answer.topics[0].partitions[0].isr_nodes) == {LEADER, FOLLOWER}


@pytest.fixture(scope="module", params=["sqlite", "zookeeper"])
def attacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder: Path = tmp_path_factory.mktemp("attacked")
    with ExitStack() as stack:
        server, overrides = None, {"signalbox.audit.enable": "false"}
        if request.param == "zookeeper":
            provision.zookeeper()
            (server,) = stack.enter_context(ensemble(folder / "ensemble"))
            overrides["signalbox.metadata.store"] = f"zookeeper:{server.address}/signalbox"
        cluster = stack.enter_context(ProcessCluster(folder / "cluster", 2, overrides=overrides))
        reading = state_in_file(folder / "cluster" / "metadata.db")
        if server is not None:
            reading = state_in_zookeeper(f"{server.address}/signalbox")
        found = Attacked(cluster, stack.enter_context(reading), server)
        found.create(TOPIC)
        until(lambda: not found.state.what_is_missing(2), "both in sync")
        yield found


def forged(kind: type[Any], controller_epoch: int, **fields: Any) -> Any:
    return kind(controller_id=LEADER, controller_epoch=controller_epoch, broker_epoch=-1, **fields)


def new_state(attacked: Attacked, leader_epoch: int) -> dict[str, Any]:
    """A partition state with broker 2 as the leader of the topic."""
    topic = attacked.metadata(TOPIC).topics[0]
    state = LeaderAndIsrRequest.LeaderAndIsrPartitionState(
        leader=FOLLOWER, leader_epoch=leader_epoch, isr=[FOLLOWER], replicas=[LEADER, FOLLOWER]
    )
    group = LeaderAndIsrRequest.LeaderAndIsrTopicState(
        topic_name=TOPIC, topic_id=topic.topic_id, partition_states=[state]
    )
    live = [
        LeaderAndIsrRequest.LeaderAndIsrLiveLeader(broker_id=each, host_name="127.0.0.1", port=1)
        for each in (LEADER, FOLLOWER)
    ]
    return {"topic_states": [group], "live_leaders": live}


def test_update_metadata(attacked: Attacked) -> None:
    epoch = attacked.state.controller_epoch()
    request = forged(UpdateMetadataRequest, epoch + 1_000, live_brokers=[EVIL])
    assert attacked.send(ApiKey.UPDATE_METADATA, 8, request) is Error.INVALID_REQUEST
    attacked.applies_requests("after-update-metadata")


def test_leader_and_isr_with_a_controller_epoch(attacked: Attacked) -> None:
    epoch = attacked.state.controller_epoch()
    request = forged(LeaderAndIsrRequest, epoch + 1, **new_state(attacked, 1))
    assert attacked.send(ApiKey.LEADER_AND_ISR, 7, request) is Error.INVALID_REQUEST
    attacked.applies_requests("after-leader-and-isr")


def test_stop_replica(attacked: Attacked) -> None:
    state = StopReplicaRequest.StopReplicaPartitionState(partition_index=0, leader_epoch=-2, delete_partition=True)
    topic = StopReplicaRequest.StopReplicaTopicState(topic_name=TOPIC, partition_states=[state])
    request = forged(StopReplicaRequest, attacked.state.controller_epoch() + 1_000, topic_states=[topic])
    assert attacked.send(ApiKey.STOP_REPLICA, 4, request) is Error.INVALID_REQUEST
    attacked.applies_requests("after-stop-replica")


@pytest.mark.parametrize("attacked", ["zookeeper"], indirect=True)
def test_nothing_is_believed_while_the_store_does_not_answer(attacked: Attacked) -> None:
    assert attacked.zookeeper is not None
    epoch = attacked.state.controller_epoch()
    attacked.zookeeper.pause()
    try:
        request = forged(UpdateMetadataRequest, epoch + 1_000, live_brokers=[EVIL])
        assert attacked.send(ApiKey.UPDATE_METADATA, 8, request) is Error.REQUEST_TIMED_OUT
    finally:
        attacked.zookeeper.resume()
    until(lambda: not attacked.state.what_is_missing(2), "all as before")
    attacked.applies_requests("after-the-pause")


def test_leader_and_isr_with_a_leader_epoch_and_the_next_election(attacked: Attacked) -> None:
    """The last one: it stops broker 1."""
    request = forged(LeaderAndIsrRequest, attacked.state.controller_epoch(), **new_state(attacked, 1_000))
    assert attacked.send(ApiKey.LEADER_AND_ISR, 7, request) is Error.UNKNOWN_LEADER_EPOCH
    attacked.cluster.stop_broker(LEADER)
    until(lambda: attacked.state.leaders(TOPIC) == {0: FOLLOWER}, "another leader")
    elected = until(lambda: (found := attacked.metadata(TOPIC).topics[0].partitions[0]).leader_id == FOLLOWER and found)
    assert elected.leader_epoch < 1_000
