"""The metadata cache: subscribers are called with every image, and callers can wait for an image."""

from __future__ import annotations

import asyncio
import logging

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest as Update


def with_leader(leader: int) -> Update:
    state = Update.UpdateMetadataPartitionState(partition_index=0, leader=leader)
    return Update(topic_states=[Update.UpdateMetadataTopicState(topic_name="t", partition_states=[state])])


def is_led(image: MetadataImage) -> bool:
    partition = image.partition("t", 0)
    return partition is not None and partition.leader >= 0


def test_subscribers_get_old_image_new_image_and_changed_topics() -> None:
    cache, notified = MetadataCache(), []
    cancel = cache.subscribe(lambda old, new, changed: notified.append((old.stamp, new.stamp, changed)))
    cache.apply_update_metadata(with_leader(1))
    cache.apply_update_metadata(Update())
    cancel()
    cache.apply_update_metadata(Update())
    assert notified == [(0, 1, {"t"}), (1, 2, set())]


def test_a_failing_subscriber_does_not_stop_the_others() -> None:
    cache, notified = MetadataCache(), []

    def broken(old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        raise RuntimeError("broken")

    cache.subscribe(broken)
    cache.subscribe(lambda old, new, changed: notified.append(new.stamp))
    cache.apply_update_metadata(Update())
    assert notified == [1]


def test_waiting_for_a_leader() -> None:
    async def scenario() -> None:
        cache = MetadataCache()
        waiting = asyncio.ensure_future(cache.wait_until(is_led, 5))
        await asyncio.sleep(0)
        cache.apply_update_metadata(with_leader(-1))
        await asyncio.sleep(0)
        assert not waiting.done()
        cache.apply_update_metadata(with_leader(1))
        assert await waiting
        assert await cache.wait_until(is_led, 0)
        assert not await cache.wait_until(lambda image: False, 0.001)

    asyncio.run(scenario())


def test_uneven_listeners_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def broker(broker_id: int, *listeners: str) -> Update.UpdateMetadataBroker:
        endpoints = [Update.UpdateMetadataEndpoint(host="h", port=1, listener=name) for name in listeners]
        return Update.UpdateMetadataBroker(id=broker_id, endpoints=endpoints)

    cache, uneven = MetadataCache(), Update(live_brokers=[broker(1, "A", "B"), broker(2, "A")])
    with caplog.at_level(logging.ERROR):
        cache.apply_update_metadata(uneven)
        cache.apply_update_metadata(uneven)
    assert caplog.text.count("Listeners are not identical across brokers") == 1


def test_forget_clears_the_image_of_an_earlier_controller() -> None:
    cache, notified = MetadataCache(), []
    cache.apply_update_metadata(with_leader(1))
    features = cache.image.features
    cache.subscribe(lambda old, new, changed: notified.append((old.stamp, new.stamp)))
    cache.forget()
    assert (cache.image.topics, cache.image.brokers, cache.image.controller_id) == ({}, {}, -1)
    assert cache.image.features is features
    assert notified == [(1, 2)]


def test_single_facts_follow_the_image() -> None:
    cache, topic_id = MetadataCache(), b"t" * 16
    assert (cache.is_alive(1), cache.topic_name(topic_id), cache.leader_of(TopicPartition("t", 0))) == (
        False,
        None,
        None,
    )
    state = Update.UpdateMetadataPartitionState(partition_index=0, leader=2, leader_epoch=5)
    topic = Update.UpdateMetadataTopicState(topic_name="t", topic_id=topic_id, partition_states=[state])
    broker = Update.UpdateMetadataBroker(id=1)
    cache.apply_update_metadata(Update(live_brokers=[broker], topic_states=[topic]))
    assert (cache.is_alive(1), cache.is_alive(9)) == (True, False)
    assert (cache.topic_name(topic_id), cache.topic_name(b"\7" * 16)) == ("t", None)
    assert (cache.leader_of(TopicPartition("t", 0)), cache.leader_of(TopicPartition("t", 7))) == ((2, 5), None)
