"""WriteTxnMarkers: rights, results per partition, and the notification of the group coordinator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.broker.handlers.records.write_txn_markers import WriteTxnMarkersHandler
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from signalbox.protocol.records.record_batch import decode_records
from signalbox.protocol.records.transaction_marker import TransactionMarker, read_marker
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import ALLOW_ALL, acl, context, from_broker, request_of
from tests.broker.handlers.running_broker import RunningBroker
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D5")


class Completed:
    """Records the notifications of the group coordinator, which returns `error`."""

    def __init__(self, error: Error = Error.NONE) -> None:
        self.error = error
        self.rejection = Error.NONE
        self.transactions: list[tuple[int, int, int, bool]] = []

    def transaction_rejection(self, partition: int) -> Error:
        return self.rejection

    def complete_transaction(
        self, partition: int, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> Promise[Error]:
        self.transactions.append((partition, producer_id, producer_epoch, is_commit))
        return Promise.of(self.error)


def marker(*topics: tuple[str, list[int]], producer_id: int = 5, commit: bool = True, **fields: Any) -> Any:
    rows = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics
    ]
    return WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer_id, transaction_result=commit, topics=rows, **fields
    )


def write(
    running_broker: RunningBroker,
    *markers: Any,
    version: int = 2,
    authorizer: Any = ALLOW_ALL,
    who: RequestContext | None = None,
    groups: Completed | None = None,
) -> list[tuple[int, str, int, int]]:
    """(producer id, topic, partition, error) per marker and partition."""
    handler = WriteTxnMarkersHandler(
        running_broker.components.data.replicas, authorizer, 30_000, group_transactions=groups
    )
    request = request_of(WriteTxnMarkersRequest(markers=list(markers)), version, who or from_broker())
    response = running_broker.answer(handler, request)
    return [
        (result.producer_id, topic.name, partition.partition_index, partition.error_code)
        for result in response.markers
        for topic in result.topics
        for partition in topic.partitions
    ]


def stored_markers(running_broker: RunningBroker, topic: str, partition: int = 0) -> list[TransactionMarker | None]:
    replica = running_broker.components.data.replicas.partition(topic, partition)
    assert replica is not None
    assert replica.log is not None
    records = replica.log.read(0, 1 << 20).records
    batches = records if isinstance(records, bytes) else records.read()
    assert len(list(decode_records(batches))) == 1
    return [read_marker(batches)]


@pytest.mark.parametrize("version", [1, 2])
def test_markers_are_written_and_errors_are_per_partition(running_broker: RunningBroker, version: int) -> None:
    topic = f"marked-{version}"
    running_broker.create_topic(topic, 2)
    results = write(
        running_broker,
        marker((topic, [0, 7]), ("nowhere", [0]), coordinator_epoch=3),
        marker((topic, [1]), producer_id=6, commit=False, coordinator_epoch=4),
        version=version,
    )
    assert results == [
        (5, topic, 0, Error.NONE),
        (5, topic, 7, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (5, "nowhere", 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (6, topic, 1, Error.NONE),
    ]
    assert stored_markers(running_broker, topic) == [TransactionMarker(True, 3)]
    assert stored_markers(running_broker, topic, 1) == [TransactionMarker(False, 4)]


def test_a_zombie_coordinator_is_fenced(running_broker: RunningBroker) -> None:
    running_broker.create_topic("zombie")
    assert write(running_broker, marker(("zombie", [0]), coordinator_epoch=3))[0][3] == Error.NONE
    [result] = write(running_broker, marker(("zombie", [0]), coordinator_epoch=2))
    assert result[3] == Error.TRANSACTION_COORDINATOR_FENCED


def test_no_markers(running_broker: RunningBroker) -> None:
    assert write(running_broker) == []


def test_rights(running_broker: RunningBroker) -> None:
    running_broker.create_topic("rights")
    one = marker(("rights", [0]))
    admins, brokers = acl(("alice", "ALTER", "cluster")), acl(("alice", "CLUSTER_ACTION", "cluster"))
    denied = [(5, "rights", 0, Error.CLUSTER_AUTHORIZATION_FAILED)]
    assert write(running_broker, one, authorizer=admins, who=context())[0][3] == Error.NONE
    assert write(running_broker, one, authorizer=brokers, who=from_broker())[0][3] == Error.NONE
    assert write(running_broker, one, authorizer=brokers, who=context()) == denied
    assert write(running_broker, one, authorizer=acl(("alice", "WRITE", "rights")), who=from_broker()) == denied


def test_the_group_coordinator_is_notified_of_committed_markers(running_broker: RunningBroker) -> None:
    running_broker.open_coordinator()
    running_broker.create_topic("other")
    groups = Completed()
    write(
        running_broker,
        marker(("__consumer_offsets", [0, 99]), ("other", [0]), producer_epoch=2),
        marker(("__consumer_offsets", [0]), producer_id=6, commit=False),
        groups=groups,
    )
    assert groups.transactions == [(0, 5, 2, True), (0, 6, 0, False)]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_LEADER_OR_FOLLOWER),
        (Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_LEADER_OR_FOLLOWER),
        (Error.NOT_COORDINATOR, Error.NOT_LEADER_OR_FOLLOWER),
        (Error.UNKNOWN_SERVER_ERROR, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_errors_of_the_group_coordinator_are_those_of_a_leader(
    running_broker: RunningBroker, error: Error, code: Error
) -> None:
    running_broker.open_coordinator()
    [result] = write(running_broker, marker(("__consumer_offsets", [0]), producer_id=9), groups=Completed(error))
    assert result[3] == code


def test_no_marker_is_appended_while_the_group_coordinator_loads(running_broker: RunningBroker) -> None:
    running_broker.open_coordinator()
    running_broker.create_topic("beside")
    replica = running_broker.components.data.replicas.partition("__consumer_offsets", 0)
    assert replica is not None
    assert replica.log is not None
    groups, before = Completed(), replica.log.log_end_offset
    groups.rejection = Error.COORDINATOR_LOAD_IN_PROGRESS
    results = write(running_broker, marker(("__consumer_offsets", [0]), ("beside", [0])), groups=groups)
    assert [row[3] for row in results] == [Error.NOT_LEADER_OR_FOLLOWER, Error.NONE]
    assert (groups.transactions, replica.log.log_end_offset) == ([], before)


def test_the_response_comes_before_the_coordinator_gives_up(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    cluster.cut.add((2, 1))
    handler = WriteTxnMarkersHandler(cluster.brokers[1].manager, ALLOW_ALL, 1_000)
    response: Any = handler(request_of(WriteTxnMarkersRequest(markers=[marker((TOPIC, [0]))]), 2, from_broker()))
    cluster.advance(450)
    assert not response.is_done
    cluster.advance(50)
    [result] = response.result().markers[0].topics[0].partitions
    assert result.error_code == Error.REQUEST_TIMED_OUT
