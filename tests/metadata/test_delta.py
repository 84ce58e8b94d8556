"""UpdateMetadata applied: brokers are replaced, partitions merged, leader -2 deletes (SPEC L9)."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.delta import FULL, LEADER_DURING_DELETE, apply_update_metadata
from signalbox.metadata.image import EMPTY_IMAGE, MetadataImage
from signalbox.protocol import own_tags
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest as Update

ID = b"i" * 16


def state(partition: int, leader: int = 1, **fields: Any) -> Update.UpdateMetadataPartitionState:
    return Update.UpdateMetadataPartitionState(
        partition_index=partition, leader=leader, isr=[1], replicas=[1, 2], **{"zk_version": 4, **fields}
    )


def topic(name: str, *states: Update.UpdateMetadataPartitionState, topic_id: bytes = ID) -> Any:
    return Update.UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=list(states))


def broker(broker_id: int, *endpoints: tuple[str, int], rack: str | None = None) -> Update.UpdateMetadataBroker:
    made = [Update.UpdateMetadataEndpoint(host="h", port=port, listener=name) for name, port in endpoints]
    return Update.UpdateMetadataBroker(id=broker_id, endpoints=made, rack=rack)


def after(*requests: Update) -> MetadataImage:
    image = EMPTY_IMAGE
    for request in requests:
        image, _ = apply_update_metadata(image, request)
    return image


def test_brokers_are_replaced_and_partitions_combined() -> None:
    image = after(
        Update(controller_id=1, live_brokers=[broker(1), broker(2)], topic_states=[topic("t", state(0), state(1))]),
        Update(controller_id=2, live_brokers=[broker(2)], topic_states=[topic("t", state(1, leader=2))]),
    )
    assert set(image.brokers) == {2}
    assert {number: each.leader for number, each in image.topics["t"].partitions.items()} == {0: 1, 1: 2}
    assert (image.controller_id, image.stamp) == (2, 2)
    assert image.topics["t"].partitions[0].partition_epoch == 4


def test_the_last_deleted_partition_takes_the_topic_along() -> None:
    gone = LEADER_DURING_DELETE
    image = after(
        Update(topic_states=[topic("t", state(0), state(1))]), Update(topic_states=[topic("t", state(0, gone))])
    )
    assert set(image.topics["t"].partitions) == {1}
    image, changed = apply_update_metadata(image, Update(topic_states=[topic("t", state(1, gone))]))
    assert (image.topics, image.topic_names, changed) == ({}, {}, {"t"})


def test_an_offline_partition_stays_listed() -> None:
    assert after(Update(topic_states=[topic("t", state(0, leader=-1))])).topics["t"].partitions[0].leader == -1


def test_topic_ids_are_replaced_and_dropped() -> None:
    image = after(Update(topic_states=[topic("t", state(0))]))
    assert image.topic_name(ID) == "t"
    image, _ = apply_update_metadata(image, Update(topic_states=[topic("t", state(0), topic_id=b"j" * 16)]))
    assert (image.topic_name(ID), image.topic_name(b"j" * 16)) == (None, "t")
    image, _ = apply_update_metadata(image, Update(topic_states=[topic("t", state(0), topic_id=ZERO_UUID)]))
    assert (image.topic_id("t"), image.topic_names) == (ZERO_UUID, {})


def test_a_topic_that_is_only_named_stays_as_it_is_known() -> None:
    """A request that has only the topic's name: the cached partitions stay, and the topic is visible to clients."""
    image = after(Update(topic_states=[topic("t", state(0))]))
    named = Update(type=FULL, topic_states=[topic("t", topic_id=ZERO_UUID), topic("u", topic_id=ZERO_UUID)])
    image, _ = apply_update_metadata(image, named)
    assert image.topics["t"].partitions[0].leader == 1
    assert (image.topic_id("t"), image.topics["u"].partitions) == (ID, {})
    image, _ = apply_update_metadata(image, Update(type=FULL))
    assert (image.topics, image.topic_names) == ({}, {}), "once it is not named any more it is gone"
    mended = Update(type=FULL, topic_states=[topic("u")])
    assert "u" in after(named, mended).topics, "not gone for a moment: its groups would lose their offsets"
    again = after(named, mended, Update(topic_states=[topic("u", state(0))]))
    assert (again.topic_id("u"), set(again.topics["u"].partitions)) == (ID, {0})


