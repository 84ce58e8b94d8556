from __future__ import annotations

import inspect
from concurrent.futures import Future
from typing import Any

import pytest

from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.consumer import Consumer
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.sync.sync_client import SyncClient
from signalbox.client.sync.sync_consumer import SyncConsumer
from signalbox.client.sync.sync_group_consumer import SyncGroupConsumer
from signalbox.common.ids import TopicPartition


def interrupted(future: Future[object]) -> None:
    """As an interrupt (Ctrl-C) that arrives when the result is there."""
    future.result()
    raise KeyboardInterrupt


def test_a_consumer_by_assignment(client: SyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    zero = TopicPartition("assigned", 0)
    client.call(client.admin.create_topics, [NewTopic(name="assigned", num_partitions=1)])
    with client.producer() as producer:
        for value in (b"0", b"1", b"2"):
            producer.send("assigned", value)
    with client.consumer() as consumer:
        consumer.assign({zero: 1})
        with monkeypatch.context() as patch:
            patch.setattr(consumer._thread, "result_of", interrupted)
            with pytest.raises(KeyboardInterrupt):
                consumer.poll(10_000)
        assert consumer.assignment == {zero}
        assert [row.value for row in consumer.poll(10_000)] == [b"1", b"2"]
        assert consumer.position(zero) == 3
        consumer.seek(zero, 2)
        consumer.pause([zero])
        assert consumer.poll(50) == []
        consumer.resume([zero])
        assert [row.value for row in consumer.poll(10_000)] == [b"2"]
        assert consumer.paused == frozenset()
        assert consumer.metrics()["records-consumed-total"] == 3
    with pytest.raises(RuntimeError, match="the consumer is closed"):
        consumer.poll(50)


# for the group consumer and interrupted polls; `SyncClient` makes the consumers in place of `of`
INTERNAL = {"add", "give_back", "of", "offset_at", "positions", "remove", "take", "wait_for_records"}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("face", "consumer"), [(SyncConsumer, Consumer), (SyncGroupConsumer, GroupConsumer)])
def test_every_public_method_is_there_without_an_event_loop(face: type, consumer: type) -> None:
    assert public(face) == public(consumer) - INTERNAL


@pytest.mark.parametrize(("face", "consumer"), [(SyncConsumer, Consumer), (SyncGroupConsumer, GroupConsumer)])
def test_the_parameters_are_the_same(face: Any, consumer: Any) -> None:
    for name in public(face):
        ours, theirs = (inspect.getattr_static(kind, name) for kind in (face, consumer))
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if not isinstance(ours, property):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name
