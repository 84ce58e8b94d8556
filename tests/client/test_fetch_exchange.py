from __future__ import annotations

import pytest

from signalbox.client.cluster.metadata_view import MetadataView, TopicView
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.fetch_exchange import fetch_request, rows_by_partition
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchResponse

VIEW = MetadataView()
VIEW.topics = {"t": TopicView("t", b"t" * 16)}


def test_positions_become_a_request_that_every_version_carries() -> None:
    wanted = {TopicPartition("t", 0): 5, TopicPartition("t", 3): 7}
    request = fetch_request(wanted, VIEW, ConsumerSettings(fetch_max_wait_ms=9))
    assert request.isolation_level == 0
    committed = fetch_request(wanted, VIEW, ConsumerSettings(isolation_level="read_committed"))
    assert committed.isolation_level == 1
    (topic,) = request.topics
    assert (topic.topic, topic.topic_id, request.max_wait_ms) == ("t", b"t" * 16, 9)
    assert [(row.partition, row.fetch_offset) for row in topic.partitions] == [(0, 5), (3, 7)]
    for version in (4, 12, 13, 18):
        assert request.encode(version)


def test_rows_are_found_by_name_and_by_id_and_a_final_error_is_raised() -> None:
    row = FetchResponse.PartitionData(partition_index=3)
    made = FetchResponse.FetchableTopicResponse
    for topic in (made(topic="t", partitions=[row]), made(topic_id=b"t" * 16, partitions=[row])):
        assert rows_by_partition(FetchResponse(responses=[topic]), VIEW) == {TopicPartition("t", 3): row}
    with pytest.raises(KafkaError):
        rows_by_partition(FetchResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED), VIEW)
