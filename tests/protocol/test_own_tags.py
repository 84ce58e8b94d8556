"""Our own tagged fields in Kafka's messages: readers that do not know them lose no other field."""

from __future__ import annotations

from signalbox.protocol import own_tags
from signalbox.protocol.messages.describe_cluster import DescribeClusterResponse
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest


def test_the_end_of_a_log() -> None:
    entry = LeaderAndIsrResponse.LeaderAndIsrPartitionError(partition_index=3)
    assert own_tags.log_end(entry) is None
    own_tags.put_log_end(entry, 7, 1 << 40)
    topic = LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=bytes(16), partition_errors=[entry])
    decoded = LeaderAndIsrResponse.decode(LeaderAndIsrResponse(topics=[topic]).encode(7), 7)
    found = decoded.topics[0].partition_errors[0]
    assert (found.partition_index, own_tags.log_end(found)) == (3, (7, 1 << 40))
    own_tags.put_log_end(entry, -1, -1)
    assert own_tags.log_end(entry) == (-1, -1)


def test_defaults_are_not_sent() -> None:
    state = LeaderAndIsrRequest.LeaderAndIsrPartitionState()
    own_tags.put_unclean_epoch(state, -1)
    assert (state.unknown_tags, own_tags.unclean_epoch(state)) == (None, -1)
    own_tags.put_unclean_epoch(state, 9)
    assert own_tags.unclean_epoch(state) == 9
    about = UpdateMetadataRequest.UpdateMetadataPartitionState()
    own_tags.put_offline_reason(about, "")
    assert (about.unknown_tags, own_tags.offline_reason(about)) == (None, "")
    own_tags.put_offline_reason(about, "broker 1 waits")
    assert own_tags.offline_reason(about) == "broker 1 waits"


def test_the_active_controller() -> None:
    response = DescribeClusterResponse(cluster_id="c")
    own_tags.put_active_controller(response, -1)
    assert (response.unknown_tags, own_tags.active_controller(response)) == (None, -1)
    own_tags.put_active_controller(response, 3)
    assert own_tags.active_controller(DescribeClusterResponse.decode(response.encode(1), 1)) == 3


def test_invalid_values_are_not_encoded() -> None:
    entry = LeaderAndIsrResponse.LeaderAndIsrPartitionError(
        unknown_tags={own_tags.LOG_END: b"x", own_tags.UNCLEAN_EPOCH: b"", own_tags.OFFLINE_REASON: b"\xff"}
    )
    assert (own_tags.log_end(entry), own_tags.unclean_epoch(entry)) == (None, -1)
    assert own_tags.offline_reason(entry) == "\ufffd"
