"""DescribeProducers: a replica's producers with their open transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.broker.handlers.records.describe_producers import DescribeProducersHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_producers import DescribeProducersRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.storage.producers.transaction_verification import SWITCHED_OFF
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of, response_to
from tests.broker.handlers.running_broker import RunningBroker
from tests.replication.memory_cluster import TOPIC, MemoryCluster
from tests.replication.memory_transactions import produce_in_transaction

pytestmark = pytest.mark.spec("D5")


def describe(running_broker: RunningBroker, topic: str, partition: int = 0, authorizer: Any = ALLOW_ALL) -> Any:
    components = running_broker.components
    handler = DescribeProducersHandler(components.data.replicas, components.cache, authorizer)
    asked = DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[partition])
    [result] = running_broker.answer(handler, request_of(DescribeProducersRequest(topics=[asked]), 0)).topics
    assert result.name == topic
    return result.partitions[0]


def test_producers_and_their_transactions(running_broker: RunningBroker) -> None:
    running_broker.create_topic("produced")
    replica = running_broker.components.data.replicas.partition("produced", 0)
    assert replica is not None
    assert replica.log is not None
    log, now_ms = replica.log, running_broker.components.data.replicas.scheduler.clock.now_ms()
    for producer_id, is_transactional in ((5, False), (6, True), (7, True)):
        data = encode_batch(
            [Record(timestamp=now_ms, value=b"v")] * 3,
            producer_id=producer_id,
            producer_epoch=2,
            base_sequence=0,
            transactional=is_transactional,
        )
        log.append_admitted(log.admit_at_once(data, now_ms), 0, guard=SWITCHED_OFF)
    log.append_marker(encode_marker(7, 2, TransactionMarker(True, 9), now_ms), 0, now_ms, 0)
    log.flush_appends()
    partition = describe(running_broker, "produced", authorizer=acl(("alice", "READ", "produced")))
    assert (partition.error_code, partition.error_message) == (Error.NONE, None)
    found = {
        row.producer_id: (row.producer_epoch, row.last_sequence, row.coordinator_epoch, row.current_txn_start_offset)
        for row in partition.active_producers
    }
    assert found == {5: (2, 2, -1, -1), 6: (2, 2, -1, 3), 7: (2, 2, 9, -1)}
    assert {row.last_timestamp for row in partition.active_producers} == {now_ms}


def test_any_replica_responds(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    produce_in_transaction(cluster, 1, 5, b"open")
    cluster.run()
    asked = DescribeProducersRequest.TopicRequest(name=TOPIC, partition_indexes=[0])
    for broker_id in (1, 2):
        manager = cluster.brokers[broker_id].manager
        handler = DescribeProducersHandler(manager, cache_of(topics={TOPIC: {0: (1, [1, 2])}}), ALLOW_ALL)
        [topic] = response_to(handler, request_of(DescribeProducersRequest(topics=[asked]), 0)).topics
        [producer] = topic.partitions[0].active_producers
        assert (producer.producer_id, producer.current_txn_start_offset) == (5, 0)


def test_errors(running_broker: RunningBroker) -> None:
    running_broker.create_topic("errors")
    unknown = describe(running_broker, "errors", 9)
    assert (unknown.error_code, unknown.error_message) == (Error.UNKNOWN_TOPIC_OR_PARTITION, None)
    unknown = describe(running_broker, "nowhere")
    assert unknown.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert "nowhere" in unknown.error_message
    assert describe(running_broker, "no/topic").error_code == Error.INVALID_TOPIC_EXCEPTION
    denied = describe(running_broker, "errors", authorizer=acl(("alice", "DESCRIBE", "errors")))
    assert denied.error_code == Error.TOPIC_AUTHORIZATION_FAILED
    assert denied.active_producers == []
