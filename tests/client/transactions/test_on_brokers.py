"""Transactions of the client over brokers in this process, with both transaction versions."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, DeadlinePassed, TransactionAborted, TransactionFailed
from signalbox.client.producer import Producer
from signalbox.client.rejections import ProducerFenced, RequestRejected
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.testing.cluster import Cluster
from tests.client.transactions.transactional import EVERYTHING, Cuts, client_of, cutting, producer_of, values
from tests.waiting import until_true

pytestmark = pytest.mark.spec("R10")


def topic_of(request: pytest.FixtureRequest) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[-60:]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return topic_of(request)


def test_consumers_of_committed_records_read_those_and_no_others(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        async with (
            client_of(both_versions.bootstrap_servers, **{topic: 1}) as client,
            producer_of(client, topic) as producer,
        ):
            await producer.init_transactions()
            for number in range(6):
                producer.begin_transaction()
                for index in range(3):
                    await producer.send(topic, b"%d.%d" % (number, index))
                await producer.flush()
                if number % 2:
                    await producer.abort_transaction()
                else:
                    await producer.commit_transaction()
            producer.begin_transaction()
            await (await producer.send(topic, b"open"))
            everything = (await values(client, topic, settings=EVERYTHING, is_open=True))[0]
            assert everything == [b"%d.%d" % (n, i) for n in range(6) for i in range(3)] + [b"open"]
            committed = await values(client, topic, is_open=True)
            assert committed == [[b"%d.%d" % (n, i) for n in (0, 2, 4) for i in range(3)]]

    asyncio.run(test())


def test_transaction_context_commits_or_aborts(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 2}) as client:
            async with producer_of(client, topic) as producer:

                async def fail_in_transaction() -> None:
                    async with producer.transaction():
                        await (await producer.send(topic, b"dropped", partition=1))
                        raise KeyError("a failure of the application")

                await producer.init_transactions()
                async with producer.transaction():
                    await producer.send(topic, b"kept", partition=0)
                with pytest.raises(KeyError, match="a failure of the application") as raised:
                    await fail_in_transaction()
                assert not getattr(raised.value, "__notes__", [])
                async with producer.transaction():
                    await producer.send(topic, b"kept too", partition=1)
                async with producer.transaction():
                    pass  # nothing to commit
            assert await values(client, topic, 2) == [[b"kept"], [b"kept too"]]

    asyncio.run(test())


def test_records_that_were_not_sent_fail_when_the_transaction_is_aborted(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            async with producer_of(client, topic) as producer:
                await producer.init_transactions()
                producer.begin_transaction()
                queued = await producer.send(topic, b"queued")
                await producer.abort_transaction()
                with pytest.raises(TransactionAborted):
                    await queued
                producer.begin_transaction()
                await producer.send(topic, b"next")
                await producer.commit_transaction()
            assert await values(client, topic) == [[b"next"]]

    asyncio.run(test())


def test_a_second_producer_fences_the_first(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            first, second = producer_of(client, topic), producer_of(client, topic)
            async with first, second:
                await first.init_transactions()
                first.begin_transaction()
                await (await first.send(topic, b"of the first"))
                await second.init_transactions()
                async with second.transaction():
                    await second.send(topic, b"of the second")
                with pytest.raises(ProducerFenced):
                    await first.commit_transaction()
                for method in (first.commit_transaction, first.abort_transaction):
                    with pytest.raises(ProducerFenced):
                        await method()
                with pytest.raises(ProducerFenced):
                    await first.send(topic, b"x")
                with pytest.raises(ProducerFenced):
                    first.begin_transaction()
            assert await values(client, topic) == [[b"of the second"]]

    asyncio.run(test())


def test_a_fenced_producer_that_still_writes_must_abort_and_then_knows(both_versions: Cluster, topic: str) -> None:
    """The leader rejects the batch before the coordinator is asked: only that one knows which producer is current."""

    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            first, second = producer_of(client, topic), producer_of(client, topic)
            async with first, second:
                await first.init_transactions()
                await second.init_transactions()
                async with second.transaction():
                    await second.send(topic, b"of the second")
                with pytest.raises(Exception, match=r"PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"):
                    async with first.transaction():
                        await first.send(topic, b"of the first")
                with pytest.raises(ProducerFenced):
                    first.begin_transaction()
            assert await values(client, topic) == [[b"of the second"]]

    asyncio.run(test())


def test_offsets_are_committed_with_the_transaction_or_not_at_all(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        group, partition = ConsumerGroupMetadata(topic), TopicPartition(topic, 0)
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            asked = partial(AdminClient(client).committed_offsets, partitions=[partition], require_stable=True)
            async with producer_of(client, topic) as producer:
                await producer.init_transactions()
                async with producer.transaction():
                    await producer.send_offsets_to_transaction({partition: 7}, group)
                assert (await asked(topic))[partition].offset == 7
                producer.begin_transaction()
                await producer.send_offsets_to_transaction({partition: 9}, group)
                await producer.abort_transaction()
                assert (await asked(topic))[partition].offset == 7

    asyncio.run(test())


def test_a_batch_that_was_given_up_makes_the_transaction_abortable(both_versions: Cluster, topic: str) -> None:
    """Its records may be in the log: they are aborted, and the next transaction has a higher epoch."""

    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            async with producer_of(client, topic, delivery_timeout_ms=1_000) as producer:
                await producer.init_transactions()
                async with producer.transaction():
                    await producer.send(topic, b"before")
                cuts = Cuts(ApiKey.PRODUCE, executed=True, when=lambda _: True)
                with cutting(cuts):
                    producer.begin_transaction()
                    lost = await producer.send(topic, b"lost")
                    for _ in range(2):  # a repeated commit fails as the first one did, and not with DeadlinePassed
                        with pytest.raises(TransactionFailed, match="not acknowledged within the delivery") as raised:
                            await producer.commit_transaction()
                    assert isinstance(raised.value.__cause__, DeadlinePassed)
                    with pytest.raises(DeadlinePassed):
                        await lost
                    with pytest.raises(TransactionFailed):
                        await producer.send(topic, b"not accepted")
                await producer.abort_transaction()
                async with producer.transaction():
                    await producer.send(topic, b"after")
            assert await values(client, topic) == [[b"before", b"after"]]
            (stored,) = await values(client, topic, settings=EVERYTHING)
            assert stored in ([b"before", b"lost", b"after"], [b"before", b"after"])
            assert b"lost" in stored or not cuts.lost_responses  # a busy machine may not even send it in time

    asyncio.run(test())


def test_a_call_that_did_not_end_in_time_is_called_again_for_its_result(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            async with producer_of(client, topic) as producer:
                await producer.init_transactions()
                cuts = Cuts(ApiKey.END_TXN, executed=True, when=lambda _: True)
                with cutting(cuts):
                    producer.begin_transaction()
                    await producer.send(topic, b"once")
                    with pytest.raises(DeadlinePassed, match="commit_transaction did not end in time and goes on"):
                        await producer.commit_transaction(timeout_ms=500)
                    with pytest.raises(RuntimeError, match="call commit_transaction again"):
                        producer.begin_transaction()
                    with pytest.raises(RuntimeError, match="call commit_transaction again"):
                        await producer.abort_transaction()
                    await until_true(lambda: cuts.cuts > 1)
                await producer.commit_transaction()
                async with producer.transaction():
                    await producer.send(topic, b"twice")
            assert await values(client, topic) == [[b"once", b"twice"]]

    asyncio.run(test())


def test_a_transaction_that_is_open_when_the_producer_ends_is_aborted(both_versions: Cluster, topic: str) -> None:
    async def test() -> None:
        async with client_of(both_versions.bootstrap_servers, **{topic: 1}) as client:
            async with producer_of(client, topic) as producer:
                await producer.init_transactions()
                producer.begin_transaction()
                await (await producer.send(topic, b"x"))
            with pytest.raises(ChannelClosed):
                producer.begin_transaction()
            assert await values(client, topic) == [[]]
            described = await AdminClient(client).describe_transactions([topic])
            assert described[topic].state == "CompleteAbort"

    asyncio.run(test())


async def after_timeout(client: ClusterClient, producer: Producer, topic: str) -> None:
    """A transaction that the coordinator has aborted, and a record that the leader rejects for it."""
    await producer.init_transactions()
    producer.begin_transaction()
    await (await producer.send(topic, b"too slow"))
    await aborted_by_coordinator(client, topic)
    rejected = await producer.send(topic, b"too late")
    with pytest.raises(RequestRejected):
        await rejected


def test_a_producer_whose_transaction_timed_out_is_fenced_with_version_1(cluster: Cluster, topic: str) -> None:
    async def test() -> None:
        async with (
            client_of(cluster.bootstrap_servers, **{topic: 1}) as client,
            producer_of(client, topic, transaction_timeout_ms=200) as producer,
        ):
            await after_timeout(client, producer, topic)
            with pytest.raises(ProducerFenced):
                await producer.abort_transaction()

    asyncio.run(test())


def test_a_producer_whose_transaction_timed_out_goes_on_with_version_2(version_2_cluster: Cluster, topic: str) -> None:
    async def test() -> None:
        async with (
            client_of(version_2_cluster.bootstrap_servers, **{topic: 1}) as client,
            producer_of(client, topic, transaction_timeout_ms=200) as producer,
        ):
            await after_timeout(client, producer, topic)
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"in time")
            assert await values(client, topic) == [[b"in time"]]

    asyncio.run(test())


async def aborted_by_coordinator(client: ClusterClient, transactional_id: str) -> None:
    admin = AdminClient(client)
    async with asyncio.timeout(60):
        while (await admin.describe_transactions([transactional_id]))[transactional_id].state != "CompleteAbort":
            await client.pause(1, client.deadline())


def test_calls_in_the_wrong_state_say_what_is_wrong(cluster: Cluster, topic: str) -> None:
    async def test() -> None:
        async with (
            client_of(cluster.bootstrap_servers, **{topic: 1}) as client,
            producer_of(client, topic) as producer,
        ):
            with pytest.raises(RuntimeError, match="init_transactions was not called"):
                producer.begin_transaction()
            with pytest.raises(RuntimeError, match="init_transactions was not called"):
                await producer.send(topic, b"x")
            await producer.init_transactions()
            with pytest.raises(RuntimeError, match="no transaction is open"):
                await producer.commit_transaction()
            with pytest.raises(RuntimeError, match="init_transactions is not possible now"):
                await producer.init_transactions()
            producer.begin_transaction()
            with pytest.raises(RuntimeError, match="begin_transaction is not possible now"):
                producer.begin_transaction()

    asyncio.run(test())
