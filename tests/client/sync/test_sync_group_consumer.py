from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.sync.sync_client import SyncClient
from signalbox.client.sync.sync_group_consumer import SyncGroupConsumer, SyncRebalanceListener
from signalbox.common.ids import TopicPartition

EARLIEST = ConsumerSettings(auto_offset_reset="earliest")


def created(client: SyncClient, topic: str, *values: bytes) -> TopicPartition:
    client.call(client.admin.create_topics, [NewTopic(name=topic, num_partitions=1)])
    with client.producer() as producer:
        for value in values:
            producer.send(topic, value)
    return TopicPartition(topic, 0)


def read(consumer: SyncGroupConsumer, count: int) -> list[ConsumedRecord]:
    found: list[ConsumedRecord] = []
    while len(found) < count:
        found += consumer.poll()
    return found


@pytest.mark.spec("R10")
def test_a_listener_commits_in_the_thread_that_polls(client: SyncClient) -> None:
    zero = created(client, "listened", b"0", b"1")
    settings = GroupConsumerSettings(group_id="listened", enable_auto_commit=False, fetch=EARLIEST)
    threads: list[str] = []

    class Committing(SyncRebalanceListener):
        def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            threads.append(threading.current_thread().name)

        def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            threads.append(threading.current_thread().name)
            consumer.commit()

    with client.group_consumer(settings) as consumer:
        consumer.subscribe(["listened"], Committing())
        assert [row.value for row in read(consumer, 2)] == [b"0", b"1"]
        assert consumer.assignment == {zero}
        assert consumer.committed([zero]) == {}
    assert threads == [threading.current_thread().name] * 2
    assert client.call(client.admin.committed_offsets, "listened")[zero].offset == 2


def test_seek_pause_and_position(client: SyncClient) -> None:
    zero = created(client, "sought", b"0", b"1", b"2")
    settings = GroupConsumerSettings(group_id="sought", fetch=EARLIEST)
    with client.group_consumer(settings) as consumer:
        consumer.subscribe(["sought"])
        read(consumer, 3)
        assert consumer.position(zero) == 3
        consumer.seek(zero, 1)
        consumer.pause([zero])
        assert consumer.poll(50) == []
        consumer.resume([zero])
        assert [row.value for row in read(consumer, 2)] == [b"1", b"2"]


def test_an_exception_of_the_listener_ends_poll(client: SyncClient) -> None:
    created(client, "failing")

    class Failing(SyncRebalanceListener):
        def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            raise LookupError("of the application")

    with client.group_consumer(GroupConsumerSettings(group_id="failing")) as consumer:
        consumer.subscribe(["failing"], Failing())
        with pytest.raises(LookupError, match="of the application"):
            read(consumer, 1)


def test_a_listener_that_overrides_nothing(client: SyncClient) -> None:
    zero = created(client, "silent", b"x")
    with client.group_consumer(GroupConsumerSettings(group_id="silent", fetch=EARLIEST)) as consumer:
        consumer.subscribe(["silent"], SyncRebalanceListener())
        read(consumer, 1)
        assert consumer.assignment == {zero}


def test_after_an_interrupt_the_next_poll_serves_the_listener(client: SyncClient) -> None:
    zero = created(client, "interrupted", b"x")
    assigned: list[frozenset[TopicPartition]] = []

    class Interrupted(SyncRebalanceListener):
        def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            assigned.append(partitions)
            if len(assigned) == 1:
                raise KeyboardInterrupt

    listener = Interrupted()
    with client.group_consumer(GroupConsumerSettings(group_id="interrupted", fetch=EARLIEST)) as consumer:
        consumer.subscribe(["interrupted"], listener)
        with pytest.raises(KeyboardInterrupt):
            read(consumer, 1)
        consumer.subscribe(["interrupted"], listener)
        read(consumer, 1)
        assert assigned == [{zero}, {zero}]


def test_an_interrupt_when_records_have_arrived_loses_none(client: SyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    zero = created(client, "kept", b"0", b"1")

    def interrupted(future: Future[list[ConsumedRecord]]) -> list[ConsumedRecord]:
        if future.result():
            raise KeyboardInterrupt
        return []

    with client.group_consumer(GroupConsumerSettings(group_id="kept", fetch=EARLIEST)) as consumer:
        consumer.subscribe(["kept"])
        with monkeypatch.context() as patch:
            patch.setattr(consumer._thread, "result_of", interrupted)
            with pytest.raises(KeyboardInterrupt):
                read(consumer, 1)
        assert consumer.position(zero) == 0, "it is not committed"
        assert [row.value for row in read(consumer, 2)] == [b"0", b"1"]


def test_a_second_thread_is_rejected_while_one_polls(client: SyncClient) -> None:
    created(client, "two-threads", b"0")
    settings = GroupConsumerSettings(group_id="two-threads", fetch=EARLIEST)
    problems: list[str] = []

    class Intruding(SyncRebalanceListener):
        def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            intruder = threading.Thread(target=intrude)
            intruder.start()
            intruder.join()

    def intrude() -> None:
        for call in (consumer.poll, consumer.unsubscribe, consumer.close):
            try:
                call()
            except RuntimeError as error:
                problems.append(str(error))

    with client.group_consumer(settings) as consumer:
        consumer.subscribe(["two-threads"], Intruding())
        assert [row.value for row in read(consumer, 1)] == [b"0"]
        consumer.unsubscribe()
        assert consumer.assignment == frozenset()
    assert problems == ["another call is under way: a consumer is for one thread at a time"] * 3