def test_an_undecided_partition_does_not_replace_a_known_leader() -> None:
    unknown = topic("t", state(0, -1, leader_epoch=-1), state(1, -1, leader_epoch=-1))
    image = after(Update(topic_states=[topic("t", state(0, leader=2, leader_epoch=4))]), Update(topic_states=[unknown]))
    assert {number: each.leader for number, each in image.topics["t"].partitions.items()} == {0: 2, 1: -1}


def test_a_negative_controller_id_means_none_is_known() -> None:
    assert after(Update(controller_id=-7)).controller_id == -1


def test_readers_keep_their_image() -> None:
    first = after(Update(topic_states=[topic("t", state(0))]))
    second, _ = apply_update_metadata(first, Update(topic_states=[topic("t", state(1))]))
    assert set(first.topics["t"].partitions) == {0}
    assert set(second.topics["t"].partitions) == {0, 1}
    third, changed = apply_update_metadata(second, Update())
    assert third.topics is second.topics
    assert changed == set()


@pytest.mark.spec("L9")
def test_L9_listener_names_are_kept_as_they_come() -> None:
    image = after(Update(live_brokers=[broker(1, ("Client", 9), rack="r")]))
    assert image.brokers[1].endpoints == {"Client": Endpoint("Client", "h", 9, SecurityProtocol.PLAINTEXT)}
    assert image.brokers[1].rack == "r"


@pytest.mark.spec("L9")
@pytest.mark.parametrize("version", [1, 2])
def test_L9_versions_without_listener_names_use_the_protocols(version: int) -> None:
    sent = Update(
        live_brokers=[
            Update.UpdateMetadataBroker(
                id=1, endpoints=[Update.UpdateMetadataEndpoint(host="h", port=9, security_protocol=1)]
            )
        ],
        ungrouped_partition_states=[
            Update.UpdateMetadataPartitionState(topic_name="t", partition_index=0, leader=1, isr=[1], replicas=[1])
        ],
    )
    image = after(Update.decode(sent.encode(version), version))
    assert image.brokers[1].endpoints == {"SSL": Endpoint("SSL", "h", 9, SecurityProtocol.SSL)}
    assert image.topics["t"].partitions[0].leader == 1


@pytest.mark.spec("L9")
def test_L9_version_0_has_one_plaintext_address() -> None:
    sent = Update(live_brokers=[Update.UpdateMetadataBroker(id=1, v0_host="h", v0_port=9)])
    image = after(Update.decode(sent.encode(0), 0))
    assert image.nodes("PLAINTEXT") == {1: Endpoint("PLAINTEXT", "h", 9, SecurityProtocol.PLAINTEXT)}


def test_a_topic_that_was_made_again_keeps_no_partition_of_the_old_one() -> None:
    """A broker that was down while the old topic was deleted."""
    image = after(
        Update(topic_states=[topic("t", state(0), state(1), state(2))]),
        Update(topic_states=[topic("t", state(0, leader=2), topic_id=b"j" * 16)]),
    )
    assert {number: each.leader for number, each in image.topics["t"].partitions.items()} == {0: 2}
    assert image.topic_names == {b"j" * 16: "t"}


def test_a_full_request_names_every_topic_there_is() -> None:
    image = after(Update(topic_states=[topic("t", state(0), state(1)), topic("u", state(0), topic_id=b"j" * 16)]))
    image, changed = apply_update_metadata(image, Update(type=FULL, topic_states=[topic("t")]))
    assert {name: set(each.partitions) for name, each in image.topics.items()} == {"t": {0, 1}}
    assert image.topic_names == {ID: "t"}
    assert changed == {"t", "u"}
    assert after(Update(type=FULL, topic_states=[topic("unheard-of")])).topics == {}


@pytest.mark.spec("D3")
def test_why_a_partition_has_no_leader() -> None:
    offline = state(0, -1)
    own_tags.put_offline_reason(offline, "broker 1 waits")
    image = after(Update(topic_states=[topic("t", offline, state(1))]))
    assert {index: each.offline_reason for index, each in image.topics["t"].partitions.items()} == {
        0: "broker 1 waits",
        1: "",
    }
    assert (
        after(Update(topic_states=[topic("t", offline)]), Update(topic_states=[topic("t", state(0))]))
        .topics["t"]
        .partitions[0]
        .offline_reason
        == ""
    )
